package core

import (
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/wire"
)

// What is held at a site whose journal was put back may have been made in the part that is lost: the site has no record of it, nor of whom to
// tell when it ends what its batch system has of it. So its holder asks. To confirm once more what is confirmed changes nothing.

// recounted: the journal of a site was rolled back, as it says until it has heard all.
func (c *holdings) recounted(from grid.PeerID, _ wire.Recount) {
	for _, id := range slices.Sorted(maps.Keys(c.all)) {
		if r := c.all[id]; r.Site == from && r.State != grid.Tentative && !r.State.Over() {
			c.holdOn(id, from)
		}
	}
}

// holdOn has a site confirm once more what it may have lost, unless it is being asked for something.
func (c *holdings) holdOn(id grid.ReservationID, site grid.PeerID) {
	if c.asks[id] == nil {
		c.askFor(id, &holdingAsk{to: site, m: wire.Confirm{ID: id, Sent: c.now}, check: true})
	}
}

// isAsked tells that a user waits for a site's word on a reservation.
func (c *holdings) isAsked(id grid.ReservationID) bool {
	a := c.asks[id]
	return a != nil && !a.check
}

// giveUp: what no user was told of is not his. What its site still says of it is answered so, should this word be lost.
func (c *holdings) giveUp(site grid.PeerID, id grid.ReservationID, why string) {
	c.send(site, wire.Release{ID: id, Why: why})
	if r := c.all[id]; r != nil {
		c.over(r, why)
	}
}

// over: this broker waits for a reservation no longer.
func (c *holdings) over(r *grid.Reservation, why string) {
	if r.State.Over() || r.State.Become(grid.Released, grid.TheHolder) != nil {
		return
	}
	r.Reason, r.Ended = why, c.now
	saved := *r
	c.emit(Save{grid.Saved(&saved)})
}
