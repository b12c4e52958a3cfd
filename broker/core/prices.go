package core

import (
	"fmt"
	"slices"
	"strconv"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// Prices of this site. They are rates, per core and hour, as fees are; those who pay are the users of other sites. What is
// reserved keeps the rate at which it was. The rate of whole nodes follows the local jobs that would run there, so that it
// takes a look at the batch system.

// PricesChanged are the prices as they now are; nil is none.
type PricesChanged struct{ Prices *plan.Pricing }

func (PricesChanged) event() {}

// Displace tells of local jobs that give way to a reservation, which is confirmed.
type Displace struct {
	Reservation grid.Reservation
	Jobs        []plan.Displaced
}

func (Displace) effect() {}

// pricesFor are those for a user; nil where he pays nothing.
func (k *kernel) pricesFor(u grid.User) *plan.Pricing {
	if u.Home == k.cfg.Self {
		return nil
	}
	return k.cfg.Prices
}

// rateOf is what a user pays at an instant for what displaces nobody.
func (k *kernel) rateOf(u grid.User, at grid.Tick) float64 { return k.pricesFor(u).Rate(at, u) }

// pricesChanged counts for what is asked and reserved from now on.
func (c *reservations) pricesChanged(e PricesChanged) { c.cfg.Prices = e.Prices }

// quote is what a place costs: money, and local jobs their place.
type quote struct {
	rate  float64
	gives []plan.Displaced
}

// price is what a place costs the one who asks, or that he pays less.
func (c *reservations) price(m *wire.Reserve, at grid.Place) (q quote, why *grid.Refusal) {
	p := c.estimator.safe()
	if p == nil {
		return quote{}, nil
	}
	q.rate, q.gives = p.Price(at.Nodes, at.Start, at.End, c.pricesFor(m.Holder), m.Holder)
	if m.Fee > 0 && q.rate > m.Fee {
		return quote{}, dearer(m.Fee, q.rate)
	}
	return q, nil
}

// dearer is the refusal of what costs more than is paid.
func dearer(fee, rate float64) *grid.Refusal {
	text := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return &grid.Refusal{Kind: grid.Temporary, Reason: tooDear, Asked: text(fee), Available: text(rate)}
}

// grided is how many cores the users of other sites have reserved here, at most at any time of an interval.
func (c *reservations) grided(from, to grid.Tick) int { return c.book.Away("", from, to) }

// gridedBy is that over an interval, from each instant at which it changes.
func (c *reservations) gridedBy(from, to grid.Tick) []plan.Grided {
	at := []grid.Tick{from}
	for _, r := range c.book.All() {
		for _, t := range []grid.Tick{r.Start, r.End} {
			if r.Live() && from < t && t < to {
				at = append(at, t)
			}
		}
	}
	slices.Sort(at)
	var list []plan.Grided
	for _, t := range slices.Compact(at) {
		list = append(list, plan.Grided{From: t, Cores: c.grided(t, t+1)})
	}
	return list
}

// beyondShare tells that the users of other sites would have more than the operator leaves them, with that of a reservation.
func (c *reservations) beyondShare(id grid.ReservationID, holder grid.User, at grid.Place, cores int) *grid.Refusal {
	prices := c.pricesFor(holder)
	if prices == nil || prices.Share == 0 {
		return nil
	}
	all := 0
	for _, n := range c.nodes {
		all += n.Cores
	}
	most, has := int(prices.Share*float64(all)), c.book.Away(id, at.Start, at.End)
	if has+cores <= most {
		return nil
	}
	return &grid.Refusal{
		Kind: grid.Temporary, Reason: "the grid has its share of this site", Again: at.End - at.Start,
		Asked: fmt.Sprint(cores, " cores"), Available: fmt.Sprint(max(0, most-has), " cores"),
	}
}

// displaces tells of those who give way to a reservation.
func (c *reservations) displaces(r *grid.Reservation, w *bookWork) {
	if len(w.gives) > 0 {
		c.emit(Displace{*r, w.gives})
	}
	w.gives = nil
}
