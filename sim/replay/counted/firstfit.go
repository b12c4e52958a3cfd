package counted

import (
	"gbroker/grid"
)

// firstFit starts, in the order of the queue, all that fit now, up to a barrier.
func (c *Scheduler) firstFit(now grid.Tick) {
	if c.policy.Overtakes > 0 {
		c.firstFitBarrier(now)
		return
	}
	q := &c.queue
	for i := q.next(q.first, c.free, c.free, 0); i < len(q.entries); i = q.next(i+1, c.free, c.free, 0) {
		c.start(now, &q.entries[i])
		c.leave(i)
	}
}

func (c *Scheduler) firstFitBarrier(now grid.Tick) {
	// Who stays was overtaken by all that started after it was passed over. While the
	// pass goes on its mark is less what had started by then, so that only the number
	// of starts must be added.
	q := &c.queue
	barrier := int64(c.policy.Overtakes)
	var starts int64
	worst := -int64(never)
	first, i := q.first, q.first
	for ; i < len(q.entries) && c.free > 0 && worst+starts < barrier; i++ {
		e := &q.entries[i]
		switch {
		case e.cores <= c.free:
			starts++
			c.start(now, e)
			c.leave(i)
		case e.cores != gone:
			e.mark -= starts
			worst = max(worst, e.mark)
		}
	}
	// Nobody behind those that were looked at starts, so nobody there is overtaken.
	for ; first < i; first++ {
		if e := &q.entries[first]; e.cores != gone {
			e.mark += starts
		}
	}
}
