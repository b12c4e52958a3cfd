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

// Run starts from the state of c after its pass at now, and the jobs that run with
// their believed ends. Who starts at an instant is told, and for how long it is
// believed to run is asked (at most its limit counts), until started says that it knows enough, or nobody waits.
func (f *Forecast) Run(now grid.Tick, c *Scheduler, running []Ending, started func(at grid.Tick, h Running) (run grid.Tick, enough bool)) {
	f.scheduler.CopyFrom(c)
	f.ends = f.ends[:0]
	for _, e := range running {
		e.At = max(min(e.At, e.Job.Until), now+1)
		f.ends.Push(e)
	}
	for f.scheduler.Waiting() > 0 {
		at, _ := f.next()
		if f.step(at, started) {
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

// step does all that happens at an instant, and tells whether started knows enough.
func (f *Forecast) step(at grid.Tick, started func(at grid.Tick, h Running) (run grid.Tick, enough bool)) bool {
	for len(f.ends) > 0 && f.ends[0].At <= at {
		f.scheduler.End(at, f.ends.Pop())
	}
	enough := false
	for _, h := range f.scheduler.Pass(at) {
		run, last := started(at, h)
		f.ends.Push(Ending{min(at+max(run, 1), h.Until), h})
		enough = enough || last
	}
	return enough
}
