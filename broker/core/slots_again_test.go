package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A home that has as many questions open as it may, and asks one of them again, loses none; one more takes the place of its oldest, and of nobody else's.
func TestQuestionAskedAgainTakesNoPlace(t *testing.T) {
	t.Parallel()
	c := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 1, Speed: 1}}, nil, nil)
	of := func(n int) grid.JobID { return grid.NewJobID("i", string(rune('A'+n%26))+string(rune('A'+n/26))) }
	c.estimator.onSlots("k", wire.Slots{Of: of(0)})
	for n := range maxSlotsAsked {
		c.estimator.onSlots("i", wire.Slots{Of: of(n), Round: 1})
	}
	asked := func() (all []grid.JobID) {
		for _, p := range c.estimator.slotsAsked {
			if p.from == "i" {
				all = append(all, p.asks.Of)
			}
		}
		return all
	}
	c.estimator.onSlots("i", wire.Slots{Of: of(7), Round: 2})
	if all := asked(); len(all) != maxSlotsAsked || all[0] != of(0) || all[len(all)-1] != of(7) {
		t.Errorf("one that is asked again: %d wait, from %v to %v", len(all), all[0], all[len(all)-1])
	}
	c.estimator.onSlots("i", wire.Slots{Of: of(maxSlotsAsked), Round: 1})
	if all := asked(); len(all) != maxSlotsAsked || slices.Contains(all, of(0)) || len(c.estimator.slotsAsked) != maxSlotsAsked+1 {
		t.Errorf("one more: %d wait, the oldest among them %v", len(all), slices.Contains(all, of(0)))
	}
}
