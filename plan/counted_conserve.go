package plan

import "gbroker/grid"

// compress is the pass of ConsCompress.
func (c *Counted) compress(now grid.Tick) {
	c.steps.advance(now)
	if c.collided {
		c.collided = false
		c.displace(now)
	}
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
func (c *Counted) place(now grid.Tick, i int) {
	e := &c.queue.entries[i]
	at, k := c.steps.earliest(now, e.cores, e.limit)
	c.mark(i, at)
	c.steps.take(k, at, e.cores, e.limit)
}

// mark gives an entry its reserved start.
func (c *Counted) mark(i int, at grid.Tick) {
	c.queue.setMark(i, int64(at))
	c.due = min(c.due, at)
}

// startDue starts every job whose reservation is now, of so many blocks, and returns
// the first reserved start of those that are left there.
func (c *Counted) startDue(now grid.Tick, blocks int) grid.Tick {
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
func (c *Counted) moveEarlier(now, freed grid.Tick, i int) {
	e := &c.queue.entries[i]
	had := grid.Tick(e.mark)
	if e.mark == unplaced || had <= now {
		return
	}
	if at, k, ok := c.steps.before(now, e.cores, e.limit, had, freed); ok {
		c.steps.move(k, at, had, e.cores, e.limit)
		c.mark(i, at)
		c.freed = max(c.freed, had+e.limit)
	}
}

// displace lets reservations give way where, with a new hold, more is taken than
// there is. Only those that reach into such a time can collide.
func (c *Counted) displace(now grid.Tick) {
	s, q := &c.steps, &c.queue
	over := s.below(0)
	if len(over) == 0 {
		return
	}
	var out []int
	for i := q.first; i < len(q.entries); i++ {
		e := &q.entries[i]
		if e.mark != unplaced && reaches(over, grid.Tick(e.mark), grid.Tick(e.mark)+e.limit) {
			out = append(out, i)
		}
	}
	take := func(i int, sign int32) {
		e := &q.entries[i]
		at := grid.Tick(e.mark)
		s.take(s.holding(at), at, sign*e.cores, e.limit)
	}
	for _, i := range out {
		take(i, -1)
	}
	lost := out[:0]
	for _, i := range out {
		if e := &q.entries[i]; s.fits(grid.Tick(e.mark), e.cores, e.limit) {
			take(i, 1)
		} else {
			lost = append(lost, i)
		}
	}
	for _, i := range lost {
		c.freed = max(c.freed, grid.Tick(q.entries[i].mark)+q.entries[i].limit)
		c.place(now, i)
	}
}

// reaches tells whether a time reaches into one of others, which ascend.
func reaches(others [][2]grid.Tick, from, to grid.Tick) bool {
	for _, o := range others {
		if o[0] < to && from < o[1] {
			return true
		}
	}
	return false
}
