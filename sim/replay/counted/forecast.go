package counted

import (
	"gbroker/grid"
)

// Forecast runs a scheduler forward from what is known at one instant: jobs end when
// they are believed to end, while the scheduler's own reservations rest on limits, as
// ever. It keeps its memory from one use to the next.
type Forecast struct {
	scheduler Scheduler
	ends      Ends
}

// Arrivals are jobs that are foreseen to come. Next is the one to come next; false
// after the last.
type Arrivals interface {
	Next() (at grid.Tick, e Job, ok bool)
}

// Run starts from the state of c after its pass at now, and the jobs that run with
// their believed ends. Who starts at an instant is told, and for how long it is
// believed to run is asked (at most its limit counts), until started says that it knows enough, or nobody waits.
// Later arrivals come besides, if they are not nil.
func (f *Forecast) Run(now grid.Tick, c *Scheduler, running []Ending, later Arrivals, started func(at grid.Tick, h Running) (run grid.Tick, enough bool)) {
	f.scheduler.CopyFrom(c)
	f.ends = f.ends[:0]
	for _, e := range running {
		e.At = max(min(e.At, e.Job.Until), now+1)
		f.ends.Push(e)
	}
	var came grid.Tick
	var job Job
	more := false
	if later != nil {
		came, job, more = later.Next()
	}
	for f.scheduler.Waiting() > 0 {
		at, ok := f.next()
		if more && (!ok || came < at) {
			at = came
		}
		f.release(at)
		for ; more && came <= at; came, job, more = later.Next() {
			f.scheduler.Arrive(job)
		}
		if f.pass(at, started) {
			return
		}
	}
}

// next is the instant of the next pass; false if there is none.
func (f *Forecast) next() (grid.Tick, bool) {
	at, ok := f.scheduler.Wake()
	if end, some := f.ends.First(); some && (!ok || end < at) {
		return end, true
	}
	return at, ok
}

// release ends what ends by an instant.
func (f *Forecast) release(at grid.Tick) {
	for len(f.ends) > 0 && f.ends[0].At <= at {
		f.scheduler.End(at, f.ends.Pop())
	}
}

// pass starts what starts at an instant, and tells whether started knows enough.
func (f *Forecast) pass(at grid.Tick, started func(at grid.Tick, h Running) (run grid.Tick, enough bool)) bool {
	enough := false
	for _, h := range f.scheduler.Pass(at) {
		run, last := started(at, h)
		f.ends.Push(Ending{min(at+max(run, 1), h.Until), h})
		enough = enough || last
	}
	return enough
}
