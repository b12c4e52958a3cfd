package plan

import "gbroker/grid"

// forLast is what is free, after the pass at now, for a job that would come last in
// the queue, in the memory of into.
func (c *Counted) forLast(now grid.Tick, into headroom) headroom {
	into = into[:0]
	if c.queue.live > 0 && (c.policy.Kind == FCFS || c.policy.Kind == FirstFit && c.barred()) {
		return into
	}
	if c.policy.Kind == ConsCompress {
		c.steps.advance(now)
		return c.steps.room(now, into)
	}
	if c.onSteps() {
		if c.queue.live == 0 {
			c.believe(now)
		}
		return c.steps.room(now, into)
	}
	if c.free <= 0 {
		return into
	}
	if c.queue.live == 0 || c.policy.Kind == FirstFit || c.extra >= c.free {
		return append(into, level{c.free, never})
	}
	into = append(into, level{c.free, c.shadow})
	if c.extra > 0 {
		into = append(into, level{c.extra, never})
	}
	return into
}

// barred tells whether somebody was overtaken so often that nobody may again.
func (c *Counted) barred() bool {
	for i := c.queue.first; c.policy.Overtakes > 0 && i < len(c.queue.entries); i++ {
		if e := &c.queue.entries[i]; e.cores != gone && e.mark >= int64(c.policy.Overtakes) {
			return true
		}
	}
	return false
}
