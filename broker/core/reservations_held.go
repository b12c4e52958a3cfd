package core

import (
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/wire"
)

// What the batch system says of reservations: that one is made or ended, and which it has.

// made is the batch system's word on what it was asked for.
func (c *reservations) made(e Reserved) {
	w := c.work(e.ID)
	w.asked = max(0, w.asked-1)
	var why *grid.Refusal
	if e.Err != nil {
		why = &grid.Refusal{Kind: e.Kind, Reason: clip(e.Err.Error())}
	}
	if c.later(w, why != nil && why.MayPass()) {
		c.note("", "", "reservation "+string(e.ID)+" is not made yet: "+e.Err.Error())
	}
	c.book.Made(c.now, e.ID, e.Place, why)
	r, known := c.book.Get(e.ID)
	if m := w.wants; known && m != nil && r.Holding != grid.Making {
		w.wants = nil
		if r.State.Over() {
			why = &grid.Refusal{Kind: grid.Temporary, Reason: clip(r.Reason)}
		}
		c.answer(r.Holder.Home, wire.KindReserve, m.Sent, r, why)
	}
	if known {
		c.changed(&r, w, why)
	}
	c.settle()
}

// later puts off what is to be tried again.
func (c *reservations) later(w *bookWork, failed bool) bool {
	if !failed {
		w.again, w.tries = 0, 0
		return false
	}
	w.again = c.now + max(1, min(c.cfg.Retry<<min(w.tries, 20), endAtMost))
	w.tries++
	return true
}

// endAtMost is the longest pause between two tries: what is past its limit is gone soon after.
const endAtMost = 5 * grid.Second

// ended is the batch system's word that it holds a reservation no more.
func (c *reservations) ended(e Unreserved) {
	w := c.work(e.ID)
	w.asked = max(0, w.asked-1)
	if c.later(w, e.Err != nil) {
		c.note("", "", "reservation "+string(e.ID)+" is not ended yet: "+e.Err.Error())
	} else {
		c.book.Ended(e.ID)
	}
	if _, known := c.book.Get(e.ID); !known && w.asked == 0 {
		delete(c.at, e.ID)
	}
	c.settle()
}

// entered tells of others' jobs that name a reservation: when they are others than was told, and once in each life.
func (c *reservations) entered(all []HeldReservation) {
	for _, h := range all {
		r, known := c.book.Get(h.ID)
		if !known || len(h.Others) == 0 {
			continue
		}
		w, now := c.work(h.ID), guests{r.State, slices.Sorted(slices.Values(h.Others))}
		if w.guests.are(now) {
			continue
		}
		why := clip("another local job names it, and can take its nodes: " + strings.Join(now.jobs, ", "))
		if c.book.Entered(h.ID, why) {
			w.guests = now
			c.note(r.For, r.Holder.Home, "reservation "+string(h.ID)+": "+why)
		}
	}
}

// compare takes the list of the batch system. What was asked for before it was made has been answered.
func (c *reservations) compare(e ReservationsListed) {
	c.listing, c.unsure = false, true
	if e.Err != nil {
		c.note("", "", "the reservations of the batch system are not known: "+e.Err.Error())
		c.listed = c.now - listEvery + endAtMost
		c.settle()
		return
	}
	c.listed = c.now
	has, down := map[grid.ReservationID]grid.Place{}, map[grid.ReservationID]string{}
	for _, h := range e.All {
		has[h.ID] = h.Place
		if len(h.Down) > 0 {
			down[h.ID] = string(h.Down[0])
		}
	}
	hold := c.gates.beforeLosing()
	underWay := func(id grid.ReservationID) bool {
		w := c.at[id]
		at, there := has[id]
		return w != nil && (w.asked > 0 || w.recovered && hold != open && there && c.book.Elsewhere(c.now, id, at))
	}
	for id, at := range has {
		if w := c.at[id]; c.behind && w != nil && w.recovered && w.asked == 0 {
			c.book.Found(c.now, id, at)
		}
	}
	if c.behind {
		c.book.Retell(c.branchReport(0))
	}
	c.behind = false
	strays := c.book.Listed(c.now, has, down, underWay)
	c.unsure = len(strays) > 0
	for _, id := range strays {
		if c.gates.beforeStrays() == open {
			c.note("", "", "reservation "+string(id)+" is in no book: it is ended")
			c.work(id).asked++
			c.emit(Unreserve{id})
		}
	}
	c.entered(e.All)
	c.settle()
}
