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
		if r := c.all[id]; r.Site == from && r.State != grid.Tentative && !r.State.Over() && c.asks[id] == nil {
			c.askFor(id, &holdingAsk{to: from, m: wire.Confirm{ID: id, Sent: c.now}, check: true})
		}
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
	if r := c.all[id]; r != nil && !r.State.Over() {
		r.State, r.Reason, r.Ended = grid.Released, why, c.now
		saved := *r
		c.emit(Save{grid.Saved(&saved)})
	}
}
