package replay

import (
	"context"
	"time"

	"gbroker/grid"
	"gbroker/plan"
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
	for steps := 0; ; steps++ {
		if steps&(1<<12-1) == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(m.came)
			}
		}
		now, ok := m.next()
		if !ok {
			return &Result{Starts: m.starts, Took: time.Since(began)}, nil
		}
		m.step(now)
	}
}

// machine is the world of a scheduler: the jobs that come, and those that run.
type machine struct {
	jobs      []Job
	scheduler *plan.Counted
	ends      ends
	came      int
	starts    []int64
}

func newMachine(log *Log, p plan.Policy) *machine {
	return &machine{jobs: log.Jobs, scheduler: plan.NewCounted(log.Procs, p), starts: make([]int64, len(log.Jobs))}
}

// next is the instant of the next event; false after the last.
func (m *machine) next() (grid.Tick, bool) {
	now, ok := m.scheduler.Wake()
	if m.came < len(m.jobs) {
		if at := grid.Tick(m.jobs[m.came].Submit); !ok || at < now {
			now, ok = at, true
		}
	}
	if len(m.ends) > 0 && (!ok || m.ends[0].at < now) {
		now, ok = m.ends[0].at, true
	}
	return now, ok
}

// step does all that happens at one instant.
func (m *machine) step(now grid.Tick) {
	for len(m.ends) > 0 && m.ends[0].at <= now {
		m.scheduler.End(now, m.ends.pop())
	}
	for ; m.came < len(m.jobs) && grid.Tick(m.jobs[m.came].Submit) <= now; m.came++ {
		j := &m.jobs[m.came]
		m.scheduler.Arrive(plan.Entry{Ref: int32(m.came), Cores: j.Procs, Limit: grid.Tick(j.Limit)})
	}
	for _, h := range m.scheduler.Pass(now) {
		m.starts[h.Ref] = int64(now)
		m.ends.push(end{now + grid.Tick(m.jobs[h.Ref].Run), h})
	}
}

// end is the end of a running job.
type end struct {
	at   grid.Tick
	held plan.Held
}

// ends is a heap: the first end is at 0.
type ends []end

func (h *ends) push(e end) {
	*h = append(*h, e)
	a := *h
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 2
		if a[up].at <= e.at {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = e
}

func (h *ends) pop() plan.Held {
	a := *h
	first := a[0].held
	n := len(a) - 1
	e := a[n]
	a = a[:n]
	*h = a
	if n == 0 {
		return first
	}
	i := 0
	for {
		k := 2*i + 1
		if k >= n {
			break
		}
		if k+1 < n && a[k+1].at < a[k].at {
			k++
		}
		if a[k].at >= e.at {
			break
		}
		a[i] = a[k]
		i = k
	}
	a[i] = e
	return first
}
