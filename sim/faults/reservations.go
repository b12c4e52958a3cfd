package faults

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
	"gbroker/reserve"
)

// Reservations in the batch system, and what must hold of them:
//
//	S3  no two of a site overlap on a node; a tentative one, one whose lease is over and one that is over do
//	    not outlive that once broker and batch system have worked for a while; nothing is left over
//
// Holders are other sites, whose word may be the last that was heard of them. The batch system refuses what
// overlaps, as its drivers do, fails, loses answers, and is down at times.

// offering tells that sites make reservations in histories of this profile.
func (w *world) offering() bool { return w.o.Profile.reserved || w.wide > 0 }

// reserves tells that the batch system of s makes reservations; where nodes do not see the control directory no
// part could wait at a barrier.
func (s *site) reserves() bool { return s.w.offering() && !s.batch.blind }

// reserveRules are the operator's.
func (s *site) reserveRules() reserve.Rules {
	return reserve.Rules{Offered: s.reserves(), Limit: 2 * grid.Minute}
}

// command about reservations: what it does is done at its end, unless the client died.
func (h *host) reservations(key core.WorkKey, run func(failed bool) core.Event) {
	b := h.s.batch
	h.do(key, &work{
		begin: func() grid.Tick {
			span := b.pace(30)
			if span >= grid.Second {
				b.since = max(b.since, b.s.w.now+span)
			}
			return span
		},
		end: func(bool) {
			failed := b.off || b.s.w.strikes(CommandFails, b.s.w.rnd.batch)
			if failed {
				b.since = max(b.since, b.s.w.now)
			}
			h.post(run(failed))
		},
	})
}

// unsaid: of a command that failed half have done what they were to do; the answer is lost.
func (b *batch) unsaid(failed bool) (done bool, err error) {
	if !failed {
		return true, nil
	}
	return !b.off && b.s.w.rnd.batch.IntN(2) == 0, errNoBatch
}

var errNoBatch = errors.New("the batch system does not answer")

func (h *host) reserve(key core.WorkKey, e core.Reserve) {
	b := h.s.batch
	r := e.Reservation
	h.reservations(key, func(failed bool) core.Event {
		ev := core.Reserved{ID: r.ID, Place: r.Place(), Kind: grid.Temporary}
		why := b.mayNotHold(r.ID, r.Place())
		if why != nil && !failed {
			ev.Err, ev.Kind = why, grid.Permanent
			return ev
		}
		var done bool
		if done, ev.Err = b.unsaid(failed); done && why == nil {
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
			b.pass()
		}
		return core.Unreserved{ID: id, Err: err}
	})
}

func (h *host) listReservations(key core.WorkKey) {
	b := h.s.batch
	h.reservations(key, func(failed bool) core.Event {
		b.lapse()
		if failed {
			return core.ReservationsListed{Err: errNoBatch}
		}
		var ev core.ReservationsListed
		for _, id := range slices.Sorted(maps.Keys(b.holds)) {
			held := core.HeldReservation{ID: id, Place: b.holds[id]}
			for _, n := range held.Place.Nodes {
				if b.down[n] {
					held.Down = append(held.Down, n)
				}
			}
			ev.All = append(ev.All, held)
		}
		return ev
	})
}

// lapse takes out what is past its end, as batch systems do, and has its nodes given to others.
func (b *batch) lapse() {
	now, held := b.s.clock.wall(b.s.w.now), len(b.holds)
	maps.DeleteFunc(b.holds, func(_ grid.ReservationID, p grid.Place) bool { return p.End <= now })
	if len(b.holds) < held {
		b.pass()
	}
}

// lapseAt has that done at an instant of the wall clock, which may be set meanwhile.
func (b *batch) lapseAt(end grid.Tick) {
	left := end - b.s.clock.wall(b.s.w.now)
	if b.lapse(); left > 0 {
		b.s.w.after(b.s.clock.truly(left), func() { b.lapseAt(end) })
	}
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

// mayLose has the batch system lose a reservation, or a node of it, some time.
func (b *batch) mayLose(id grid.ReservationID, at grid.Place) {
	w := b.s.w
	r := w.rnd.part
	when, span := between(r, 0, 3*grid.Minute), between(r, 10*grid.Second, 4*grid.Minute)
	if w.strikes(ReservationLost, r) {
		w.after(when, func() {
			w.tell(b.s, "the batch system loses the reservation %s", id)
			delete(b.holds, id)
			b.pass()
		})
	}
	if w.strikes(NodeDown, r) && len(at.Nodes) > 0 {
		n := at.Nodes[r.IntN(len(at.Nodes))]
		w.after(when, func() { b.failNode(n, span) })
	}
}

// failNode takes a node out for a while, with what runs there.
func (b *batch) failNode(n grid.NodeName, span grid.Tick) {
	w := b.s.w
	if b.down[n] || b.s.gone {
		return
	}
	if b.down == nil {
		b.down = map[grid.NodeName]bool{}
	}
	w.tell(b.s, "node %s is down for %v s", n, span.Seconds())
	b.down[n] = true
	for l := b.occupied([]grid.NodeName{n}, nil); l != nil; l = b.occupied([]grid.NodeName{n}, nil) {
		if l.foreign {
			b.remove(l)
		} else {
			b.vanish(l)
		}
	}
	w.after(span, func() {
		delete(b.down, n)
		b.pass()
	})
}

// mayNotHold is why the batch system refuses a reservation: another one, or jobs whose limits reach into it.
func (b *batch) mayNotHold(id grid.ReservationID, at grid.Place) error {
	w := b.s.w
	if w.broken.core.Without(core.OverlapAllowed) {
		return nil
	}
	if other := b.reservedOver(id, at); other != "" { // also of one that is changed, as drivers look
		return fmt.Errorf("it overlaps %s", other)
	}
	if _, held := b.holds[id]; held {
		return nil
	}
	into := func(l *local) bool {
		left := cmp.Or(l.entered, l.started) + l.sub.BatchLimit() - w.now
		return b.s.clock.wall(w.now)+left > at.Start
	}
	if l := b.occupied(at.Nodes, into); l != nil {
		return errors.New("a job that runs may use its nodes then")
	}
	return nil
}

// keptFree tells that a node is reserved for others before a job of that limit would have ended.
func (b *batch) keptFree(n grid.NodeName, limit grid.Tick) bool {
	now := b.s.clock.wall(b.s.w.now)
	for _, p := range b.holds {
		if p.Start < now+limit && now < p.End && slices.Contains(p.Nodes, n) {
			return true
		}
	}
	return false
}

// reservedNodes are the reservations as a listing shows them.
func (b *batch) reservedNodes() (list []plan.Reservation) {
	if len(b.holds) == 0 {
		return nil
	}
	b.lapse()
	for _, id := range slices.Sorted(maps.Keys(b.holds)) {
		at := b.holds[id]
		r := plan.Reservation{ID: string(id), Start: at.Start, End: at.End}
		for i, n := range b.s.nodes {
			if slices.Contains(at.Nodes, n.Name) {
				r.Shares = append(r.Shares, plan.Share{Node: i, Processes: n.Cores, Cores: n.Cores})
			}
		}
		list = append(list, r)
	}
	return list
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
	if _, held := b.holds[id]; !held {
		w.result.Coverage["reserved"]++
		b.mayLose(id, at)
	}
	b.holds[id] = at
	w.truth.held(b.s, id, at)
	w.after(b.s.clock.truly(max(0, at.Start-b.s.clock.wall(w.now))), b.pass)
	b.lapseAt(at.End)
}
