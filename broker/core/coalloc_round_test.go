package core

import (
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A round ends of whatever one of its sites says too early, too late or not at all; its reason names the site, and what is left is
// taken back.
func TestWhatARoundEndsOf(t *testing.T) {
	t.Parallel()
	gone := func(c *coallocated) {
		c.m.onReservationWord("b", wire.ReservationWord{Reservation: grid.Reservation{ID: c.of("b").Reservation, State: grid.ReservationLost, Reason: "its node is down"}})
	}
	for _, k := range []struct {
		in    grid.AllocationState
		of    func(c *coallocated)
		why   string
		takes string // of what was done
	}{
		{grid.Reserving, func(c *coallocated) {
			c.reserved("b", wire.KindReserve, grid.Tentative)
			gone(c)
		}, "bb does not hold its nodes", ""},
		{grid.Reserving, func(c *coallocated) {
			c.reserved("b", wire.KindReserve, grid.Tentative)
			c.settled()
			c.f.poor = forNow("the budget is spent")
			c.reserved("c", wire.KindReserve, grid.Tentative)
		}, "bb: the budget is spent", "Release>b, Release>c"},
		{grid.Confirming, gone, "bb does not hold its nodes any more", "Release>c"},
		{grid.Gathering, gone, "bb does not hold its nodes any more", "cancel 1, cancel 2"},
		{grid.Gathering, func(c *coallocated) {
			delete(c.f.records, c.of("b").Job)
			c.m.stale[theWhole] = true
		}, "is gone", "cancel 2"},
		{grid.Going, func(c *coallocated) {
			c.part("b", func(r *grid.Record) { r.Started, r.State = c.f.now, grid.Running })
			c.settled()
			c.pass(c.rec().Go + c.m.cfg.Within + c.m.cfg.Grace - c.f.now)
		}, "not all parts began in time", "cancel 1, cancel 2"},
	} {
		c := newCoallocated(t, 0, func(j *grid.Job) { j.Rerunnable = true })
		c.upTo(k.in)
		round := c.rec().Round
		k.of(c)
		if got := c.settled(); c.rec().State != grid.Planned || c.rec().Fails != 1 || !strings.Contains(c.rec().Reason, k.why) || !strings.Contains(got, k.takes) {
			t.Errorf("%v, %q: it is %v, of %q, did %s", k.in, k.why, c.rec().State, c.rec().Reason, got)
		}
		if c.rec().Round != round {
			t.Errorf("%q: round %d follows at once", k.why, c.rec().Round)
		}
	}
}

// A moment before the last instant all that began waits for the others.
func TestARoundWaitsForItsLastInstant(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Going)
	c.pass(c.rec().Go + c.m.cfg.Within + c.m.cfg.Grace - 1 - c.f.now)
	if c.settled(); c.rec().State != grid.Going {
		t.Errorf("it is %v: %s", c.rec().State, c.rec().Reason)
	}
}

// Sites that say nothing about an earlier start have it begin as planned, and are told so.
func TestNotAllSaidThatItMayBeginSooner(t *testing.T) {
	t.Parallel()
	c := sooner(t)
	planned, asked := c.rec().Start, c.rec().Sooner
	c.pass(asked - c.m.cfg.Lead/4 - 1 - c.f.now)
	if c.settled(); c.rec().Sooner != asked {
		t.Fatal("they had time to answer")
	}
	c.f.said = nil
	c.pass(1)
	if c.settled(); c.rec().Sooner != 0 || c.rec().Start != planned || c.rec().State != grid.Gathering {
		t.Errorf("it is %v, begins at %d, wished for %d", c.rec().State, c.rec().Start, c.rec().Sooner)
	}
	for _, at := range []grid.PeerID{"b", "c"} {
		if m := c.toldToMove(at); m == nil || m.Number != 2 || m.Start != c.of(at).Start {
			t.Errorf("%s is told %+v", at, m)
		}
	}
}

// A clock that is known too badly is not reckoned with: the site is left out, with that reason.
func TestAClockThatIsNotKnown(t *testing.T) {
	t.Parallel()
	for bound, known := range map[grid.Tick]bool{2 * grid.Second: true, grid.Second: false} {
		c := newCoallocated(t, 0, nil)
		c.m.cfg.Bound = bound
		c.settled()
		late := c.reply(theWhole, "b", 0, 4)
		c.slots("c", 0, 4)
		c.pass(4 * grid.Second) // on the way, no one knows where
		c.m.onSlotsReply("b", late)
		c.settled()
		if c.rec().State == grid.Reserving != known {
			t.Errorf("bound %v s: it is %v", bound.Seconds(), c.rec().State)
		}
		if why := c.rec().Choice.Sites[0].Refusal; known != (why == nil) || !known && why.Reason != "its clock is known to 2.0 s only" {
			t.Errorf("bound %v s: %+v", bound.Seconds(), why)
		}
	}
}

// What was refused lately is remembered, and not for ever: the oldest goes first.
func TestRefusalsThatAreRemembered(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Reserving)
	c.rec().Refused = make([]grid.RefusedSlot, mostRefused)
	for i := range c.rec().Refused {
		c.rec().Refused[i] = grid.RefusedSlot{Peer: "d", At: c.f.now, Start: grid.Tick(i)}
	}
	c.m.onReserved("b", wire.Reserved{Of: wire.KindReserve, Reservation: grid.Reservation{ID: c.of("b").Reservation}, Refusal: forNow("taken")})
	c.settled()
	list := c.rec().Refused
	if last := list[len(list)-1]; len(list) != mostRefused || list[0].Start != 1 || last.Peer != "b" || last.Why != "taken" || last.At != c.f.now {
		t.Errorf("%d are remembered, from %+v to %+v", len(list), list[0], list[len(list)-1])
	}
}

// The record of a whole goes, as its user wishes or by its age: nothing is left of its rounds, not even in the cycle that
// plans it, and what a site says of its reservations is about nobody's.
func TestAWholeIsDropped(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Reserving)
	of := c.of("b").Reservation
	c.m.dropped(theWhole)
	c.m.dropped(theWhole)
	if got := c.settled(); got != "drop" || c.m.holds("b", of) || c.m.all[theWhole] != nil {
		t.Errorf("it did %q, and has %v", got, c.m.reserved)
	}
	c = newCoallocated(t, 0, nil)
	c.also(another, func(*grid.Job) {})
	c.settled()
	c.m.dropped(theWhole)
	delete(c.f.records, theWhole)
	for _, id := range []grid.JobID{theWhole, another} {
		c.slotsOf(id, "b", 0, 4)
		c.slotsOf(id, "c", 0, 4)
	}
	if c.settled(); c.m.all[another].rec.State != grid.Reserving {
		t.Errorf("the other of its cycle is %v", c.m.all[another].rec.State)
	}
}

// A site has no say in the reservation of another.
func TestAnothersReservation(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Confirming)
	c.m.onReserved("c", wire.Reserved{Of: wire.KindConfirm, Reservation: grid.Reservation{ID: c.of("b").Reservation, State: grid.Confirmed}})
	if c.want(""); c.of("b").Heard != grid.Tentative || c.m.holds("c", c.of("b").Reservation) {
		t.Errorf("at b it is %v", c.of("b").Heard)
	}
}

// Pieces that are not alike are spread over no sites: the job waits with that reason, and a draft of it says so too.
func TestPiecesThatAreNotAlike(t *testing.T) {
	t.Parallel()
	unlike := func(j *grid.Job) {
		j.Demand.Chunks = []grid.Chunk{{Count: 6, Processes: 4, Cores: 4}, {Count: 1, Processes: 1, Cores: 1}}
	}
	c := newCoallocated(t, 0, unlike)
	c.settled()
	c.slots("b", 0, 4)
	c.slots("c", 0, 4)
	if c.settled(); c.rec().State != grid.Planned || !strings.Contains(c.rec().Choice.Why, "pieces of 2 kinds") || c.rec().Next <= c.f.now {
		t.Errorf("it is %v: %s", c.rec().State, c.rec().Choice.Why)
	}
	c = newCoallocated(t, 0, unlike)
	id, told := c.draft()
	c.slotsOf(id, "b", 0, 4)
	c.slotsOf(id, "c", 0, 4)
	if c.settled(); told() == nil || !strings.Contains(told().Why, "pieces of 2 kinds") || told().Start != 0 {
		t.Errorf("told is %+v", told())
	}
}

// Parts that talk to one another go to sites whose nodes reach one another; a draft tells the same.
func TestSitesThatDoNotReachOneAnother(t *testing.T) {
	t.Parallel()
	for _, k := range []struct{ talks, reach, chosen bool }{{false, false, true}, {true, false, false}, {true, true, true}} {
		begin := func() *coallocated {
			c := newCoallocated(t, 0, func(j *grid.Job) { j.Coallocation.Reach = k.talks })
			if k.reach {
				c.f.at[0].facts.Reach, c.f.at[1].facts.Reach = []grid.SiteName{"cc"}, []grid.SiteName{"bb"}
			}
			return c
		}
		c := begin()
		c.settled()
		c.slots("b", 0, 4)
		c.slots("c", 0, 4)
		if c.settled(); (c.rec().State == grid.Reserving) != k.chosen {
			t.Errorf("%+v: it is %v: %s", k, c.rec().State, c.rec().Reason)
		}
		c = begin()
		id, told := c.draft()
		c.slotsOf(id, "b", 0, 4)
		c.slotsOf(id, "c", 0, 4)
		if c.settled(); told() == nil || (told().Start != 0) != k.chosen {
			t.Errorf("%+v: told is %+v", k, told())
		}
	}
}
