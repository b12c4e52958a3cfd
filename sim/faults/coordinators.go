package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// coordinator holds reservations, and may fall silent after each of its words, as one that is gone. What it holds is for a
// job, of which no broker knows.
type coordinator struct {
	w        *world
	from, at *site
	id       grid.ReservationID
	rnd      *rand.Rand
	lease    grid.Tick
}

// loadCoordinators plans them, and looks at what they hold.
func (w *world) loadCoordinators() {
	if w.offering() {
		w.every(10*grid.Second, w.lookAtHolds)
	}
	if !w.o.Profile.reserved {
		return
	}
	r := rand.New(rand.NewPCG(w.o.Seed, 13))
	for n := range 30 {
		b := &coordinator{w: w, rnd: r, id: grid.ReservationID(fmt.Sprint("b", n)), lease: between(r, 20*grid.Second, 4*grid.Minute)}
		b.from, b.at = w.sites[r.IntN(len(w.sites))], w.sites[r.IntN(len(w.sites))]
		w.after(between(r, grid.Second, arrivals), b.ask)
	}
}

// every does something again and again, until the world ends.
func (w *world) every(span grid.Tick, do func()) {
	w.after(span, func() {
		do()
		w.every(span, do)
	})
}

func (b *coordinator) says(m wire.Message) {
	if h := &b.at.host; b.from != b.at && h.up && h.Core() != nil && !b.at.gone {
		h.post(core.Message{From: b.from.peer, Message: m})
	}
}

// ask asks for nodes, and mostly says something more.
func (b *coordinator) ask() {
	now := b.at.clock.wall(b.w.now) / grid.Second * grid.Second
	start := now + between(b.rnd, 10*grid.Second, 10*grid.Minute)/grid.Second*grid.Second
	length := between(b.rnd, 5*grid.Minute, 20*grid.Minute) / grid.Second * grid.Second
	b.says(wire.Reserve{
		ID: b.id, Holder: grid.User{Home: b.from.peer, Name: "dora"}, For: grid.NewJobID(b.from.name(), "B0000000000000000000000000"), What: grid.NodesReserved, Nodes: []grid.NodeName{b.at.nodes[b.rnd.IntN(len(b.at.nodes))].Name},
		From: start, Until: start + length, Length: length, Limit: between(b.rnd, 5*grid.Second, grid.Minute), Sent: now,
	})
	for range b.rnd.IntN(4) {
		b.w.after(between(b.rnd, grid.Second, 3*grid.Minute), func() { b.says(wire.Confirm{ID: b.id, Lease: b.lease}) })
	}
	if b.rnd.IntN(4) == 0 {
		b.w.after(between(b.rnd, grid.Second, 5*grid.Minute), func() { b.says(wire.Release{ID: b.id}) })
	}
}

// What is held too long. While all works, and the batch system answers at once, what is past its limit is gone within
// outlives; what is in no book, within strayed; what its home has given up, and could have said so, within untold.
const (
	outlives = 10 * grid.Second
	strayed  = 3 * grid.Minute
	untold   = 45 * grid.Second
)

// lookAtHolds is the rest of S3.
func (w *world) lookAtHolds() {
	for _, s := range w.sites {
		if len(s.batch.holds) == 0 {
			continue
		}
		s.batch.lapse()
		if !s.works() || s.asks > 0 { // a journal that was set back does not say what they are for before all were asked
			s.batch.since = max(s.batch.since, w.now)
		}
		for _, id := range slices.Sorted(maps.Keys(s.batch.holds)) {
			r, _ := s.disk.beside[besideKey{grid.KindReservation, string(id)}].(*grid.Reservation)
			switch {
			case r == nil || r.Start == 0:
				if w.now > s.batch.since+strayed {
					w.violate("S3", "", "%s still holds %s, which is in no book", s.name(), id)
				}
			case limitOf(r) > 0 && s.host.now() > limitOf(r)+outlives && w.now > s.batch.since+outlives:
				w.violate("S3", r.For, "%s still holds %s: %+v", s.name(), id, r)
			case !r.State.Over():
				w.untold(s, id)
			}
		}
	}
}

// works tells that broker and batch system are up, and there is one broker.
func (s *site) works() bool {
	return s.host.up && s.host.Core() != nil && !s.host.frozen && !s.batch.off && !s.gone && s.copied == 0
}

// limitOf is when a reservation is over, by the clock of its site; 0 is not before its end.
func limitOf(r *grid.Reservation) grid.Tick {
	switch {
	case r.State.Over():
		return r.Ended
	case r.State == grid.Active:
		return 0
	case r.State != grid.Tentative && r.Grace > 0 && r.Came == 0 && (r.Until == 0 || r.Start+r.Grace < r.Until):
		return r.Start + r.Grace
	}
	return r.Until
}

// untold: what the home of a job over several sites has given up does not wait for the end of its lease.
func (w *world) untold(s *site, id grid.ReservationID) {
	p, b := w.truth.pieceOf(s, id), s.batch
	if b.spared == nil {
		b.spared = map[grid.ReservationID]grid.Tick{}
	}
	if p == nil {
		return
	}
	home := p.of.of.home
	could := home.works() && s.works() && home.asks == 0 && s.asks == 0 && (home == s || w.hears(home, s))
	if _, seen := b.spared[id]; !seen || !could || !home.gaveUp(p) { // it may have been held for no time yet
		b.spared[id] = w.now
	}
	since := max(b.spared[id], s.awake, home.awake, w.unheard[home.i][s.i])
	if w.now > since+untold {
		w.violate("S3", p.of.of.id, "%s still holds %s, which %s has given up", s.name(), id, home.name())
	}
}

// gaveUp: by its journal the home of a part has given its reservation up, and nothing runs in it.
func (s *site) gaveUp(p *piece) bool {
	a, _ := s.disk.beside[besideKey{grid.KindAllocation, string(p.of.of.id)}].(*grid.Allocation)
	if a == nil {
		return false
	}
	k := slices.IndexFunc(a.Parts, func(o grid.AllocatedPart) bool { return o.Reservation == p.reservation })
	if k < 0 {
		return false
	}
	o := &a.Parts[k]
	over := o.Round < a.Round || a.State == grid.Planned || a.State == grid.Over
	return over && o.Asked && !o.Heard.Over() && (!o.Made || o.Fate != 0)
}
