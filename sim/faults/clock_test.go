package faults

import (
	"testing"

	"gbroker/grid"
)

// A job that is not to start before an instant waits longer where the clock of its home was set back, as often as it was; that it was set
// on again does not bring it nearer.
func TestAClockSetBackGivesTime(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	for _, by := range []grid.Tick{-2 * grid.Hour, grid.Hour, -grid.Hour} {
		x.b.clock.set(by)
	}
	x.c.clock.set(-grid.Minute)
	if got := x.w.endsBy() - x.w.now; got != endBound+3*grid.Hour || x.b.clock.offset != -2*grid.Hour {
		t.Errorf("%.0f s are left; it is off by %.0f s", got.Seconds(), x.b.clock.offset.Seconds())
	}
}
