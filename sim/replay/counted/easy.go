package counted

import (
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// The pass of EASY with one reservation. Everything that runs now only gives capacity
// back, so a job fits beside the head's reservation exactly if it ends by the shadow, or
// needs no more than what is over there (extra). And since time only makes that harder, a
// pass before which nothing ended looks at what is new alone.
//
// The pass of several reservations (reserve.go) does the same with one. It is not used for
// it, as it takes 1.7 to 3 times as long where 100 to 10,000 jobs wait:
//
//	go test ./sim/replay/counted -run - -bench OneReservationBySeveral -benchtime 10x

// backfill is the pass of EASY with one reservation and of EASYSJBF.
func (c *Scheduler) backfill(now grid.Tick) {
	q := &c.queue
	if !c.ended && c.fresh <= 1 && q.live > c.fresh && c.shadow > now {
		if c.fresh == 0 {
			return
		}
		if c.latest > q.first {
			c.tryLatest(now)
			return
		}
	}
	c.inOrder(now)
	if q.live == 0 {
		return
	}
	c.reserveHead(now)
	switch {
	case c.free <= 0 || q.live == 1:
	case c.policy.Kind == plan.EASYSJBF:
		c.shortestBehind(now)
	default:
		for i := c.nextBeside(now, q, q.first+1); i < len(q.entries); i = c.nextBeside(now, q, i+1) {
			c.startBeside(now, i)
		}
	}
}

// reserveHead finds the shadow of the head, the first instant at which it fits, and
// what is over there.
func (c *Scheduler) reserveHead(now grid.Tick) {
	head, free := c.queue.entries[c.queue.first].cores, c.free
	i := 0
	for free < head {
		free += c.running[i].Cores
		i++
	}
	c.shadow = max(c.running[i-1].Until, now+1)
	for i < len(c.running) && c.running[i].Until <= c.shadow {
		free += c.running[i].Cores
		i++
	}
	c.extra = free - head
}

// fitsBeside tells whether a job fits now without delaying the head.
func (c *Scheduler) fitsBeside(now grid.Tick, e *entry) bool {
	return e.cores <= c.free && (e.cores <= c.extra || now+e.limit <= c.shadow)
}

// nextBeside is the first entry of a queue, from the i-th on, that fits so.
func (c *Scheduler) nextBeside(now grid.Tick, q *queue, i int) int {
	return q.next(i, c.free, c.extra, c.shadow-now)
}

// startBeside starts the i-th of the queue.
func (c *Scheduler) startBeside(now grid.Tick, i int) {
	e := &c.queue.entries[i]
	if now+e.limit > c.shadow {
		c.extra -= e.cores
	}
	c.start(now, e)
	c.leave(i)
}

// tryLatest looks at the one job that is new.
func (c *Scheduler) tryLatest(now grid.Tick) {
	if c.fitsBeside(now, &c.queue.entries[c.latest]) {
		c.startBeside(now, c.latest)
	}
}

// longQueue is how many must wait for a second order of the queue to pay off.
const longQueue = 256

// shortestBehind takes all behind the head, the shortest first.
func (c *Scheduler) shortestBehind(now grid.Tick) {
	q := &c.queue
	if q.live >= longQueue {
		c.sortByLimit()
		s := &c.shortest
		for i := c.nextBeside(now, s, s.first); i < len(s.entries); i = c.nextBeside(now, s, i+1) {
			c.startBeside(now, c.inQueue(&s.entries[i]))
		}
		return
	}
	c.sorted = false
	// Who does not fit before the first start fits after none: the others need no sorting.
	c.behind = c.behind[:0]
	for i := c.nextBeside(now, q, q.first+1); i < len(q.entries); i = c.nextBeside(now, q, i+1) {
		at, e := len(c.behind), &q.entries[i]
		for at > 0 && e.shorter(&q.entries[c.behind[at-1]]) {
			at--
		}
		c.behind = slices.Insert(c.behind, at, i)
	}
	for _, i := range c.behind {
		if c.fitsBeside(now, &q.entries[i]) {
			c.startBeside(now, i)
		}
	}
}

// shorter sorts by limit, and equal ones by their arrival.
func (e *entry) shorter(o *entry) bool {
	return e.limit < o.limit || e.limit == o.limit && e.came < o.came
}

// byLimit is the entry as it stands in the order by limit and arrival. Its mark is
// its rank in the queue.
func (e *entry) byLimit() entry {
	o := *e
	o.rank, o.mark = int64(e.limit), e.rank
	return o
}

// inQueue is the place in the queue of an entry of shortest.
func (c *Scheduler) inQueue(e *entry) int {
	return c.queue.find(&entry{rank: e.mark, came: e.came})
}

// sortByLimit makes the second order of the queue, if it is not there.
func (c *Scheduler) sortByLimit() {
	if c.sorted {
		return
	}
	c.sorted = true
	s := &c.shortest
	s.clear()
	var all []entry
	for i := range c.queue.entries {
		if e := &c.queue.entries[i]; e.cores != gone {
			all = append(all, e.byLimit())
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	for i := range all {
		s.live++
		s.append(&all[i])
	}
}
