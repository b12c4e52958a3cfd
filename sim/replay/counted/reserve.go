package counted

import (
	"gbroker/grid"
	"gbroker/plan"
)

// The pass of EASY with several reservations and of ConsRebuild: jobs are taken in order;
// each starts if it fits for its whole limit, else it gets one of the reservations, else
// it waits. Package plan has both by node, 33 to 75 times as slow in a replay: see the package comment.
//
// By definition all reservations are made anew in each pass. But where since the last
// pass every job that ended did so at its limit, no job overran it and nobody came into
// the queue before one that has a reservation, each would be placed again where it is:
//
//   - Those with reservations are the first of the queue. (In the last pass the others
//     came later in the order, or there were reservations left.) So what one of them is
//     placed beside is the running jobs and those before it in the queue,
//     which by induction stay where they are, or started there and have the same cores
//     for the same time.
//   - Whoever else started since came later in the order, and takes more away: no
//     earlier place can fit now that did not then. And it started beside this
//     reservation: so its place still fits.
//
// So the profile is kept, and a pass starts the reservations that are due, gives away
// those that are left, and looks who fits behind them.

// reserving tells whether a policy makes several reservations, anew in each pass.
func reserving(p plan.Policy) bool {
	return p.Kind == plan.ConsRebuild || p.Kind == plan.EASY && p.Reservations > 1
}

func (c *Scheduler) passReserving(now grid.Tick) {
	q := &c.queue
	if !c.kept || len(c.running) > 0 && c.running[0].Until <= now {
		c.believe(now)
	} else {
		c.profile.advance(now)
		if c.due <= now {
			c.due = c.startDue(now, (q.placed+blockSize-1)/blockSize)
		}
	}
	most := c.policy.Reservations
	if c.policy.Kind == plan.ConsRebuild {
		most = int(gone)
	}
	for ; c.reserved < most && q.placed < len(q.entries); q.placed++ {
		c.startOrReserve(now, q.placed)
	}
	if q.live == c.reserved || !c.ended && c.fresh == 0 {
		return
	}
	c.room = c.profile.room(now, c.room)
	if !c.ended && c.fresh == 1 {
		if e := &q.entries[c.latest]; c.room.fits(e.cores, now+e.limit) {
			c.startInRoom(now, c.latest)
		}
		return
	}
	for i := c.fitting(now, q.placed); i < len(q.entries); i = c.fitting(now, i+1) {
		c.startInRoom(now, i)
	}
}

// believe makes the profile what the running jobs are believed to leave; nobody has a
// reservation.
func (c *Scheduler) believe(now grid.Tick) {
	c.profile.reset(now, c.free)
	free := c.free
	points := c.profile.points
	for i := range c.running {
		free += c.running[i].Cores
		until := max(c.running[i].Until, now+1)
		if last := len(points) - 1; points[last].at == until {
			points[last].free = free
		} else {
			points = append(points, step{until, free})
		}
	}
	c.profile.points = points
	q := &c.queue
	for i := q.first; i < min(q.placed, len(q.entries)); i++ {
		q.entries[i].mark = unplaced
	}
	q.placed, c.reserved, c.due = q.first, 0, never
	c.kept, c.ended = true, true
}

// startOrReserve starts an entry if it fits, else gives it a reservation.
func (c *Scheduler) startOrReserve(now grid.Tick, i int) {
	e := &c.queue.entries[i]
	if e.cores == gone {
		return
	}
	at, k := c.profile.earliest(now, e.cores, e.limit)
	c.profile.take(k, at, e.cores, e.limit)
	if at == now {
		c.start(now, e)
		c.leave(i)
		return
	}
	c.mark(i, at)
	c.reserved++
}

// fitting is the first entry of the queue, from the i-th on, that fits into the room.
func (c *Scheduler) fitting(now grid.Tick, i int) int {
	q := &c.queue
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
func (c *Scheduler) startInRoom(now grid.Tick, i int) {
	e := c.queue.entries[i]
	c.room.take(e.cores, now+e.limit)
	c.profile.take(c.profile.first, now, e.cores, e.limit)
	c.start(now, &e)
	c.leave(i)
}
