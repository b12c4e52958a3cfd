package core

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// The end of a whole is the gravest of its parts'; one that was ended because of another has no say in it, unless all were, or the
// user has wished it.
func TestEndOfAWholeIsThatOfItsParts(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		b, c   grid.State
		wished bool
		want   grid.State
	}{
		{grid.Completed, grid.Completed, false, grid.Completed},
		{grid.Failed, grid.Killed, false, grid.Failed},
		{grid.Completed, grid.Failed, false, grid.Failed},
		{grid.CancelledWalltime, grid.Killed, false, grid.CancelledWalltime},
		{grid.Lost, grid.Failed, false, grid.Lost},
		{grid.Completed, grid.Killed, false, grid.Completed},
		{grid.Completed, grid.Killed, true, grid.Killed},
		{grid.Killed, grid.Killed, false, grid.Killed},
	} {
		c := newCoallocated(t, 0, func(j *grid.Job) { j.Coallocation.Survive = true })
		c.upTo(grid.Together)
		c.f.records[theWhole].CancelRequested = k.wished
		for p, state := range map[grid.PeerID]grid.State{"b": k.b, "c": k.c} {
			c.part(p, func(r *grid.Record) { r.State, r.End = state, state })
		}
		c.settled()
		r := c.f.records[theWhole]
		if r.State != k.want {
			t.Errorf("%+v: it is %v", k, r.State)
		}
		if bad := k.b != grid.Completed || k.c != grid.Completed; bad != strings.Contains(r.Reason, "part ") {
			t.Errorf("%+v: its reason is %q", k, r.Reason)
		}
	}
}

// What is done for a whole is in its history, with why.
func TestStepsOfAWholeAreTold(t *testing.T) {
	t.Parallel()
	c := signed()
	w := &wholeJobs{kernel: c.kernel}
	for why, events := range map[string]int{"": 0, "all parts have arrived: go": 1} {
		c.kernel.out = nil
		w.save(&grid.Allocation{Of: theWhole, State: grid.Going}, why)
		if s, is := only[Save](c.kernel.out); !is || len(s.Change.Events) != events || events > 0 && s.Change.Events[0].Why != why {
			t.Errorf("%q: %+v", why, s.Change.Events)
		}
	}
}
