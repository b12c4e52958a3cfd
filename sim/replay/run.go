package replay

import (
	"context"
	"time"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/sim/replay/counted"
)

// Result is what a policy made of a log.
type Result struct {
	Starts []int64 // of Log.Jobs, in seconds
	Took   time.Duration
}

// Run replays a log. From time to time it tells progress, if that is not nil, how
// many jobs came, and looks whether ctx ended.
func Run(ctx context.Context, log *Log, p plan.Policy, progress func(came int)) (*Result, error) {
	began := time.Now()
	m := newMachine(log, p)
	if err := m.run(ctx, progress, m.step); err != nil {
		return nil, err
	}
	return &Result{Starts: m.starts, Took: time.Since(began)}, nil
}

// run steps through the log to its end.
func (m *machine) run(ctx context.Context, progress func(came int), step func(now grid.Tick)) error {
	for work := lookAfter; ; work += m.work() {
		if work >= lookAfter {
			work = 0
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(m.came)
			}
		}
		now, ok := m.next()
		if !ok {
			return nil
		}
		step(now)
	}
}

// lookAfter is how much work is done between two looks at what goes on outside: some
// tens of microseconds of it, or one step if that takes longer.
const lookAfter = 1 << 14

// work is about what a step takes at most. Where a plan is made anew each of those who
// wait is tried on the reservations of all others.
func (m *machine) work() int {
	n := m.scheduler.Waiting()
	return 1<<8 + n*n/16
}

// machine is the world of a scheduler: the jobs that come, and those that run.
type machine struct {
	jobs      []Job
	scheduler *counted.Scheduler
	ends      counted.Ends
	came      int
	starts    []int64
}

func newMachine(log *Log, p plan.Policy) *machine {
	return &machine{jobs: log.Jobs, scheduler: counted.New(log.Procs, p), starts: make([]int64, len(log.Jobs))}
}

// next is the instant of the next event; false after the last.
func (m *machine) next() (grid.Tick, bool) {
	now, ok := m.scheduler.Wake()
	if m.came < len(m.jobs) {
		if at := grid.Tick(m.jobs[m.came].Submit); !ok || at < now {
			now, ok = at, true
		}
	}
	if at, some := m.ends.First(); some && (!ok || at < now) {
		now, ok = at, true
	}
	return now, ok
}

// step does all that happens at one instant.
func (m *machine) step(now grid.Tick) {
	for len(m.ends) > 0 && m.ends[0].At <= now {
		m.scheduler.End(now, m.ends.Pop())
	}
	for ; m.came < len(m.jobs) && grid.Tick(m.jobs[m.came].Submit) <= now; m.came++ {
		j := &m.jobs[m.came]
		m.scheduler.Arrive(counted.Job{Ref: int32(m.came), Cores: j.Procs, Limit: grid.Tick(j.Limit)})
	}
	for _, h := range m.scheduler.Pass(now) {
		m.starts[h.Ref] = int64(now)
		m.ends.Push(counted.Ending{At: now + grid.Tick(m.jobs[h.Ref].Run), Job: h})
	}
}
