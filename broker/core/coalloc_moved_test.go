package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// sooner is a round whose sites are asked for an earlier start.
func sooner(t *testing.T) *coallocated {
	c := newCoallocated(t, 0, func(j *grid.Job) { j.Coallocation.Early = true })
	c.upTo(grid.Gathering)
	c.rec().Start += grid.Hour
	for _, p := range c.rec().Parts {
		at := c.of(p.Peer)
		at.Heard, at.Start, at.End = grid.Bound, at.Start+grid.Hour, at.End+grid.Hour
	}
	c.m.stale[theWhole] = true
	c.settled()
	c.pass(c.m.cfg.Lead)
	if c.settled(); c.rec().Sooner == 0 {
		t.Fatal("its sites are not asked")
	}
	return c
}

// toldToMove is the last wish for a place of the reservation at a site that is said in the time to come.
func (c *coallocated) toldToMove(at grid.PeerID) (last *wire.Change) {
	c.f.said = nil
	c.pass(2 * grid.Second)
	c.settled()
	for _, m := range c.f.said {
		if m, is := m.(wire.Change); is && m.ID == c.of(at).Reservation {
			last = &m
		}
	}
	return last
}

// A site that still moves a reservation, and takes no wish to put it back meanwhile, tells its old place: it is told
// again, until it has taken that wish, which a word that nobody asked for says as well.
func TestAReservationThatIsStillMovedIsPutBack(t *testing.T) {
	t.Parallel()
	c := sooner(t)
	planned := c.of("b").Start
	at := func(n uint64, start grid.Tick, h grid.Holding) grid.Reservation {
		return grid.Reservation{ID: c.of("b").Reservation, State: grid.Bound, Number: n, Start: start, End: c.of("b").End, Holding: h}
	}
	c.m.onReserved("c", wire.Reserved{Of: wire.KindChange, Refusal: forNow("its nodes are taken"), Reservation: grid.Reservation{
		ID: c.of("c").Reservation, State: grid.Bound, Start: c.of("c").Start, End: c.of("c").End,
	}})
	for _, what := range []struct {
		is  string
		say func()
	}{
		{"it is at the first wish", func() {
			c.m.onReserved("b", wire.Reserved{Of: wire.KindChange, Refusal: forNow("the batch system is at it"), Reservation: at(1, planned, grid.Changing)})
		}},
		{"word of what it is at", func() { c.m.onReservationWord("b", wire.ReservationWord{Reservation: at(1, planned, grid.Changing)}) }},
		{"word of an earlier wish", func() { c.m.onReservationWord("b", wire.ReservationWord{Reservation: at(1, planned, 0)}) }},
		{"it is at the second wish", func() { c.m.onReservationWord("b", wire.ReservationWord{Reservation: at(2, planned, grid.Changing)}) }},
	} {
		what.say()
		if m := c.toldToMove("b"); c.rec().Sooner != 0 || m == nil || m.Start != planned || m.Number != 2 {
			t.Errorf("%s: it is told %+v", what.is, m)
		}
	}
	c.m.onReservationWord("b", wire.ReservationWord{Reservation: at(2, planned, 0)})
	if m := c.toldToMove("b"); m != nil {
		t.Errorf("it is put back, and is told %+v", m)
	}
	c.m.onReservationWord("b", wire.ReservationWord{Reservation: at(2, planned-grid.Minute, 0)})
	if m := c.toldToMove("b"); m == nil || m.Start != planned {
		t.Errorf("it is elsewhere again, and is told %+v", m)
	}
}

// A home that comes back when parts have waited at the barrier for as long as their limits have time for does not have them go,
// unless they have begun, or a branch of its journal that is lost may have told them to.
func TestPartsThatWaitedTooLongDoNotGo(t *testing.T) {
	t.Parallel()
	for _, is := range []struct{ begun, told, goes bool }{{}, {begun: true, goes: true}, {told: true, goes: true}} {
		c := newCoallocated(t, 0, nil)
		c.upTo(grid.Gathering)
		c.rec().Start += 2 * grid.Hour // when it was to begin before all sites let it begin sooner
		came := c.f.now
		c.f.now += c.m.cfg.Grace
		if is.told {
			c.m.branchLost()
		}
		for at, when := range map[grid.PeerID]grid.Tick{"b": came, "c": came + grid.Minute} {
			c.part(at, func(r *grid.Record) {
				if r.Arrived = when; is.begun {
					r.Started, r.State = when, grid.Running
				}
			})
		}
		c.settled()
		if s := c.rec().State; is.goes != (s == grid.Going || s == grid.Together) || !is.goes && c.rec().Go > 0 {
			t.Errorf("%+v: it is %v, go at %v", is, s, c.rec().Go)
		}
	}
}

// A site is asked for the earlier start by its own clock, at a full second; when all begin then, that is the start of the round.
func TestSitesAreAskedForTheEarlierStart(t *testing.T) {
	t.Parallel()
	c := sooner(t)
	start := c.rec().Sooner
	offsets := map[grid.PeerID]grid.Tick{"b": -90_500, "c": 7_000}
	for p, ahead := range offsets {
		c.of(p).Offset = ahead
	}
	for p, ahead := range offsets {
		want := up(start + ahead)
		m := c.toldToMove(p)
		if m == nil || m.Start != want || m.Number != c.of(p).Wish || m.End != c.of(p).End {
			t.Fatalf("%s is told %+v, and should begin at %d", p, m, want)
		}
		if c.rec().Sooner == 0 {
			t.Fatal("taken up, and not all have moved")
		}
		c.m.onReserved(p, wire.Reserved{Of: wire.KindChange, Reservation: grid.Reservation{
			ID: m.ID, State: grid.Bound, Number: m.Number, Start: m.Start, End: m.End, Holding: grid.Placed,
		}})
	}
	c.settled()
	if c.rec().Sooner != 0 || c.rec().Start != start {
		t.Errorf("all have moved, and it starts at %d, or at %d", c.rec().Start, c.rec().Sooner)
	}
	for p, ahead := range offsets {
		if got := c.of(p).Start; got != up(start+ahead) {
			t.Errorf("at %s it starts at %d", p, got)
		}
	}
}
