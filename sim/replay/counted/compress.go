package counted

import (
	"gbroker/grid"
)

// compress is the pass of ConsCompress. Package plan has it by node, 15 times as slow: see the package comment.
func (c *Scheduler) compress(now grid.Tick) {
	c.profile.advance(now)
	q := &c.queue
	if c.ended && c.freed > now {
		since := c.freed
		c.freed = 0
		for i := q.first; i < len(q.entries); i++ {
			c.moveEarlier(now, max(since, c.freed), i)
		}
	}
	if c.fresh == 1 {
		c.fresh = 0
		c.place(now, c.latest)
	}
	for i := q.first; c.fresh > 0; i++ {
		if e := &q.entries[i]; e.mark == unplaced && e.cores != gone {
			c.fresh--
			c.place(now, i)
		}
	}
	if c.due <= now {
		c.due = c.startDue(now, len(q.blocks))
	}
}

// place gives an entry the earliest reservation.
func (c *Scheduler) place(now grid.Tick, i int) {
	e := &c.queue.entries[i]
	at, k := c.profile.earliest(now, e.cores, e.limit)
	c.mark(i, at)
	c.profile.take(k, at, e.cores, e.limit)
}

// mark gives an entry its reserved start.
func (c *Scheduler) mark(i int, at grid.Tick) {
	c.queue.setMark(i, int64(at))
	c.due = min(c.due, at)
}

// startDue starts every job whose reservation is now, of so many blocks, and returns
// the first reserved start of those that are left there.
func (c *Scheduler) startDue(now grid.Tick, blocks int) grid.Tick {
	q := &c.queue
	next := int64(never)
	for n := q.first / blockSize; n < blocks; n++ {
		if q.blocks[n].mark <= int64(now) {
			left := unplaced
			for i := n * blockSize; i < min((n+1)*blockSize, len(q.entries)); i++ {
				if mark := q.entries[i].mark; mark > int64(now) {
					left = min(left, mark)
					continue
				}
				c.start(now, &q.entries[i])
				c.leave(i)
				c.reserved--
			}
			q.blocks[n].mark = left
		}
		next = min(next, q.blocks[n].mark)
	}
	return grid.Tick(next)
}

// moveEarlier is to take a reservation out and to place it again. Nothing needs to
// be taken out for that: at an earlier place that reaches into the reservation's
// own time the job has there what it needs. It begins before freed, the end of what
// became free since the job was last placed: later places fit no better than then.
func (c *Scheduler) moveEarlier(now, freed grid.Tick, i int) {
	e := &c.queue.entries[i]
	had := grid.Tick(e.mark)
	if e.mark == unplaced || had <= now {
		return
	}
	if at, k, ok := c.profile.before(now, e.cores, e.limit, had, freed); ok {
		c.profile.move(k, at, had, e.cores, e.limit)
		c.mark(i, at)
		c.freed = max(c.freed, had+e.limit)
	}
}
