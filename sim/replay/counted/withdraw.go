package counted

import (
	"gbroker/grid"
	"gbroker/plan"
)

// Withdraw takes a job out of the queue at an instant; false where it does not wait. The next pass looks at all who do.
func (c *Scheduler) Withdraw(now grid.Tick, ref int32) bool {
	q := &c.queue
	for i := q.first; q.live > 0 && i < len(q.entries); i++ {
		if e := &q.entries[i]; e.ref == ref && e.cores != gone {
			c.withdraw(now, i)
			return true
		}
	}
	return false
}

func (c *Scheduler) withdraw(now grid.Tick, i int) {
	e := c.queue.entries[i]
	c.leave(i)
	c.ended, c.kept = true, false
	if c.policy.Kind == plan.ConsCompress {
		c.giveBack(now, &e)
	}
	if c.queue.live == 0 {
		c.tidy()
		c.fresh = 0
	}
}

// giveBack frees the reservation of a job that leaves, under ConsCompress; one that came since the last pass has none.
func (c *Scheduler) giveBack(now grid.Tick, e *entry) {
	if e.mark != unplaced {
		at := grid.Tick(e.mark)
		c.profile.advance(now)
		c.profile.change(c.profile.holding(max(at, now)), []edge{{max(at, now), e.cores}, {at + e.limit, 0}})
		c.freed = max(c.freed, at+e.limit)
		return
	}
	c.fresh--
	for i := range c.queue.entries {
		if o := &c.queue.entries[i]; o.cores != gone && o.mark == unplaced {
			c.latest = i
		}
	}
}
