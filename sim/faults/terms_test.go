package faults

import (
	"math/rand/v2"
	"testing"

	"gbroker/grid"
)

// A user looks whether his job is held again, as long as its home may be set back to when it was.
func TestAUserReleasesAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		told  grid.State
		storm bool
		again bool
	}{
		"it has not ended":                             {0, false, true},
		"it has ended, and its home may be set back":   {grid.Completed, true, true},
		"it has ended, and the faults are over":        {grid.Completed, false, false},
		"it has not ended, and its home may be so too": {0, true, true},
	} {
		x := newScene(t)
		x.w.storm, x.f.told = c.storm, c.told
		before := len(x.w.events)
		(&exacting{w: x.w, s: x.a, at: x.a, rnd: rand.New(rand.NewPCG(1, 1))}).release("job")
		if again := len(x.w.events) > before; again != c.again {
			t.Errorf("%s: he looks again %t", name, again)
		}
	}
}
