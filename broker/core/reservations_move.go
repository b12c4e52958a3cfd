package core

import (
	"cmp"
	"slices"
	"strconv"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/reserve"
	"gbroker/wire"
)

// Reservations that change: moved, shorter, longer, with more nodes or fewer.
//
//	Change ─► nodes and rate, where they are to be found ─► book: Changing ─► the batch system ─► read back ─► Reserved to the holder
//	             └► refused: Reserved with why, and all is as it was ◄────────────┘
//
// The holder hears what it is now, when the batch system has it; until then it says the same again, and hears why it is not yet so.

// pendingChange asks for another place, whose nodes or rate are to be found.
type pendingChange struct {
	from grid.PeerID
	m    wire.Change
}

// change takes the wish for another place, job or details.
func (c *reservations) change(from grid.PeerID, m wire.Change) {
	r, known := c.book.Get(m.ID)
	mine := known && r.Holder.Home == from && !r.State.Over()
	switch {
	case mine && m.Number == r.Number && r.Holding == grid.Changing:
		c.work(m.ID).changes = &m
	case mine && m.Number > r.Number && r.Kind == grid.NodesReserved && r.Holding == grid.Placed && (m.Count > 0 && m.Count != len(r.Nodes) || c.pricesFor(r.Holder) != nil):
		said := func(p pendingChange) bool { return p.m.ID == m.ID && p.from == from }
		c.moving = slices.DeleteFunc(c.moving, said)
		if len(c.moving) < maxPendingReserves {
			c.moving = append(c.moving, pendingChange{from, m})
		}
		c.estimator.look()
	default:
		c.changeTo(from, m, quote{rate: r.Price})
	}
}

// lookedToMove goes on with what waits for a look at the batch system.
func (c *reservations) lookedToMove(e Looked) {
	moving := c.moving
	c.moving = nil
	for _, p := range moving {
		r, known := c.book.Get(p.m.ID)
		if !known {
			c.answer(p.from, wire.KindChange, p.m.Sent, grid.Reservation{ID: p.m.ID}, forNow("it is gone"))
			continue
		}
		nodes, costs, why := p.m.Nodes, quote{}, forNow(noLook)
		if e.Err == nil {
			nodes, costs, why = c.placeFor(e.Snapshot, &r, p.m)
		}
		if why != nil {
			c.answer(p.from, wire.KindChange, p.m.Sent, r, why)
			continue
		}
		p.m.Nodes, p.m.Count = nodes, 0
		c.changeTo(p.from, p.m, costs)
	}
}

// placeFor are the nodes for another place of a reservation, and what it costs.
func (c *reservations) placeFor(s plan.Snapshot, r *grid.Reservation, m wire.Change) (nodes []grid.NodeName, costs quote, why *grid.Refusal) {
	if nodes = m.Nodes; len(nodes) == 0 {
		nodes = r.Nodes
	}
	if m.Count > 0 && m.Count != len(r.Nodes) {
		if nodes, why = c.nodesFor(s, r, m); why != nil {
			return nil, costs, why
		}
	}
	at := grid.Place{Nodes: nodes, Start: m.Start, End: m.End}
	costs, why = c.price(&wire.Reserve{ID: r.ID, Holder: r.Holder}, at)
	return nodes, costs, why
}

// nodesFor are so many nodes that are free all the time: those that it has first, then others of at least as many cores.
func (c *reservations) nodesFor(s plan.Snapshot, r *grid.Reservation, m wire.Change) ([]grid.NodeName, *grid.Refusal) {
	least := 0
	for i, n := range r.Nodes {
		if cores := c.nodes[n].Cores; i == 0 || cores < least {
			least = cores
		}
	}
	from := max(m.Start, s.At)
	s.Shapes = plan.Shapes{} // those of jobs: see find
	s.Reservations = slices.DeleteFunc(slices.Clone(s.Reservations), func(h plan.Reservation) bool { return h.ID == string(r.ID) })
	whole := map[grid.NodeName]grid.Tick{} // how long a node is free, all of it
	for _, slot := range c.free(plan.Build(s).Slots(nil, r.Holder, from, m.End), r.ID) {
		if slot.Cores == c.nodes[slot.Node].Cores && slot.Cores >= least {
			whole[slot.Node] += slot.End - slot.Start
		}
	}
	var list []grid.NodeName
	for n, span := range whole {
		if span == m.End-from {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b grid.NodeName) int {
		has := func(n grid.NodeName) int {
			if slices.Contains(r.Nodes, n) {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(has(a), has(b)), cmp.Compare(c.nodes[a].Cores, c.nodes[b].Cores), cmp.Compare(a, b))
	})
	if len(list) < m.Count {
		return nil, &grid.Refusal{
			Kind: grid.Temporary, Reason: "so many nodes are not free for all of that time", Asked: strconv.Itoa(m.Count), Available: strconv.Itoa(len(list)),
		}
	}
	list = list[:m.Count]
	slices.Sort(list)
	return list, nil
}

// changeTo has the book decide, and the batch system do it.
func (c *reservations) changeTo(from grid.PeerID, m wire.Change, costs quote) {
	r, why := c.changedBy(from, m, costs.rate)
	if why == nil && r.Holding == grid.Changing {
		w := c.work(m.ID)
		w.changes, w.gives = &m, costs.gives
	} else {
		c.answer(from, wire.KindChange, m.Sent, r, why)
	}
	c.settle()
}

func (c *reservations) changedBy(from grid.PeerID, m wire.Change, rate float64) (grid.Reservation, *grid.Refusal) {
	w := reserve.Wish{
		Number: m.Number, For: m.For, Place: grid.Place{Nodes: m.Nodes, Start: m.Start, End: m.End}, Price: rate, Details: m.Details, Move: m.Move,
	}
	for _, n := range m.Nodes {
		w.Cores += c.nodes[n].Cores
	}
	r, known := c.book.Get(m.ID)
	if known && r.Holder.Home == from && m.Number > r.Number {
		at, cores := w.Place, w.Cores
		if len(at.Nodes) == 0 || slices.Equal(at.Nodes, r.Nodes) {
			at.Nodes, cores, w.Cores = r.Nodes, r.Cores, r.Cores
		}
		if why := c.beyondShare(m.ID, r.Holder, at, cores); why != nil {
			return r, why
		}
		if j := c.job(r.For); r.For != "" && j != nil && (m.Move || m.For == r.For) {
			to := r
			to.Start, to.End = m.Start, m.End
			if why := c.tooSmall(&to, c.limitOf(&j.rec.Job)+j.rec.Job.Part.AtBarrier(), nil); why != nil {
				return r, why
			}
		}
	}
	return c.book.Change(c.now, m.ID, from, w)
}

// changed answers who waits for a change, when the batch system has done it, or will not.
func (c *reservations) changed(r *grid.Reservation, w *bookWork, why *grid.Refusal) {
	m := w.changes
	if m == nil || r.Holding == grid.Changing && why == nil {
		return
	}
	if r.Holding != grid.Changing {
		w.changes = nil
	}
	if why == nil {
		c.displaces(r, w)
	}
	c.answer(r.Holder.Home, wire.KindChange, m.Sent, *r, why)
}
