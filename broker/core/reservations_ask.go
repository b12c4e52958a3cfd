package core

import (
	"cmp"
	"gbroker/grid"
	"gbroker/reserve"
	"gbroker/wire"
	"slices"
)

// What holders ask of the book, and are answered.

// reserve takes the wish for a reservation.
func (c *reservations) reserve(from grid.PeerID, m wire.Reserve) {
	_, known := c.book.Get(m.ID)
	switch {
	case m.Holder.Home != from:
		c.answer(from, wire.KindReserve, m.Sent, grid.Reservation{ID: m.ID}, &grid.Refusal{Kind: grid.Permanent, Reason: "its holder is not of the site that asks"})
	case m.What == grid.DeliveryReserved && from == c.cfg.Self:
		c.answer(from, wire.KindReserve, m.Sent, grid.Reservation{ID: m.ID}, &grid.Refusal{Kind: grid.Permanent, Reason: "a delivery is between two sites"})
	case c.draining && !known:
		c.answer(from, wire.KindReserve, m.Sent, grid.Reservation{ID: m.ID}, forNow(drained))
	case m.What == grid.NodesReserved && (len(m.Nodes) == 0 || c.pricesFor(m.Holder) != nil) && !known:
		mine := func(p pendingReserve) bool { return p.m.ID == m.ID && p.from == from }
		if !slices.ContainsFunc(c.pending, mine) && len(c.pending) < maxPendingReserves {
			c.pending = append(c.pending, pendingReserve{from, m})
		}
		c.estimator.look()
	default:
		c.ask(from, m, grid.Place{Nodes: m.Nodes, Start: m.From, End: m.From + m.Length}, quote{})
	}
}

// ask has the book decide on a place, at a rate. What is in it already is told as it is.
func (c *reservations) ask(from grid.PeerID, m wire.Reserve, at grid.Place, costs quote) {
	_, known := c.book.Get(m.ID)
	cores := 0
	for _, n := range at.Nodes {
		cores += c.nodes[n].Cores
	}
	if why := c.beyondShare(m.ID, m.Holder, at, cores); why != nil && !known {
		c.answer(from, wire.KindReserve, m.Sent, grid.Reservation{ID: m.ID}, why)
		return
	}
	r, why := c.book.Reserve(c.now, c.cfg.Self, reserve.Ask{
		ID: m.ID, Holder: m.Holder, For: m.For, Kind: m.What, Place: at, Cores: cores, Bandwidth: m.Bandwidth, Limit: m.Limit, Grace: m.Grace, Early: m.Early, Price: costs.rate,
	})
	if why == nil && r.Holding == grid.Making {
		w := c.work(m.ID)
		if w.wants = &m; !known {
			w.gives = costs.gives
		}
	} else {
		c.answer(from, wire.KindReserve, m.Sent, r, why)
	}
	c.settle()
}

// answer tells the holder what a reservation is now; that is word of it too.
func (c *reservations) answer(to grid.PeerID, of wire.Kind, sent grid.Tick, r grid.Reservation, why *grid.Refusal) {
	if r.Start == 0 { // it was given up, and never was
		r = grid.Reservation{ID: r.ID}
	}
	if w := c.at[r.ID]; w != nil && r.Seq > 0 {
		w.seq, w.word = r.Seq, c.now+c.cfg.Retry
	}
	if _, known := c.book.Get(r.ID); !known {
		delete(c.at, r.ID) // it was refused: nothing is kept of it
	}
	c.send(to, wire.Reserved{Of: of, Reservation: r.AsPlaced(), Refusal: why, Slack: c.cfg.Slack, Sent: sent, Clock: c.now})
}

func (c *reservations) confirm(from grid.PeerID, m wire.Confirm) {
	r, why := c.book.Confirm(c.now, m.ID, from, m.Lease)
	c.answer(from, wire.KindConfirm, m.Sent, r, why)
	c.settle()
}

func (c *reservations) release(from grid.PeerID, m wire.Release) {
	r := c.book.Release(c.now, m.ID, from, cmp.Or(m.Why, "given up"))
	c.answer(from, wire.KindRelease, 0, r, nil)
	c.settle()
}

func (c *reservations) acknowledged(from grid.PeerID, m wire.ReservationAck) {
	c.book.Acknowledged(m.ID, from, m.Seq)
	c.settle()
}

// recounted: the journal of a holder was rolled back. He is told again of all that he has, or had, here.
func (c *reservations) recounted(from grid.PeerID, _ wire.Recount) {
	c.book.Unheard(from)
	c.settle()
}
