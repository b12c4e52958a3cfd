package core

import (
	"cmp"
	"fmt"

	"gbroker/grid"
	"gbroker/wire"
)

// ChangeRequest gives a reservation another place, already authorised. What is 0 stays as it is: a start alone moves it, a length alone
// makes it shorter or longer.
type ChangeRequest struct {
	Token  Token
	ID     grid.ReservationID
	Start  grid.Tick
	Length grid.Tick
	Nodes  int
}

func (ChangeRequest) event()         {}
func (e ChangeRequest) token() Token { return e.Token }

// find is a reservation that is held from here, and its site.
func (c *holdings) find(id grid.ReservationID) (r grid.Reservation, site grid.PeerID, known bool) {
	if is := c.all[id]; is != nil {
		return *is, is.Site, true
	}
	r, known = c.reservations.get(id)
	return r, c.cfg.Self, known && r.Holder.Home == c.cfg.Self
}

// change asks the site of a reservation for another place. One that is refused stays as it is. One of which nothing is heard in time
// may be changed all the same: its site sends word of it. A site of the version before takes For and Details for what there is
// to be.
func (c *holdings) change(e ChangeRequest) {
	r, site, known := c.find(e.ID)
	switch {
	case !known:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: reservation %s", grid.ErrNotFound, e.ID)})
	case r.State.Over():
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: reservation %s is %v%s", grid.ErrInvalid, e.ID, r.State, because(r.Reason))})
	case c.wholes.holds(site, e.ID):
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: reservation %s is of a part of a job over several sites, which has them all alike", grid.ErrInvalid, e.ID)})
	case r.Kind == grid.DeliveryReserved && e.Nodes > 0:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: reservation %s is of bandwidth, and has no nodes", grid.ErrInvalid, e.ID)})
	case c.isAsked(e.ID) || len(c.asks) >= maxHoldingAsks:
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: reservation %s is being asked for", grid.ErrNotYet, e.ID)})
	default:
		m := wire.Change{
			ID: e.ID, Number: r.Number + 1, For: r.For, Details: r.Details, Start: cmp.Or(e.Start, r.Start), Sent: c.now, Move: true, Count: e.Nodes,
		}
		m.End = m.Start + cmp.Or(e.Length, r.End-r.Start)
		c.askFor(e.ID, &holdingAsk{token: e.Token, to: site, m: m})
	}
}

// changed is what there is to tell of a change that was answered.
func (c *holdings) changed(a *holdingAsk, from grid.PeerID, m wire.Reserved) Answer {
	r, wish := m.Reservation, a.m.(wire.Change)
	r.Site = from
	switch {
	case m.Refusal != nil:
		return Answer{Err: c.refusedBy(from, m.Refusal)}
	case r.State.Over():
		return Answer{Err: fmt.Errorf("%w: it is %v%s", grid.ErrNotYet, r.State, because(r.Reason))}
	case r.Start != wish.Start || r.End != wish.End || wish.Count > 0 && len(r.Nodes) != wish.Count:
		return Answer{Err: fmt.Errorf("%w: %s has changed it otherwise meanwhile: see what it is now, and ask again", grid.ErrNotYet, c.nameOf(from))}
	}
	return Answer{Reservation: r, Slack: m.Slack}
}
