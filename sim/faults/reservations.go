package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/reserve"
	"gbroker/wire"
)

// Reservations in the batch system, and what must hold of them:
//
//	S3  no two of a site overlap on a node; a tentative one, one whose lease is over and one that is over do
//	    not outlive that once broker and batch system have worked for a while; nothing is left over
//
// Holders are other sites, whose word may be the last that was heard of them. The batch system refuses what
// overlaps, as its drivers do, fails, loses answers, and is down at times.

// outlives is how long what is over may be held while all works: commands may take half a minute each.
const outlives = 3 * grid.Minute

// offering tells that sites make reservations in histories of this profile.
func (w *world) offering() bool { return w.o.Profile.Name == reserving }

const reserving = "reserve"

// reserveRules are the operator's at every site.
func (w *world) reserveRules() reserve.Rules {
	return reserve.Rules{Offered: w.offering(), Limit: grid.Minute}
}

// command about reservations: what it does is done at its end, unless the client died.
func (h *host) reservations(key core.WorkKey, run func(failed bool) core.Event) {
	b := h.s.batch
	h.do(key, &work{
		begin: func() grid.Tick { return b.pace(30) },
		end: func(bool) {
			failed := b.off || b.s.w.strikes(CommandFails, b.s.w.rnd.batch)
			h.post(run(failed))
		},
	})
}

// unsaid: of a command that failed half have done what they were to do; the answer is lost.
func (b *batch) unsaid(failed bool) (done bool, err string) {
	if !failed {
		return true, ""
	}
	return !b.off && b.s.w.rnd.batch.IntN(2) == 0, "the batch system does not answer"
}

func (h *host) reserve(key core.WorkKey, e core.Reserve) {
	b := h.s.batch
	r := e.Reservation
	h.reservations(key, func(failed bool) core.Event {
		ev := core.Reserved{ID: r.ID, Place: r.Place(), Kind: grid.Temporary}
		if other := b.reservedOver(r.ID, r.Place()); other != "" && !failed && !b.s.w.broken.core.Without(core.OverlapAllowed) {
			ev.Err, ev.Kind = "it overlaps "+string(other), grid.Permanent
			return ev
		}
		var done bool
		if done, ev.Err = b.unsaid(failed); done && (b.reservedOver(r.ID, r.Place()) == "" || b.s.w.broken.core.Without(core.OverlapAllowed)) {
			b.hold(r.ID, r.Place())
		}
		return ev
	})
}

func (h *host) unreserve(key core.WorkKey, id grid.ReservationID) {
	b := h.s.batch
	h.reservations(key, func(failed bool) core.Event {
		done, err := b.unsaid(failed)
		if done {
			delete(b.holds, id)
		}
		return core.Unreserved{ID: id, Err: err}
	})
}

func (h *host) listReservations(key core.WorkKey) {
	b := h.s.batch
	h.reservations(key, func(failed bool) core.Event {
		b.lapse()
		if failed {
			return core.ReservationsListed{Err: "the batch system does not answer"}
		}
		var ev core.ReservationsListed
		for _, id := range slices.Sorted(maps.Keys(b.holds)) {
			ev.All = append(ev.All, core.HeldReservation{ID: id, Place: b.holds[id]})
		}
		return ev
	})
}

// lapse takes out what is past its end, as batch systems do.
func (b *batch) lapse() {
	now := b.s.clock.wall(b.s.w.now)
	maps.DeleteFunc(b.holds, func(_ grid.ReservationID, p grid.Place) bool { return p.End <= now })
}

// reservedOver is a reservation that has a node of a place in its time.
func (b *batch) reservedOver(but grid.ReservationID, at grid.Place) grid.ReservationID {
	b.lapse()
	for _, id := range slices.Sorted(maps.Keys(b.holds)) {
		p := b.holds[id]
		if id != but && p.Start < at.End && at.Start < p.End && slices.ContainsFunc(p.Nodes, func(n grid.NodeName) bool { return slices.Contains(at.Nodes, n) }) {
			return id
		}
	}
	return ""
}

// hold takes a reservation up, and checks the first part of S3.
func (b *batch) hold(id grid.ReservationID, at grid.Place) {
	w := b.s.w
	if b.holds == nil {
		b.holds = map[grid.ReservationID]grid.Place{}
	}
	if other := b.reservedOver(id, at); other != "" {
		w.violate("S3", "", "%s holds %s and %s on a node at one time", b.s.name(), id, other)
	}
	b.holds[id] = at
	w.result.Coverage["reserved"]++
}

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
	if !w.offering() {
		return
	}
	r := rand.New(rand.NewPCG(w.o.Seed, 13))
	for n := range 30 {
		b := &booker{w: w, rnd: r, id: grid.ReservationID(fmt.Sprint("b", n)), lease: between(r, 20*grid.Second, 4*grid.Minute)}
		b.from, b.at = w.sites[r.IntN(len(w.sites))], w.sites[r.IntN(len(w.sites))]
		w.after(between(r, grid.Second, arrivals), b.ask)
	}
	w.every(20*grid.Second, w.lookAtHolds)
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
			case r == nil:
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
