package plan

import "gbroker/grid"

// firstFit starts, in the order of the queue, all that fit now, up to a barrier.
func (c *Counted) firstFit(now grid.Tick) {
	barrier := int64(c.policy.Overtakes)
	if barrier == 0 {
		barrier = int64(never)
	}
	kept := 0
	for i := range c.queue {
		e := c.queue[i]
		if e.cores <= c.free && !c.barred(kept, barrier) {
			c.start(now, &e)
			if c.policy.Overtakes > 0 {
				for k := range kept {
					c.queue[k].mark++
				}
			}
			continue
		}
		c.queue[kept] = e
		kept++
	}
	c.queue = c.queue[:kept]
}

// barred tells whether one of the first n was overtaken so often that nobody behind
// it may start.
func (c *Counted) barred(n int, barrier int64) bool {
	if c.policy.Overtakes == 0 {
		return false
	}
	for k := range n {
		if c.queue[k].mark >= barrier {
			return true
		}
	}
	return false
}
