package plan

import "gbroker/grid"

// firstFit starts, in the order of the queue, all that fit now, up to a barrier.
func (c *Counted) firstFit(now grid.Tick) {
	barrier := int64(never)
	if c.policy.Overtakes > 0 {
		barrier = int64(c.policy.Overtakes)
	}
	// Who stays was overtaken by all that started after it was passed over. While the
	// pass goes on its mark is less what had started by then, so that only the number
	// of starts must be added.
	var starts int64
	worst := -int64(never)
	kept, overtaken := 0, 0
	for i := range c.queue {
		if c.free == 0 || worst+starts >= barrier {
			// Nobody behind it starts, so those of them are not overtaken either.
			if kept != i {
				copy(c.queue[kept:], c.queue[i:])
			}
			overtaken, kept = kept, kept+len(c.queue)-i
			break
		}
		e := &c.queue[i]
		if e.cores <= c.free {
			c.start(now, e)
			starts++
			continue
		}
		e.mark -= starts
		worst = max(worst, e.mark)
		if kept != i {
			c.queue[kept] = *e
		}
		kept++
		overtaken = kept
	}
	c.queue = c.queue[:kept]
	for i := range overtaken {
		c.queue[i].mark += starts
	}
}
