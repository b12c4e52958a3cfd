package core

import (
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// The user of a whole is told what is done for it, and when it is to start: what is reserved, that its parts are there, why a round is given up, and
// that nothing is free.
func TestWhatTheUserOfAWholeIsTold(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Gathering)
	if want := []string{"reserving: bb 16, cc 8", "all parts are at their sites"}; !slices.Equal(c.f.told, want) || c.f.starts != c.rec().Start {
		t.Errorf("told is %q, and that it starts at %d, not %d", c.f.told, c.f.starts, c.rec().Start)
	}
	c.f.told = nil
	c.part("b", func(r *grid.Record) { r.State, r.End, r.Reason = grid.Failed, grid.Failed, "no such program" })
	c.settled()
	if why := c.rec().Reason; !slices.Equal(c.f.told, []string{why, why}) || !strings.Contains(why, "no such program") {
		t.Errorf("given up, told is %q", c.f.told)
	}
	c = newCoallocated(t, 0, nil)
	c.settled()
	for _, at := range []grid.PeerID{"b", "c"} {
		c.m.onSlotsReply(at, c.reply(theWhole, at, 0, 1))
	}
	if c.settled(); len(c.f.told) != 1 || !strings.HasPrefix(c.f.told[0], "no sites have it together: ") || c.f.starts != 0 {
		t.Errorf("where too little is free, told is %q, %d", c.f.told, c.f.starts)
	}
	c = newCoallocated(t, 0, nil)
	c.m.cfg.Window = grid.Minute
	c.settled()
	for _, at := range []grid.PeerID{"b", "c"} {
		m := c.reply(theWhole, at, 0, 4)
		for i := range m.Slots {
			m.Slots[i].Start += 3 * grid.Hour
		}
		c.m.onSlotsReply(at, m)
	}
	if c.settled(); len(c.f.told) != 1 || !strings.Contains(c.f.told[0], "not near enough to reserve") || c.f.starts < c.f.now+3*grid.Hour || c.rec().Round != 0 {
		t.Errorf("where it starts later, told is %q, %d", c.f.told, c.f.starts)
	}
}

// The liens of parts that are not made are lifted when their round is given up; what was made is settled by its end.
func TestLiensOfPartsThatAreNotMade(t *testing.T) {
	t.Parallel()
	for state, freed := range map[grid.AllocationState]int{grid.Confirming: 2, grid.Gathering: 0} {
		c := newCoallocated(t, 0, nil)
		c.upTo(state)
		c.m.abandon(c.m.all[theWhole], "its user holds it")
		if len(c.f.freed) != freed {
			t.Errorf("%v: freed are %v", state, c.f.freed)
		}
	}
}

// A site that drains takes no new reservation, and answers for those that it has.
func TestADrainedSiteReservesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	first := d.reserveFor("r1", 2_000_000, 60_000, "n1")
	d.says(first)
	d.step(DrainRequest{Token: 1, On: true})
	if got := d.says(first); len(got) != 1 || got[0].(wire.Reserved).Refusal != nil {
		t.Errorf("what it has: %+v", got)
	}
	if got := d.says(d.reserveFor("r2", 3_000_000, 60_000, "n1")); len(got) != 1 || got[0].(wire.Reserved).Refusal == nil || got[0].(wire.Reserved).Refusal.Reason != drained {
		t.Errorf("another: %+v", got)
	}
}

// What a job waits for while others are asked is in its record once, however often it is looked at.
func TestAJobThatWaitsForOthersIsSavedOnce(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	c.recovery.rolled = &rollback{waiting: map[grid.PeerID]bool{her: true}}
	saved := 0
	for range 5 {
		k := c.job(j.ID)
		k.queued = false
		c.search.undecide(k)
		saved += len(savesOf(c.Step(c.now+grid.Minute, Tick{}), j.ID))
	}
	if r := c.job(j.ID).rec; saved != 1 || !strings.Contains(r.Reason, "heard from b what") {
		t.Errorf("saved %d times: %q", saved, r.Reason)
	}
}

// A result is kept for all of its time, and the first day after a clock that may be wrong.
func TestHowLongAResultIsKept(t *testing.T) {
	t.Parallel()
	kern := kernelOf(&others{})
	kern.now, kern.cfg.Keep = 100*grid.Day, 30*grid.Day
	m := &home{kernel: kern}
	for ended, old := range map[grid.Tick]bool{0: false, kern.now - 30*grid.Day: false, kern.now - 30*grid.Day - 1: true} {
		if got := m.old(ended); got != old {
			t.Errorf("ended at %d: %t", ended, got)
		}
	}
	if kern.ageFrom = kern.now; !m.old(1) {
		t.Error("from that instant on")
	}
	if kern.ageFrom = kern.now + 1; m.old(1) {
		t.Error("before that instant")
	}
}
