package reserve

import (
	"slices"

	"gbroker/grid"
)

// twin is the book as one would do it by hand, second by second and node by node.
type twin struct {
	rules Rules
	now   grid.Tick
	all   map[grid.ReservationID]*entry
}

type entry struct {
	grid.Reservation
	at []grid.Place // where the batch system may have it
}

func (t *twin) has(e *entry, node grid.NodeName, second grid.Tick) bool {
	for _, p := range e.at {
		if p.Start <= second && second < p.End && slices.Contains(p.Nodes, node) {
			return true
		}
	}
	return false
}

// to lets time pass, a second at a time.
func (t *twin) to(now grid.Tick) {
	for ; t.now <= now; t.now += grid.Second {
		for id, e := range t.all {
			t.second(id, e)
		}
	}
	t.now = now
}

func (t *twin) second(id grid.ReservationID, e *entry) {
	over := func(s grid.ReservationState) {
		e.State, e.Ended = s, t.now
		if e.Holding != grid.NotPlaced {
			e.Holding = grid.Ending
		}
	}
	waits := e.State == grid.Confirmed || e.State == grid.Bound
	switch {
	case e.State.Over():
	case e.State != grid.Active && t.maintained(e):
		over(grid.ReservationLost)
	case e.State == grid.Tentative && (t.now == e.Until || t.now == e.End || tooLate(e, t.now)):
		over(grid.Expired)
	case t.now == e.End, waits && e.Until > 0 && t.now == e.Until, waits && tooLate(e, t.now):
		over(grid.Released)
	}
}

// tooLate: whoever has not come to it by now does not come in time.
func tooLate(e *entry, now grid.Tick) bool {
	return e.Grace > 0 && e.Came == 0 && e.Kind == grid.NodesReserved && now >= e.Start+e.Grace
}

func (t *twin) maintained(e *entry) bool {
	for _, w := range t.rules.Maintenance {
		for s := w.Start; s < w.End; s += grid.Second {
			for _, p := range e.at {
				in := p.Start <= s && s < p.End
				if in && (len(w.Nodes) == 0 || e.Kind == grid.NodesReserved && slices.ContainsFunc(p.Nodes, func(n grid.NodeName) bool { return slices.Contains(w.Nodes, n) })) {
					return true
				}
			}
		}
	}
	return false
}

// free tells whether there is room.
func (t *twin) free(e *entry) bool {
	if t.maintained(e) {
		return false
	}
	for s := e.Start; s < e.End; s += grid.Second {
		rate := e.Bandwidth
		for id, o := range t.all {
			if id == e.ID {
				continue
			}
			if e.Kind == grid.DeliveryReserved && o.Kind == e.Kind && !o.State.Over() && o.Start <= s && s < o.End {
				rate += o.Bandwidth
			}
			for _, n := range e.Nodes {
				if o.Kind == grid.NodesReserved && (!o.State.Over() || o.Holding != grid.NotPlaced) && t.has(o, n, s) {
					return false
				}
			}
		}
		if e.Kind == grid.DeliveryReserved && rate > t.rules.Uplink {
			return false
		}
	}
	return true
}

// within tells whether the quotas allow it.
func (t *twin) within(e *entry) bool {
	fits := func(q Quota, counts func(*entry) bool) bool {
		number, seconds := 0, int64(0)
		for s := grid.Tick(0); s < 400*grid.Second; s += grid.Second {
			for _, o := range t.all {
				if o.ID != e.ID && !o.State.Over() && counts(o) && o.Start <= s && s < o.End {
					seconds += int64(len(o.Nodes))
				}
			}
			if e.Start <= s && s < e.End {
				seconds += int64(len(e.Nodes))
			}
		}
		for _, o := range t.all {
			if o.ID != e.ID && !o.State.Over() && counts(o) {
				number++
			}
		}
		return number < q.Number && seconds <= q.NodeSeconds && e.End-t.now <= q.Horizon
	}
	switch {
	case e.Kind == grid.DeliveryReserved && e.Holder.Home == e.Site:
		return true
	case e.Kind == grid.DeliveryReserved:
		return fits(t.rules.Deliveries, func(o *entry) bool { return o.Kind == e.Kind && o.Holder.Home == e.Holder.Home })
	}
	return fits(t.rules.Member, func(o *entry) bool { return o.Kind == e.Kind && o.Holder.Home == e.Holder.Home }) &&
		fits(t.rules.User, func(o *entry) bool { return o.Kind == e.Kind && o.Holder == e.Holder })
}

func (t *twin) reserve(a Ask) bool {
	e := &entry{Reservation: grid.Reservation{
		ID: a.ID, Kind: a.Kind, Holder: a.Holder, For: a.For, Nodes: a.Place.Nodes, Start: a.Place.Start, End: a.Place.End,
		Bandwidth: a.Bandwidth, Grace: a.Grace, State: grid.Tentative, Until: t.now + min(a.Limit, t.rules.Limit), Holding: grid.Making,
	}, at: []grid.Place{a.Place}}
	if a.Kind == grid.DeliveryReserved {
		e.Holding = grid.NotPlaced
	}
	if t.all[a.ID] != nil || e.End <= t.now || tooLate(e, t.now) || !t.within(e) || !t.free(e) {
		return false
	}
	t.all[a.ID] = e
	return true
}
