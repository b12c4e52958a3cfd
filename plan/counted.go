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
// instant its caller first tells every end and every change of a [Hold], then every
// arrival in the order of (submit time, identifier), then asks for one pass, which
// says who starts:
//
//	End, Hold, Release, ...  ->  Arrive, Arrive, ...  ->  Pass(now)
//
// There are instants at which a pass is due although nothing ended or came: Wake.
// A job must end by Held.Until under ConsCompress, whose reservations rely on it;
// the other policies expect one that runs on to end at the next instant.
//
// Time is in any unit, as long as it is the same one.
type Counted struct {
	policy Policy
	cores  int32
	free   int32 // now; below 0 where a hold began on cores that jobs still have
	queue  queue
	held   []Held // by Until, with the holds that began; not kept by ConsCompress, whose steps hold it
	came   int64

	// What came since the last pass: fresh entries, the last of them at latest.
	fresh, latest int
	ended         bool // since the last pass: something became free, or nothing is sure

	// Of the fast passes of EASY: the head's reservation as of the last pass.
	shadow grid.Tick
	extra  int32

	// The queue by limit, for EASYSJBF where many wait.
	shortest queue
	sorted   bool

	// Of the passes on the steps. Where they are kept they are what running jobs, holds
	// and reservations leave, and the first of the queue have reservations.
	steps    steps
	kept     bool
	reserved int       // how many
	due      grid.Tick // the first reserved start, or earlier

	// Of ConsCompress.
	freed    grid.Tick // until when something became free that not all reservations were tried on
	collided bool      // a hold may lie on reservations

	holds holds

	started []Held
	behind  []int    // scratch: the candidates of EASYSJBF
	room    headroom // scratch: of the pass on the steps
}

// NewCounted is an idle machine.
func NewCounted(cores int32, p Policy) *Counted {
	c := &Counted{policy: p, cores: cores, free: cores, due: never, holds: holds{next: never}}
	c.steps.reset(-never, cores)
	return c
}

// CopyFrom makes c as o is, in c's own memory.
func (c *Counted) CopyFrom(o *Counted) {
	queue, shortest, held, steps, holds := c.queue, c.shortest, c.held, c.steps, c.holds
	started, behind, room := c.started, c.behind, c.room
	*c = *o
	c.queue, c.shortest = queue, shortest
	c.queue.copyFrom(&o.queue)
	c.shortest.copyFrom(&o.shortest)
	c.held = append(held[:0], o.held...)
	c.steps = steps
	c.steps.copyFrom(&o.steps)
	c.holds = holds
	c.holds.copyFrom(&o.holds)
	c.started, c.behind, c.room = started[:0], behind[:0], room[:0]
}

// Waiting is the number of jobs that wait.
func (c *Counted) Waiting() int { return c.queue.live }

// Arrive puts a job into the queue; false where the machine can never hold it.
func (c *Counted) Arrive(e Entry) bool {
	if e.Cores < 1 || e.Cores > c.cores || e.Limit < 1 || e.Limit > longest {
		return false
	}
	q := entry{limit: e.Limit, came: c.came, cores: e.Cores, ref: e.Ref}
	if c.policy.Order != ByArrival {
		q.rank = c.policy.rank(e)
	}
	if c.policy.Kind != FirstFit {
		q.mark = unplaced
	}
	c.came++
	c.fresh++
	c.latest = c.queue.insert(&q)
	if c.latest < c.queue.placed {
		c.queue.placed++
		c.kept = false
	}
	if c.sorted {
		s := q.byLimit()
		c.shortest.insert(&s)
	}
	return true
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
	if now != h.Until {
		c.kept = false
	}
	c.unheld(h)
}

// unheld takes out of held.
func (c *Counted) unheld(h Held) {
	at := c.after(h.Until - 1)
	for c.held[at] != h {
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
func (c *Counted) Wake() (grid.Tick, bool) {
	at := c.holds.next
	if c.policy.Kind == ConsCompress {
		at = min(at, c.due)
	}
	return at, at < never
}

// Pass runs the scheduler once and returns what it starts now, in the order of
// starting. The result is valid until the next call.
func (c *Counted) Pass(now grid.Tick) []Held {
	c.started = c.started[:0]
	if c.holds.next <= now {
		c.turn(now)
	}
	if c.queue.live > 0 {
		switch {
		case c.policy.Kind == ConsCompress:
			c.compress(now)
		case c.onSteps():
			c.passOnSteps(now)
		case c.policy.Kind == FCFS:
			c.inOrder(now)
		case c.policy.Kind == FirstFit:
			c.firstFit(now)
		default:
			c.backfill(now)
		}
		c.tidy()
	}
	c.fresh, c.ended = 0, false
	return c.started
}

// tidy takes gaps out of the queue.
func (c *Counted) tidy() {
	switch q := &c.queue; {
	case q.live == len(q.entries):
	case q.live == 0:
		q.clear()
		c.shortest.clear()
	default:
		q.sweep()
		if c.sorted {
			c.shortest.sweep()
		}
	}
}

// start starts a job that fits; the caller takes it out of the queue.
func (c *Counted) start(now grid.Tick, e *entry) {
	h := Held{Until: now + e.limit, Cores: e.cores, Ref: e.ref}
	c.started = append(c.started, h)
	c.free -= e.cores
	if c.policy.Kind != ConsCompress {
		c.hold(h)
	}
}

// hold puts into held.
func (c *Counted) hold(h Held) { c.held = slices.Insert(c.held, c.after(h.Until), h) }

// leave takes the i-th entry out of the queue.
func (c *Counted) leave(i int) {
	if c.sorted {
		e := c.queue.entries[i].byLimit()
		c.shortest.leave(c.shortest.find(&e))
	}
	c.queue.leave(i)
}

// inOrder starts from the head of the queue until one does not fit.
func (c *Counted) inOrder(now grid.Tick) {
	for q := &c.queue; q.live > 0 && q.entries[q.first].cores <= c.free; {
		c.start(now, &q.entries[q.first])
		c.leave(q.first)
	}
}
