package plan

import (
	"slices"

	"gbroker/grid"
)

// The fast pass of EASY with one reservation. Since everything that runs now only
// gives capacity back, a job fits beside the head's reservation exactly if it ends
// by the shadow, or needs no more than what is over there (extra). And since time
// only makes that harder, a pass before which nothing ended looks at what is new
// alone.

// backfill is the pass of EASY with one reservation and of EASYSJBF.
func (c *Counted) backfill(now grid.Tick) {
	old := len(c.queue) - c.fresh
	if !c.ended && old > 0 && c.fresh <= 1 && c.shadow > now {
		if c.fresh == 0 {
			return
		}
		if c.latest > 0 {
			c.tryLatest(now)
			return
		}
	}
	c.inOrder(now)
	if len(c.queue) == 0 {
		c.least = c.cores
		return
	}
	c.reserveHead(now)
	switch {
	case c.free < c.least:
	case c.policy.Kind == EASYSJBF:
		c.shortestBehind(now)
	default:
		c.scanBehind(now)
	}
}

// reserveHead finds the shadow of the head, the first instant at which it fits, and
// what is over there.
func (c *Counted) reserveHead(now grid.Tick) {
	head, free := c.queue[0].cores, c.free
	i := 0
	for free < head {
		free += c.held[i].Cores
		i++
	}
	c.shadow = max(c.held[i-1].Until, now+1)
	for i < len(c.held) && c.held[i].Until <= c.shadow {
		free += c.held[i].Cores
		i++
	}
	c.extra = free - head
}

// fitsBeside tells whether a job fits now without delaying the head.
func (c *Counted) fitsBeside(now grid.Tick, e *entry) bool {
	return e.cores <= c.free && (e.cores <= c.extra || now+e.limit <= c.shadow)
}

func (c *Counted) startBeside(now grid.Tick, e *entry) {
	if now+e.limit > c.shadow {
		c.extra -= e.cores
	}
	c.start(now, e)
}

// tryLatest looks at the one job that is new.
func (c *Counted) tryLatest(now grid.Tick) {
	if e := c.queue[c.latest]; c.fitsBeside(now, &e) {
		c.queue = slices.Delete(c.queue, c.latest, c.latest+1)
		c.startBeside(now, &e)
	}
}

// scanBehind takes all behind the head in the order of the queue.
func (c *Counted) scanBehind(now grid.Tick) {
	kept, least := 1, c.cores
	for i := 1; i < len(c.queue); i++ {
		if e := &c.queue[i]; c.fitsBeside(now, e) {
			c.startBeside(now, e)
			continue
		}
		least = min(least, c.queue[i].cores)
		if kept != i {
			c.queue[kept] = c.queue[i]
		}
		kept++
	}
	c.queue, c.least = c.queue[:kept], least
}

// shortestBehind takes all behind the head, the shortest first. Who does not fit
// before the first start fits after none, so the others need no sorting.
func (c *Counted) shortestBehind(now grid.Tick) {
	c.behind = c.behind[:0]
	least := c.cores
	for i := 1; i < len(c.queue); i++ {
		e := &c.queue[i]
		least = min(least, e.cores)
		if !c.fitsBeside(now, e) {
			continue
		}
		at := len(c.behind)
		for at > 0 && e.shorter(&c.queue[c.behind[at-1]]) {
			at--
		}
		c.behind = slices.Insert(c.behind, at, i)
	}
	c.least = least
	if len(c.behind) == 0 {
		return
	}
	for _, i := range c.behind {
		if e := &c.queue[i]; c.fitsBeside(now, e) {
			c.startBeside(now, e)
			e.cores = 0 // taken
		}
	}
	c.queue = slices.DeleteFunc(c.queue, func(e entry) bool { return e.cores == 0 })
}

// shorter sorts by limit, and equal ones by their arrival.
func (e *entry) shorter(o *entry) bool {
	return e.limit < o.limit || e.limit == o.limit && e.mark < o.mark
}
