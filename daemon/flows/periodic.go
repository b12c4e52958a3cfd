package flows

import (
	"context"
	"errors"
	"slices"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	planner "gbroker/flow"
	"gbroker/grid"
)

// A periodic workflow is the parent of its instances. It notes on disk that an instance is open, makes it, and counts it when it
// has ended; once that is on disk too the instance's folder is removed. So an instance is counted once, whenever the process was killed; one
// that was noted and not made, and each whose time passed meanwhile, is a missed period.
//
// # Clocks
//
// Periods go by the home's wall clock, as a restart has no other. While the process runs a clock that is set, or that goes on while the machine
// sleeps, moves the whole schedule with it: no period is lost or doubled. One that was set back while no process ran is found by its being
// earlier than an instance that has begun: the next instance begins at once, and the schedule goes on from there. One that was set forward then cannot be told
// from time that went by: those periods are missed.

const (
	// maxOpen is how many instances are under way at most; the period of one more is missed.
	maxOpen = 32
	// maxAges is of how many instances the ages are kept.
	maxAges = 1000
	// maxWait is how long a wait for the next period is at most before the clocks are compared again.
	maxWait = 30 * time.Second
	// leastJump is by how much the wall clock has to be off the monotonic one meanwhile to have been set; less is followed.
	leastJump = 100 * time.Millisecond
	// settling is how long a workflow that was found at a start, and was not judged before, waits for the sites to be known.
	settling = 30 * time.Second
)

// periods is how far a periodic workflow is.
type periods struct {
	Next                       int // number of the next instance, from 0
	Open                       map[int]bool
	Done, Failed, Missed, Late int
	Ages                       []grid.Tick                  // from the beginning of an instance to its end: of the last that ended well
	Taken                      map[string]taken             `json:",omitempty"`     // files of the folder that is watched, by name
	Waits                      string                       `json:",omitempty"`     // why nothing begins
	Ahead                      map[int][]grid.ReservationID `json:"Held,omitempty"` // reserved for instances that are to come, by their tasks
	Reserved                   int                          `json:",omitempty"`     // how many were
	Unreserved                 string                       `json:",omitempty"`     // why the last that was not could not be
	Accepted                   bool                         // the sites sustain it, or nobody could say: it is not refused any more
}

// runPeriods sees a periodic workflow through.
func (f *flow) runPeriods(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	every := f.spec.Submission.Periodic.Every()
	f.settle(ctx)
	sites, err := f.sustained(ctx, &every)
	if ctx.Err() != nil {
		return // what was planned with sites that did not come to answer is no judgement
	}
	if err != nil && f.refuse(err) {
		return
	}
	f.accept()
	f.cancelInstances()
	ended := make(chan *flow)
	watch := func(child *flow) {
		f.keeper.running.Go(func() {
			if child.finished(ctx) {
				select {
				case ended <- child:
				case <-ctx.Done():
				}
			}
		})
	}
	for _, child := range f.reopen() {
		watch(child)
	}
	reserved := make(chan reservedAhead)
	folder := newWatcher(f, &every)
	defer f.keeper.release(folder)
	next := func() (time.Duration, bool) { return f.next(&every) }
	if every.Folder != "" {
		next = func() (time.Duration, bool) { return folder.next(ctx) }
	}
	for {
		wait, more := next()
		f.unneeded(ctx)
		f.forget()
		if !more && f.closed() {
			return
		}
		if more && wait <= 0 {
			if child, err := f.instance(&every, sites, nil); err == nil {
				watch(child)
				f.ahead(ctx, &every, sites, child.spec.Number, reserved)
			} else {
				f.keeper.config.Log.Warn("a period of a workflow is missed", "workflow", f.spec.ID, "error", err)
			}
		}
		again := time.NewTimer(min(wait, maxWait))
		select {
		case <-ctx.Done():
		case child := <-ended:
			f.count(child, &every)
		case a := <-folder.asked:
			if child := folder.answered(a, sites); child != nil {
				watch(child)
			}
		case h := <-reserved:
			f.keepReserved(ctx, h)
		case <-f.wake:
			f.cancelInstances()
		case <-again.C:
		}
		again.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// settle waits for the sites to be known, where the process that took the workflow ended before it was judged.
func (f *flow) settle(ctx context.Context) {
	f.mu.Lock()
	wait := f.found && !f.rec.Periods.Accepted
	f.mu.Unlock()
	if wait {
		select {
		case <-time.After(settling):
		case <-f.wake: // cancelled
		case <-ctx.Done():
		}
	}
}

// sustained plans the pipeline; it is an error if the sites cannot sustain it.
func (f *flow) sustained(ctx context.Context, every *workflow.Periodic) ([][]workflow.PlannedTask, error) {
	places := f.places(ctx)
	if len(places) == 0 {
		return nil, nil
	}
	if every.Folder != "" { // nobody knows how often
		return f.likeOne(places), nil
	}
	w := api.Workflow(f.spec.Submission.Name, f.parts, func(i int, name string) int64 { return f.leaves[i][name] })
	sites, err := w.PlanPeriodic(places, every)
	switch {
	case errors.Is(err, planner.ErrOverload):
		if _, best := w.PlanPeriodic(workflow.AtMost(places, w.Amounts()), every); errors.Is(best, planner.ErrOverload) {
			return nil, err
		}
		f.keeper.config.Log.Info("nobody knows whether the sites sustain a periodic workflow, as they may have more than they were asked about", "workflow", f.spec.ID, "error", err)
	case err != nil:
		f.keeper.config.Log.Info("a periodic workflow has no plan, and goes on without one", "workflow", f.spec.ID, "error", err)
	}
	return sites, nil
}

// accept notes that the workflow goes on whatever the sites become. The first instance begins now.
func (f *flow) accept() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rec.Periods.Accepted = true
	if f.rec.Periods.Next == 0 {
		f.rec.Begun = f.keeper.config.Now()
	}
	f.keep()
}

// refuse ends a workflow that the sites cannot sustain, unless it was accepted before.
func (f *flow) refuse(why error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rec.Periods.Accepted || f.rec.Periods.Next > 0 {
		return false
	}
	for i := range f.rec.Tasks {
		f.rec.Tasks[i].State, f.rec.Tasks[i].Reason = api.FlowCancelled, why.Error()
	}
	f.finish()
	f.keep()
	return true
}

// clocks are the wall clock and the monotonic one, read together.
type clocks struct {
	wall grid.Tick
	mono time.Time
}

// since is how long ago the first instance began, by a schedule that is moved where the wall clock was set; f.mu is held.
func (f *flow) since(every *workflow.Periodic) time.Duration {
	now, p := clocks{f.keeper.config.Now(), time.Now()}, f.rec.Periods
	jump := grid.Tick(0)
	if before := f.read; !before.mono.IsZero() {
		jump = now.wall - before.wall - grid.Span(now.mono.Sub(before.mono))
	} else if behind := now.wall - f.rec.Begun; p.Next > 0 && spanOf(behind)+leastJump < every.Instant(p.Next-1) {
		jump = behind - grid.Span(every.Instant(p.Next)) // set back while no process ran
	}
	f.read = now
	if spanOf(jump).Abs() > leastJump {
		f.rec.Begun += jump
		f.keep()
		f.keeper.config.Log.Warn("the clock was set, and the periods of a workflow move with it", "workflow", f.spec.ID, "by", spanOf(jump))
	}
	return spanOf(now.wall - f.rec.Begun)
}

// next is how long until the next instance; more tells that there is one. Periods whose time is over are missed.
func (f *flow) next(every *workflow.Periodic) (in time.Duration, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, missed := f.rec.Periods, 0
	since := f.since(every)
	if last := every.Last(since); !f.rec.Cancelled && last > p.Next {
		if every.Count > 0 {
			last = min(last, every.Count)
		}
		missed = last - p.Next
		p.Next, p.Missed = last, p.Missed+missed
	}
	more = !f.rec.Cancelled && (every.Count == 0 || p.Next < every.Count)
	if missed > 0 {
		f.keep()
		f.keeper.config.Log.Warn("periods of a workflow were missed", "workflow", f.spec.ID, "periods", missed)
	}
	if !more {
		return maxWait, false
	}
	return max(every.Instant(p.Next)-since, 0), true
}

// closed ends the workflow if no instance is open.
func (f *flow) closed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rec.Periods.Open)+len(f.counted) > 0 {
		return false
	}
	for i := range f.rec.Tasks {
		if t := &f.rec.Tasks[i]; !t.Over() {
			t.State, t.Reason = api.FlowCancelled, "no instance has run it"
		}
	}
	f.finish()
	f.keep()
	return true
}

// view is how the periods are; f.mu is held.
func (p *periods) view() *api.FlowPeriods {
	if p == nil {
		return nil
	}
	v := &api.FlowPeriods{Begun: p.Next - p.Missed, Open: len(p.Open), Done: p.Done, Failed: p.Failed, Missed: p.Missed, Late: p.Late, Waits: p.Waits, Reserved: p.Reserved, Unreserved: p.Unreserved}
	if p.Taken != nil {
		v.Begun = p.Next // what was left out has no number
	}
	if ages := slices.Sorted(slices.Values(p.Ages)); len(ages) > 0 {
		v.AgeP50S, v.AgeP99S, v.AgeMostS = ages[len(ages)/2].Seconds(), ages[len(ages)*99/100].Seconds(), ages[len(ages)-1].Seconds()
	}
	return v
}
