package control

import (
	"testing"

	"gbroker/grid"
)

// A part that came before its start, as its reservation was moved, waits no longer for that.
func TestThePatienceOfAPart(t *testing.T) {
	t.Parallel()
	p := grid.Part{Start: 2 * grid.Hour, Grace: 5 * grid.Minute}
	for arrived, want := range map[grid.Tick]grid.Tick{
		p.Start + grid.Minute: p.Start + 6*grid.Minute, p.Start: p.Start + 6*grid.Minute, grid.Hour: grid.Hour + 6*grid.Minute,
	} {
		if got := Patience(&p, arrived); got != want {
			t.Errorf("of one that arrived at %v it is %v, not %v", arrived, got, want)
		}
	}
}
