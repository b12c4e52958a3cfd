package counted

import (
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// longest bounds a limit, so that no instant overflows.
const longest = grid.Tick(1) << 42

// Job is a job that waits, as a [Scheduler] sees it.
type Job struct {
	Ref      int32 // the caller's own name of the job
	Cores    int32
	Limit    grid.Tick // at least 1: for so long the scheduler reserves
	Priority int64     // for ByPriority
}

// Running is a job that was started. The scheduler is promised that it ends at Until.
type Running struct {
	Until grid.Tick
	Cores int32
	Ref   int32
}

// Scheduler is a local scheduler on a machine of so many cores. It is a state machine that
// knows only what a scheduler knows. At one instant its caller first tells every end,
// then every arrival in the order of (submit time, identifier), then asks for one pass,
// which says who starts:
//
//	End, End, ...  ->  Arrive, Arrive, ...  ->  Pass(now)
//
// There are instants at which a pass is due although nothing ended or came: Wake.
// A job must end by Running.Until under ConsCompress, whose reservations rely on it;
// the other policies expect one that runs on to end at the next instant.
//
// Time is in any unit, as long as it is the same one.
type Scheduler struct {
	policy  plan.Policy
	cores   int32
	free    int32 // now
	queue   queue
	running []Running // by Until; not kept by ConsCompress, whose profile holds it
	came    int64

	// What came since the last pass: fresh entries, the last of them at latest.
	fresh, latest int
	ended         bool // since the last pass: something became free, or nothing is sure

	// Of the fast passes of EASY: the head's reservation as of the last pass.
	shadow grid.Tick
	extra  int32

	// The queue by limit, for EASYSJBF where many wait.
	shortest queue
	sorted   bool

	// Of the passes with kept reservations. Where the profile is kept it is what running
	// jobs and reservations leave, and the first of the queue have reservations.
	profile  profile
	kept     bool
	reserved int       // how many
	due      grid.Tick // the first reserved start, or earlier

	// Of ConsCompress.
	freed grid.Tick // until when something became free that not all reservations were tried on

	started []Running
	behind  []int    // scratch: the candidates of EASYSJBF
	room    headroom // scratch: of the pass with kept reservations
}

// New is an idle machine.
func New(cores int32, p plan.Policy) *Scheduler {
	c := &Scheduler{policy: p, cores: cores, free: cores, due: never}
	c.profile.reset(-never, cores)
	return c
}

// CopyFrom makes c as o is, in c's own memory.
func (c *Scheduler) CopyFrom(o *Scheduler) {
	queue, shortest, running, profile := c.queue, c.shortest, c.running, c.profile
	started, behind, room := c.started, c.behind, c.room
	*c = *o
	c.queue, c.shortest = queue, shortest
	c.queue.copyFrom(&o.queue)
	c.shortest.copyFrom(&o.shortest)
	c.running = append(running[:0], o.running...)
	c.profile = profile
	c.profile.copyFrom(&o.profile)
	c.started, c.behind, c.room = started[:0], behind[:0], room[:0]
}

// Waiting is the number of jobs that wait.
func (c *Scheduler) Waiting() int { return c.queue.live }

// Arrive puts a job into the queue; false where the machine can never hold it.
func (c *Scheduler) Arrive(e Job) bool {
	if e.Cores < 1 || e.Cores > c.cores || e.Limit < 1 || e.Limit > longest {
		return false
	}
	q := entry{limit: e.Limit, came: c.came, cores: e.Cores, ref: e.Ref}
	if c.policy.Order != plan.ByArrival {
		q.rank = c.policy.Rank(int64(e.Cores), e.Limit, e.Priority)
	}
	if c.policy.Kind != plan.FirstFit {
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
func (c *Scheduler) End(now grid.Tick, h Running) {
	c.ended = true
	c.free += h.Cores
	if c.policy.Kind == plan.ConsCompress {
		if now < h.Until {
			c.profile.advance(now)
			c.profile.change(c.profile.first, []edge{{now, h.Cores}, {h.Until, 0}})
			c.freed = max(c.freed, h.Until)
		}
		return
	}
	if now != h.Until {
		c.kept = false
	}
	c.forget(h)
}

// forget takes out of running.
func (c *Scheduler) forget(h Running) {
	at := c.after(h.Until - 1)
	for c.running[at] != h {
		at++
	}
	c.running = slices.Delete(c.running, at, at+1)
}

// after is the place in running behind all that end by t.
func (c *Scheduler) after(t grid.Tick) int {
	low, high := 0, len(c.running)
	for low < high {
		if mid := int(uint(low+high) / 2); c.running[mid].Until <= t {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// Wake is the next instant at which a pass is due even if nothing ends or comes.
func (c *Scheduler) Wake() (grid.Tick, bool) {
	if c.policy.Kind != plan.ConsCompress || c.due == never {
		return 0, false
	}
	return c.due, true
}

// Pass runs the scheduler once and returns what it starts now, in the order of
// starting. The result is valid until the next call.
func (c *Scheduler) Pass(now grid.Tick) []Running {
	c.started = c.started[:0]
	if c.queue.live > 0 {
		switch {
		case c.policy.Kind == plan.ConsCompress:
			c.compress(now)
		case reserving(c.policy):
			c.passReserving(now)
		case c.policy.Kind == plan.FCFS:
			c.inOrder(now)
		case c.policy.Kind == plan.FirstFit:
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
func (c *Scheduler) tidy() {
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
func (c *Scheduler) start(now grid.Tick, e *entry) {
	h := Running{Until: now + e.limit, Cores: e.cores, Ref: e.ref}
	c.started = append(c.started, h)
	c.free -= e.cores
	if c.policy.Kind != plan.ConsCompress {
		c.running = slices.Insert(c.running, c.after(h.Until), h)
	}
}

// leave takes the i-th entry out of the queue.
func (c *Scheduler) leave(i int) {
	if c.sorted {
		e := c.queue.entries[i].byLimit()
		c.shortest.leave(c.shortest.find(&e))
	}
	c.queue.leave(i)
}

// inOrder starts from the head of the queue until one does not fit.
func (c *Scheduler) inOrder(now grid.Tick) {
	for q := &c.queue; q.live > 0 && q.entries[q.first].cores <= c.free; {
		c.start(now, &q.entries[q.first])
		c.leave(q.first)
	}
}
