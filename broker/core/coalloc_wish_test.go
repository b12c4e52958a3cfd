package core

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// allocationStates are those that a round goes through, from before its reservations are asked for.
var allocationStates = []grid.AllocationState{
	grid.Planned, grid.Reserving, grid.Confirming, grid.Gathering, grid.Going, grid.Together,
}

// wholeIn takes a new whole to a state; in PLANNED its slots are being asked for.
func wholeIn(t *testing.T, state grid.AllocationState) *coallocated {
	c := newCoallocated(t, 0, nil)
	if state == grid.Planned {
		c.want("save PLANNED, Slots>b, Slots>c")
	} else {
		c.upTo(state)
	}
	return c
}

// wish has the machine look at the whole after its user, or its deadline, changed what is wished of it.
func (c *coallocated) wish(change func(r *grid.Record)) string {
	r := c.f.records[theWhole]
	change(r)
	c.m.saved(&r.Job)
	return c.settled()
}

// A hold gives a round up that has not gone, and keeps another from beginning until the release. What has gone goes on.
func TestWholeHeldAndReleased(t *testing.T) {
	t.Parallel()
	for _, state := range allocationStates {
		c := wholeIn(t, state)
		c.f.kept = untilReleased
		got := c.wish(func(*grid.Record) {})
		if state >= grid.Going {
			if c.rec().State != state || strings.Contains(got, "cancel") || strings.Contains(got, "Release") {
				t.Errorf("held in %v, it is %v: %s", state, c.rec().State, got)
			}
			continue
		}
		if made := state == grid.Gathering; made != strings.Contains(got, "cancel 1, cancel 2") {
			t.Errorf("held in %v: its parts: %s", state, got)
		}
		for _, p := range c.rec().Parts {
			if p.Made {
				c.part(p.Peer, func(r *grid.Record) { r.State, r.End = grid.Killed, grid.Killed })
			}
		}
		c.pass(grid.Second)
		got += ", " + c.settled()
		if asked := state > grid.Planned; c.rec().State != grid.Planned || asked != strings.Contains(got, "Release>b") {
			t.Errorf("held in %v, it is %v: %s", state, c.rec().State, got)
		}
		if c.rec().Fails != 0 || c.rec().Next > c.f.now {
			t.Errorf("held in %v: %d rounds have failed, and the next is at %d", state, c.rec().Fails, c.rec().Next)
		}
		for range 3 { // also the answers that were on their way begin nothing
			c.slots("b", 0, 4)
			c.slots("c", 0, 4)
			c.pass(grid.Minute)
			if got := c.settled(); strings.Contains(got, "Slots") || strings.Contains(got, "Reserve>") || strings.Contains(got, "Confirm") {
				t.Fatalf("held in %v, it does %s", state, got)
			}
		}
		c.f.kept = notKept
		if got := c.wish(func(*grid.Record) {}); !strings.Contains(got, "Slots>b, Slots>c") {
			t.Fatalf("released after a hold in %v, it does %q", state, got)
		}
		c.slots("b", 0, 4)
		c.slots("c", 0, 4)
		if c.settled(); c.rec().State != grid.Reserving {
			t.Errorf("released after a hold in %v, it stays in %v", state, c.rec().State)
		}
	}
}

// A wish for its end, of its user or by its deadline, ends a whole wherever it is: its parts first, then itself, once,
// and its reservations are released. A held one ends as well.
func TestWholeEndedByWish(t *testing.T) {
	t.Parallel()
	for _, state := range allocationStates {
		for want, overdue := range map[grid.State]bool{grid.Killed: false, grid.CancelledDeadline: true} {
			for _, held := range []bool{false, true} {
				c := wholeIn(t, state)
				if held {
					c.f.kept = untilReleased
					c.wish(func(*grid.Record) {})
				}
				made := state >= grid.Gathering
				got := c.wish(func(r *grid.Record) { r.CancelRequested, r.Overdue = true, overdue })
				if made {
					if c.f.records[theWhole].State.Terminal() {
						t.Fatalf("%v, held %t: it has ended before its parts: %s", state, held, got)
					}
					for _, p := range c.rec().Parts {
						c.part(p.Peer, func(r *grid.Record) { r.State, r.End = grid.Killed, grid.Killed })
					}
					got += ", " + c.settled()
				}
				if c.rec().State != grid.Over || c.f.records[theWhole].State != want || strings.Count(got, "end ") != 1 {
					t.Errorf("%v, held %t: %v, %v, not %v: %s", state, held, c.rec().State, c.f.records[theWhole].State, want, got)
				}
				c.pass(grid.Minute)
				got = c.settled()
				if asked := state > grid.Planned; asked != strings.Contains(got, "Release>b") || strings.Contains(got, "Slots") || strings.Contains(got, "Reserve>") {
					t.Errorf("%v, held %t: after its end it does %s", state, held, got)
				}
			}
		}
	}
}

// A whole whose parts talk to one another has only sites that declare each other: both of them.
func TestOnlySitesThatReachEachOther(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		b, c []grid.SiteName
		is   grid.AllocationState
		// who they are that these mean; none is told by an older broker
		who, whoToo []grid.PeerID
	}{
		{[]grid.SiteName{"x", "cc"}, []grid.SiteName{"bb"}, grid.Reserving, nil, nil},
		{[]grid.SiteName{"cc"}, nil, grid.Planned, nil, nil},
		{nil, nil, grid.Planned, nil, nil},
		{[]grid.SiteName{"theirs"}, []grid.SiteName{"ours"}, grid.Reserving, []grid.PeerID{"b", "c"}, []grid.PeerID{"b", "c"}},
		{[]grid.SiteName{"cc"}, []grid.SiteName{"bb"}, grid.Planned, []grid.PeerID{"b", "another"}, []grid.PeerID{"b", "c"}},
		{[]grid.SiteName{"cc"}, []grid.SiteName{"ours"}, grid.Reserving, nil, []grid.PeerID{"b", "c"}},
	} {
		c := newCoallocated(t, 0, func(j *grid.Job) { j.Coallocation.Reach = true })
		c.f.at[0].facts.Reach, c.f.at[1].facts.Reach = x.b, x.c
		c.f.at[0].facts.ReachPeers, c.f.at[1].facts.ReachPeers = x.who, x.whoToo
		c.settled()
		c.slots("b", 0, 4)
		c.slots("c", 0, 4)
		c.settled()
		if r := c.rec(); r.State != x.is || (x.is == grid.Planned) != strings.Contains(r.Reason+r.Choice.Why, "reach each other") {
			t.Errorf("%v and %v: %v, as %q and %q", x.b, x.c, r.State, r.Reason, r.Choice.Why)
		}
	}
}
