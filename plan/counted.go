package plan

import (
	"slices"

	"gbroker/grid"
)

// Entry is a job as a [Counted] scheduler sees it.
type Entry struct {
	Ref      int32 // the caller's own name of the job
	Cores    int32
	Limit    grid.Tick // at least 1: for so long the scheduler reserves
	Priority int64     // for ByPriority
}

// Held is a job that was started. The scheduler believes that it ends at Until.
type Held struct {
	Until grid.Tick
	Cores int32
	Ref   int32
}

// Counted is a local scheduler in the counted view: a machine of so many cores, and
// no nodes. It is a state machine that knows only what a scheduler knows. At one
// instant its caller first tells every end, then every arrival in the order of
// (submit time, identifier), then asks for one pass, which says who starts:
//
//	End, End, ...  ->  Arrive, Arrive, ...  ->  Pass(now)
//
// There are instants at which a pass is due although nothing ended or came: Wake.
// A job must end by Held.Until under ConsCompress, whose reservations rely on it;
// the other policies expect one that runs on to end at the next instant.
//
// Time is in any unit, as long as it is the same one.
type Counted struct {
	policy Policy
	cores  int32
	free   int32 // now
	queue  []entry
	held   []Held // by Until; not kept by ConsCompress, whose steps hold it

	// What came since the last pass: fresh entries, the last of them at latest.
	fresh, latest int
	ended         bool // since the last pass
	came          int64

	// Of the fast passes of EASY: the head's reservation as of the last pass.
	shadow grid.Tick
	extra  int32
	least  int32 // no entry behind the head asks for fewer

	steps   steps
	wake    grid.Tick // the first reserved start (ConsCompress)
	freed   grid.Tick // until when something became free that not all reservations were tried on
	started []Held
	behind  []int // scratch: the candidates of EASYSJBF
}

// entry is a waiting job.
type entry struct {
	limit grid.Tick
	rank  int64
	mark  int64 // FirstFit: how often it was overtaken; ConsCompress: its reserved start; EASYSJBF: how many came before
	cores int32
	ref   int32
}

// unplaced marks an entry that has no reservation yet.
const unplaced = -1

// NewCounted is an idle machine.
func NewCounted(cores int32, p Policy) *Counted {
	c := &Counted{policy: p, cores: cores, free: cores, least: cores, wake: never}
	c.steps.reset(-never, cores)
	return c
}

// CopyFrom makes c as o is, in c's own memory.
func (c *Counted) CopyFrom(o *Counted) {
	queue, held, steps, started, behind := c.queue, c.held, c.steps, c.started, c.behind
	*c = *o
	c.queue = append(queue[:0], o.queue...)
	c.held = append(held[:0], o.held...)
	c.steps = steps
	c.steps.copyFrom(&o.steps)
	c.started, c.behind = started[:0], behind[:0]
}

// Waiting is the number of jobs that wait.
func (c *Counted) Waiting() int { return len(c.queue) }

// Arrive puts a job into the queue; false where the machine can never hold it.
func (c *Counted) Arrive(e Entry) bool {
	if e.Cores < 1 || e.Cores > c.cores || e.Limit < 1 || e.Limit > longest {
		return false
	}
	at, rank := len(c.queue), int64(0)
	if c.policy.Order != ByArrival {
		rank = c.policy.rank(e)
		at = c.position(rank)
	}
	q := entry{limit: e.Limit, rank: rank, cores: e.Cores, ref: e.Ref}
	switch c.policy.Kind {
	case ConsCompress:
		q.mark = unplaced
	case EASYSJBF:
		c.came++
		q.mark = c.came
	}
	if at == len(c.queue) {
		c.queue = append(c.queue, q)
	} else {
		c.least = min(c.least, c.queue[0].cores) // it may be the head no longer
		c.queue = slices.Insert(c.queue, at, q)
	}
	c.least = min(c.least, e.Cores)
	c.fresh++
	c.latest = at
	return true
}

// position is behind all that have this rank or a lower one.
func (c *Counted) position(rank int64) int {
	low, high := 0, len(c.queue)
	for low < high {
		if mid := int(uint(low+high) / 2); c.queue[mid].rank <= rank {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// End tells that a job that was started ends at now, the instant of the next pass.
func (c *Counted) End(now grid.Tick, h Held) {
	c.ended = true
	c.free += h.Cores
	if c.policy.Kind == ConsCompress {
		if now < h.Until {
			c.steps.advance(now)
			c.steps.change(c.steps.first, []edge{{now, h.Cores}, {h.Until, 0}})
			c.freed = max(c.freed, h.Until)
		}
		return
	}
	at := c.after(h.Until - 1)
	for c.held[at].Ref != h.Ref {
		at++
	}
	c.held = slices.Delete(c.held, at, at+1)
}

// after is the place in held behind all that end by t.
func (c *Counted) after(t grid.Tick) int {
	low, high := 0, len(c.held)
	for low < high {
		if mid := int(uint(low+high) / 2); c.held[mid].Until <= t {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// Wake is the next instant at which a pass is due even if nothing ends or comes.
func (c *Counted) Wake() (grid.Tick, bool) { return c.wake, c.wake < never }

// Pass runs the scheduler once and returns what it starts now, in the order of
// starting. The result is valid until the next call.
func (c *Counted) Pass(now grid.Tick) []Held {
	c.started = c.started[:0]
	switch {
	case len(c.queue) == 0:
	case c.policy.Kind == ConsCompress:
		c.compress(now)
	case c.policy.Kind == ConsRebuild:
		c.reserveInOrder(now, len(c.queue))
	case c.policy.Kind == EASY && c.policy.reservations() > 1:
		c.reserveInOrder(now, c.policy.reservations())
	case c.policy.Kind == FCFS:
		c.inOrder(now)
	case c.policy.Kind == FirstFit:
		c.firstFit(now)
	default:
		c.backfill(now)
	}
	c.fresh, c.ended = 0, false
	return c.started
}

// start starts a job that fits; the caller takes it out of the queue.
func (c *Counted) start(now grid.Tick, e *entry) {
	h := Held{Until: now + e.limit, Cores: e.cores, Ref: e.ref}
	c.started = append(c.started, h)
	c.free -= e.cores
	if c.policy.Kind != ConsCompress {
		c.held = slices.Insert(c.held, c.after(h.Until), h)
	}
}

// inOrder starts from the head of the queue until one does not fit.
func (c *Counted) inOrder(now grid.Tick) {
	n := 0
	for n < len(c.queue) && c.queue[n].cores <= c.free {
		c.start(now, &c.queue[n])
		n++
	}
	c.drop(n)
}

// drop takes the first n out of the queue. A long queue is not moved for that: its
// place in memory is left to the next growth.
func (c *Counted) drop(n int) {
	switch {
	case n == 0:
	case len(c.queue) < longQueue:
		c.queue = slices.Delete(c.queue, 0, n)
	default:
		c.queue = c.queue[n:]
	}
}

const longQueue = 256
