package core

import (
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// pendingSlots is a home's question for slots, which waits for a snapshot.
type pendingSlots struct {
	from grid.PeerID
	at   grid.Tick
	asks wire.Slots
}

// maxSlotsAsked bounds the questions of one home that wait, of a whole cycle and its dry runs; the oldest is over.
const maxSlotsAsked = mostPlanned + 64

func (c *estimator) onSlots(from grid.PeerID, m wire.Slots) {
	c.slotsAsked = slices.DeleteFunc(c.slotsAsked, func(p pendingSlots) bool { return p.from == from && p.asks.Of == m.Of })
	n := 0
	for i := len(c.slotsAsked) - 1; i >= 0; i-- {
		if c.slotsAsked[i].from != from {
			continue
		}
		if n++; n >= maxSlotsAsked {
			c.slotsAsked = slices.Delete(c.slotsAsked, i, i+1)
		}
	}
	c.slotsAsked = append(c.slotsAsked, pendingSlots{from, c.now, m})
	c.look()
}

// answerSlots answers all questions for slots; without a snapshot why says so.
func (c *estimator) answerSlots(b *batch, o forecast, s plan.Snapshot, why *grid.Refusal) {
	asked := c.slotsAsked
	c.slotsAsked = nil
	for _, p := range asked {
		m := wire.SlotsReply{
			Of: p.asks.Of, Round: p.asks.Round, Site: c.brief(), Refusal: why, Estimate: grid.Estimate{Refusal: why},
			Slack: c.cfg.Slack, Clock: wire.Clocks{Asked: p.asks.Sent, Received: p.at, Answered: c.now},
		}
		if m.Refusal == nil {
			m.Refusal = c.unwelcome(p.asks.User.Home)
			m.Estimate.Refusal = m.Refusal
		}
		if m.Refusal == nil {
			c.offerSlots(&m, &p.asks, b, o, s)
		}
		c.send(p.from, m)
	}
}

// offerSlots has whole nodes that the job may use, from the safe plan: what runs may run to its limit.
func (c *estimator) offerSlots(m *wire.SlotsReply, q *wire.Slots, b *batch, o forecast, s plan.Snapshot) {
	asked := c.asked(wire.Question{Demand: q.Demand, Walltime: q.Walltime, Queue: q.Queue, Delivery: q.From}, s.At)
	m.Estimate = b.estimate(asked)
	if !c.cfg.Reserves {
		m.Refusal = &grid.Refusal{Kind: grid.Permanent, Reason: "its batch system makes no reservations"}
		return
	}
	asked.Limit += m.Slack
	asked.NotBefore = s.At // what comes too soon for the files of one may do for another
	to := s.At + q.To
	whole := o.safe.WholeNodes(asked, c.pricesFor(q.User), q.User, to, wire.MaxSlots, c.reservations.gridedBy(c.now, to))
	m.Slots, m.Refusal = c.reservations.free(whole.Slots, ""), whole.Refusal
	if q.Brief {
		m.Slots = nil
	}
}

// held are the reservations of a snapshot less those that the book has given up: the snapshot may be older, and the batch
// system may be about to end them.
func (c *reservations) held(list []plan.Reservation) []plan.Reservation {
	return slices.DeleteFunc(slices.Clone(list), func(r plan.Reservation) bool {
		b, known := c.book.Get(grid.ReservationID(r.ID))
		return known && b.State.Over()
	})
}
