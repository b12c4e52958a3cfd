package plan

import "gbroker/grid"

// reserveInOrder is the pass of EASY with several reservations and of ConsRebuild:
// jobs are taken in order; each starts if it fits for its whole limit, else it gets
// one of the reservations, else it waits.
func (c *Counted) reserveInOrder(now grid.Tick, reservations int) {
	c.believe(now)
	kept := 0
	for i := range c.queue {
		e := c.queue[i]
		if e.cores <= c.free || reservations > 0 {
			at, k := c.steps.earliest(now, e.cores, e.limit)
			if at == now {
				c.steps.take(k, at, e.cores, e.limit)
				c.start(now, &e)
				continue
			}
			if reservations > 0 {
				reservations--
				c.steps.take(k, at, e.cores, e.limit)
			}
		}
		c.queue[kept] = e
		kept++
	}
	c.queue = c.queue[:kept]
}

// believe makes the steps what the running jobs are believed to leave.
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
}

// compress is the pass of ConsCompress.
func (c *Counted) compress(now grid.Tick) {
	c.steps.advance(now)
	if c.ended && c.freed > now {
		since := c.freed
		c.freed = 0
		for i := range c.queue {
			c.moveEarlier(now, max(since, c.freed), &c.queue[i])
		}
	}
	for i := 0; c.fresh > 0; i++ {
		if e := &c.queue[i]; e.mark == unplaced {
			c.fresh--
			at, k := c.steps.earliest(now, e.cores, e.limit)
			c.mark(e, at)
			c.steps.take(k, at, e.cores, e.limit)
		}
	}
	if c.wake <= now {
		c.startReserved(now)
	}
}

// mark gives an entry its reserved start. An earlier one may come, no later one.
func (c *Counted) mark(e *entry, at grid.Tick) {
	e.mark = int64(at)
	c.wake = min(c.wake, at)
}

// startReserved starts every job whose reservation is now.
func (c *Counted) startReserved(now grid.Tick) {
	kept := 0
	c.wake = never
	for i := range c.queue {
		e := &c.queue[i]
		if grid.Tick(e.mark) <= now {
			c.start(now, e)
			continue
		}
		c.wake = min(c.wake, grid.Tick(e.mark))
		if kept != i {
			c.queue[kept] = *e
		}
		kept++
	}
	c.queue = c.queue[:kept]
}

// moveEarlier is to take a reservation out and to place it again. Nothing needs to
// be taken out for that: at an earlier place that reaches into the reservation's
// own time the job has there what it needs. It begins before freed, the end of what
// became free since the job was last placed: later places fit no better than then.
func (c *Counted) moveEarlier(now, freed grid.Tick, e *entry) {
	had := grid.Tick(e.mark)
	if e.mark == unplaced || had <= now {
		return
	}
	if at, k, ok := c.steps.before(now, e.cores, e.limit, had, freed); ok {
		c.steps.move(k, at, had, e.cores, e.limit)
		c.mark(e, at)
		c.freed = max(c.freed, had+e.limit)
	}
}
