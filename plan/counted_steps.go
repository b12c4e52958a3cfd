package plan

import "gbroker/grid"

// The pass on the steps is that of EASY with several reservations, of ConsRebuild,
// and, where a hold lies ahead, of all policies but ConsCompress: jobs are taken in
// order; each starts if it fits for its whole limit, else it gets one of the
// reservations, else it waits.
//
// By definition all reservations are made anew in each pass. But where since the last
// pass every job that ended did so at its limit, no job overran it, no hold changed
// and nobody came into the queue before one that has a reservation, each would be
// placed again where it is:
//
//   - Those with reservations are the first of the queue. (In the last pass the others
//     came later in the order, or there were reservations left.) So what one of them is
//     placed beside is the running jobs, the holds and those before it in the queue,
//     which by induction stay where they are, or started there and have the same cores
//     for the same time.
//   - Whoever else started since came later in the order, and takes more away: no
//     earlier place can fit now that did not then. And it started beside this
//     reservation: so its place still fits.
//
// So the steps are kept, and a pass starts the reservations that are due, gives away
// those that are left, and looks who fits behind them.

// onSteps tells whether the passes go on the steps; those of ConsCompress do always,
// in their own way.
func (c *Counted) onSteps() bool {
	switch c.policy.Kind {
	case ConsRebuild:
		return true
	case EASY:
		return c.policy.reservations() > 1 || c.holds.ahead > 0
	}
	return c.holds.ahead > 0
}

// reservations is how many there are at most.
func (c *Counted) reservations() int {
	switch c.policy.Kind {
	case FirstFit:
		return 0
	case EASY:
		return c.policy.reservations()
	case ConsRebuild:
		return int(gone)
	}
	return 1 // FCFS: the head's, so that it is not tried again and again
}

func (c *Counted) passOnSteps(now grid.Tick) {
	c.shadow = -never // what the fast passes know is of the past
	q := &c.queue
	if !c.kept || len(c.held) > 0 && c.held[0].Until <= now {
		c.believe(now)
	} else {
		c.steps.advance(now)
		if c.due <= now {
			c.due = c.startDue(now, (q.placed+blockSize-1)/blockSize)
		}
	}
	for most := c.reservations(); c.reserved < most && q.placed < len(q.entries); q.placed++ {
		c.startOrReserve(now, q.placed)
	}
	if c.policy.Kind == FCFS || q.live == c.reserved || !c.ended && c.fresh == 0 {
		return
	}
	c.room = c.steps.room(now, c.room)
	switch {
	case c.policy.Kind == FirstFit && c.policy.Overtakes > 0:
		c.firstFitBarrier(now)
	case !c.ended && c.fresh == 1:
		if e := &q.entries[c.latest]; c.room.fits(e.cores, now+e.limit) {
			c.startInRoom(now, c.latest)
		}
	case c.policy.Kind == EASYSJBF:
		c.sortByLimit()
		for i := c.fitting(now, &c.shortest, 0); i < len(c.shortest.entries); i = c.fitting(now, &c.shortest, i+1) {
			c.startInRoom(now, c.inQueue(&c.shortest.entries[i]))
		}
	default:
		for i := c.fitting(now, q, q.placed); i < len(q.entries); i = c.fitting(now, q, i+1) {
			c.startInRoom(now, i)
		}
	}
}

// believe makes the steps what the running jobs are believed to leave, and the holds;
// nobody has a reservation.
func (c *Counted) believe(now grid.Tick) {
	c.steps.reset(now, c.free)
	free := c.free
	points := c.steps.points
	for i := range c.held {
		free += c.held[i].Cores
		until := max(c.held[i].Until, now+1)
		if last := len(points) - 1; points[last].at == until {
			points[last].free = free
		} else {
			points = append(points, step{until, free})
		}
	}
	c.steps.points = points
	for _, h := range c.holds.known {
		if !h.began {
			c.give(h.Hold, -h.Cores)
		}
	}
	q := &c.queue
	if c.policy.Kind != FirstFit {
		for i := q.first; i < min(q.placed, len(q.entries)); i++ {
			q.entries[i].mark = unplaced
		}
	}
	q.placed, c.reserved, c.due = q.first, 0, never
	c.kept, c.ended = true, true
}

// startOrReserve starts an entry if it fits, else gives it a reservation.
func (c *Counted) startOrReserve(now grid.Tick, i int) {
	e := &c.queue.entries[i]
	if e.cores == gone {
		return
	}
	at, k := c.steps.earliest(now, e.cores, e.limit)
	c.steps.take(k, at, e.cores, e.limit)
	if at == now {
		c.start(now, e)
		c.leave(i)
		return
	}
	c.mark(i, at)
	c.reserved++
}

// fitting is the first entry of a queue, from the i-th on, that fits into the room.
func (c *Counted) fitting(now grid.Tick, q *queue, i int) int {
	many, few, limit := c.room.outline(now)
	for i < len(q.entries) {
		n := i / blockSize
		end := min((n+1)*blockSize, len(q.entries))
		if b := &q.blocks[n]; !c.room.fits(b.cores, now+b.limit) {
			i = end
			continue
		}
		for i = q.within(i, end, many, few, limit); i < end; i = q.within(i+1, end, many, few, limit) {
			if e := &q.entries[i]; c.room.fits(e.cores, now+e.limit) {
				return i
			}
		}
		if q.blocks[n].stale {
			q.refresh(n)
		}
	}
	return i
}

// startInRoom starts the i-th of the queue.
func (c *Counted) startInRoom(now grid.Tick, i int) {
	e := c.queue.entries[i]
	c.room.take(e.cores, now+e.limit)
	c.steps.take(c.steps.first, now, e.cores, e.limit)
	c.start(now, &e)
	c.leave(i)
}
