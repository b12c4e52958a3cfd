package core

import (
	"fmt"
	"maps"

	"gbroker/grid"
	"gbroker/reserve"
)

// Deliveries that are reserved are in the book alone: no batch system holds them. While one is on, the streams of files with
// its peer have its rate, and all others share the rest of the uplink (package overlay keeps them to it).

// Uplink tells what of the uplink is reserved now, by peer in bytes per second, and what all others share; none reserved is no
// limit for anybody.
type Uplink struct {
	Reserved map[grid.PeerID]int64
	Rest     int64
}

func (Uplink) effect() {}

// leastRest is what others share however much is reserved.
const leastRest = 64 << 10

// shareUplink tells of what is reserved now, if that is not what was told.
func (c *reservations) shareUplink() {
	is := map[grid.PeerID]int64{}
	sum := int64(0)
	for _, r := range c.book.All() {
		if r.Kind == grid.DeliveryReserved && r.Live() && r.State != grid.Tentative && r.Start <= c.now && c.now < r.End {
			is[r.Peer] += r.Bandwidth
			sum += r.Bandwidth
		}
	}
	rest := int64(0)
	if len(is) > 0 {
		rest = max(c.book.Rules().Uplink-sum, leastRest)
	}
	if c.uplinkTold && rest == c.uplinkRest && maps.Equal(is, c.uplink) {
		return
	}
	c.uplink, c.uplinkRest, c.uplinkTold = is, rest, true
	c.emit(Uplink{maps.Clone(is), rest})
}

// delivers reserves a rate to a peer from now until then, for the inputs of a part of a user here; nil where the operator
// leaves nothing of the uplink to reserve.
func (c *reservations) delivers(part grid.JobID, user grid.User, to grid.PeerID, bytes int64, until grid.Tick) *grid.Refusal {
	from, until := c.now/grid.Second*grid.Second, until/grid.Second*grid.Second
	if c.book.Rules().Uplink == 0 || bytes == 0 || to == c.cfg.Self {
		return nil
	}
	if until <= c.now {
		return forNow("its files cannot be there in time")
	}
	rate := int64(float64(bytes)/(until-c.now).Seconds()) + 1
	id := deliveryOf(part)
	r, why := c.book.Reserve(c.now, c.cfg.Self, reserve.Ask{
		ID: id, Holder: user, Kind: grid.DeliveryReserved, Place: grid.Place{Start: from, End: until}, Bandwidth: rate, Peer: to,
	})
	if why == nil {
		_, why = c.book.Confirm(c.now, r.ID, c.cfg.Self, 0)
	}
	if why != nil {
		why.Reason = fmt.Sprintf("the delivery to %s: %s", c.nameOf(to), why.Reason)
	}
	c.settle()
	return why
}

// delivered gives up what is left of that.
func (c *reservations) delivered(part grid.JobID) {
	if _, known := c.book.Get(deliveryOf(part)); known {
		c.book.Release(c.now, deliveryOf(part), c.cfg.Self, "its files need it no more")
		c.settle()
	}
}

func deliveryOf(part grid.JobID) grid.ReservationID { return grid.ReservationFor(part+" inputs", 0) }
