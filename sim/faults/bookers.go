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

// booker is a holder who may fall silent after each of its words: a coordinator that is gone. What it holds is for a
// job, of which no broker knows.
type booker struct {
	w        *world
	from, at *site
	id       grid.ReservationID
	rnd      *rand.Rand
	lease    grid.Tick
}

// loadBookers plans them, and looks at what they hold.
func (w *world) loadBookers() {
	if w.offering() {
		w.every(20*grid.Second, w.lookAtHolds)
	}
	if !w.o.Profile.booked {
		return
	}
	r := rand.New(rand.NewPCG(w.o.Seed, 13))
	for n := range 30 {
		b := &booker{w: w, rnd: r, id: grid.ReservationID(fmt.Sprint("b", n)), lease: between(r, 20*grid.Second, 4*grid.Minute)}
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

func (b *booker) says(m wire.Message) {
	if h := &b.at.host; b.from != b.at && h.up && h.Core() != nil && !b.at.gone {
		h.post(core.Message{From: b.from.peer, Message: m})
	}
}

// ask asks for nodes, and mostly says something more.
func (b *booker) ask() {
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

// outlives is how long what is over may be held while all works: commands may take half a minute each.
const outlives = 3 * grid.Minute

// lookAtHolds is the rest of S3: at a site where all has worked for a while nothing is held that is over.
func (w *world) lookAtHolds() {
	for _, s := range w.sites {
		s.batch.lapse()
		works := s.host.up && s.host.Core() != nil && !s.host.frozen && !s.batch.off && !s.gone && s.duplicate == nil
		if !works {
			s.batch.since = w.now
		}
		for _, id := range slices.Sorted(maps.Keys(s.batch.holds)) {
			r, _ := s.disk.beside[besideKey{grid.KindReservation, string(id)}].(*grid.Reservation)
			over := grid.Tick(0) // by the clock of Core
			switch {
			case r == nil || r.Start == 0:
				if len(s.lapses) > 0 && (w.storms == 0 || w.now < w.storms+2*faultLength) {
					continue // it may not know what it is for before it has asked all
				}
				over = 1
			case r.State.Over():
				over = r.Ended
			case r.State == grid.Tentative, r.Until > 0 && r.State != grid.Active:
				over = r.Until
			default:
				continue
			}
			if over > 0 && s.host.now() > over+outlives && w.now > s.batch.since+outlives {
				w.violate("S3", "", "%s still holds %s: %+v", s.name(), id, r)
			}
		}
	}
}
