package plan

import (
	"slices"

	"gbroker/grid"
)

// Hold is capacity that no job of the queue gets from an instant until another: an
// advance reservation, or nodes that are down. Where jobs run on it they run on, and
// what they give back before the end of the hold is not given out again.
type Hold struct {
	From, To grid.Tick
	Cores    int32
}

// latestHold bounds the end of a hold, so that no instant overflows.
const latestHold = never / 2

// holds are those that are known.
type holds struct {
	known []heldBack
	total int64     // of their cores
	ahead int       // how many began at no pass yet
	next  grid.Tick // the first that begins or ends
}

type heldBack struct {
	Hold
	began bool
}

func (h *holds) copyFrom(o *holds) {
	known := h.known
	*h = *o
	h.known = append(known[:0], o.known...)
}

// reckon finds what begins or ends next. At the begin a pass is due because of jobs
// that overran their limits: whoever had to give way to a reservation for when they end
// may do so no longer, if that has no place before the hold.
func (h *holds) reckon() {
	h.next = never
	for i := range h.known {
		if k := &h.known[i]; k.began {
			h.next = min(h.next, k.To)
		} else {
			h.next = min(h.next, k.From)
		}
	}
}

// Hold tells of a hold, before the pass of an instant; it may have begun. From then
// on a job starts only if it fits for its whole limit beside all holds. False where
// the hold has no time, not one core, or more than the machine; or where all holds
// together have more than 2^31 cores: an outage need not be told so often.
//
// Under ConsCompress reservations that no longer fit give way: in the order of the
// queue each is kept that fits beside the jobs, the holds and those kept before it;
// then the others are placed again, in order. Then, as after an end, comes the round
// in which each may move to an earlier place.
func (c *Counted) Hold(h Hold) bool {
	if h.From >= h.To || h.To > latestHold || h.Cores < 1 || h.Cores > c.cores || c.holds.total+int64(h.Cores) > int64(gone) {
		return false
	}
	c.holds.known = append(c.holds.known, heldBack{Hold: h})
	c.holds.total += int64(h.Cores)
	c.holds.ahead++
	c.holds.next = min(c.holds.next, h.From)
	c.ended, c.kept = true, false
	if c.policy.Kind == ConsCompress {
		c.collided = true
		c.give(h, -h.Cores)
	}
	return true
}

// Release tells, before the pass of an instant, that a hold is not to be, or not any
// longer; false where there is no such one. To change a hold is to release it and to
// tell the other.
func (c *Counted) Release(h Hold) bool {
	at := slices.IndexFunc(c.holds.known, func(k heldBack) bool { return k.Hold == h })
	if at < 0 {
		return false
	}
	if !c.holds.known[at].began {
		c.holds.ahead--
	} else if c.policy.Kind != ConsCompress {
		c.free += h.Cores
		c.unheld(h.held())
	}
	if c.policy.Kind == ConsCompress {
		c.give(h, h.Cores)
		c.freed = max(c.freed, h.To)
	}
	c.forget(at)
	c.holds.reckon()
	c.ended, c.kept = true, false
	return true
}

// give gives cores to the steps for the time of a hold that is not past.
func (c *Counted) give(h Hold, cores int32) {
	s := &c.steps
	if from := max(h.From, s.points[s.first].at); from < h.To {
		s.change(s.holding(from), []edge{{from, cores}, {h.To, 0}})
	}
}

// held is a hold that began, as if it were a job.
func (h Hold) held() Held { return Held{Until: h.To, Cores: h.Cores, Ref: -1} }

// forget takes out of the known holds.
func (c *Counted) forget(i int) {
	c.holds.total -= int64(c.holds.known[i].Cores)
	c.holds.known = slices.Delete(c.holds.known, i, i+1)
}

// turn looks which holds begin and end. One that began is like a job that runs.
func (c *Counted) turn(now grid.Tick) {
	steps := c.policy.Kind == ConsCompress // all is in them already
	for i := 0; i < len(c.holds.known); i++ {
		h := &c.holds.known[i]
		if h.From > now {
			continue
		}
		if !h.began {
			h.began = true
			c.holds.ahead--
			if !steps {
				c.hold(h.held())
				c.free -= h.Cores
			}
		}
		if h.To > now {
			continue
		}
		if !steps {
			c.unheld(h.held())
			c.free += h.Cores
			c.ended = true
		}
		c.forget(i)
		i--
	}
	c.holds.reckon()
}
