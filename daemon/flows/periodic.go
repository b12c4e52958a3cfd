package flows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	planner "gbroker/flow"
	"gbroker/grid"
)

// A periodic workflow is the parent of its instances, each of which is a workflow of one run in a folder of its own, with the
// parent's files. The parent notes on disk that an instance is open, makes it, and counts it when it has ended; then its folder
// is removed. So an instance is counted once, whenever the process was killed; one that was noted and not made, and each whose
// time passed meanwhile, is a missed period.

const (
	// maxOpen is how many instances are under way at most; the period of one more is missed.
	maxOpen = 32
	// maxAges is of how many instances the ages are kept.
	maxAges = 1000
)

// periods is how far a periodic workflow is.
type periods struct {
	Next                       int // number of the next instance, from 0
	Open                       map[int]bool
	Done, Failed, Missed, Late int
	Ages                       []grid.Tick // from the beginning of an instance to its end: of the last that ended well
}

// runPeriods sees a periodic workflow through.
func (f *flow) runPeriods(ctx context.Context) {
	every := f.spec.Submission.Periodic.Every()
	sites, err := f.sustained(ctx, &every)
	if err != nil && f.first() {
		f.refuse(err)
		return
	}
	f.rebase()
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
	for {
		next, more := f.next(&every)
		if !more && f.closed() {
			return
		}
		var due <-chan time.Time
		if more {
			due = time.After(next)
		}
		select {
		case <-ctx.Done():
			return
		case child := <-ended:
			f.count(child, &every)
		case <-f.wake:
			f.cancelInstances()
		case <-due:
			if child := f.instance(&every, sites); child != nil {
				watch(child)
			}
		}
	}
}

// sustained plans the pipeline; it is an error if the sites cannot sustain it.
func (f *flow) sustained(ctx context.Context, every *workflow.Periodic) ([][]string, error) {
	places := f.places(ctx)
	if len(places) == 0 {
		return nil, nil
	}
	w := api.Workflow(f.spec.Submission.Name, f.parts, func(i int, name string) int64 { return f.leaves[i][name] })
	sites, err := w.PlanPeriodic(places, every)
	switch {
	case errors.Is(err, planner.ErrOverload):
		return nil, err
	case err != nil:
		f.keeper.config.Log.Info("a periodic workflow has no plan, and goes on without one", "workflow", f.spec.ID, "error", err)
	}
	return sites, nil
}

// rebase has the first instance begin now.
func (f *flow) rebase() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rec.Periods.Next == 0 {
		f.rec.Begun = f.keeper.config.Now()
		f.keep()
	}
}

// first tells that no instance has begun.
func (f *flow) first() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rec.Periods.Next == 0
}

// refuse ends a workflow that the sites cannot sustain, unless it goes on already.
func (f *flow) refuse(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.rec.Tasks {
		f.rec.Tasks[i].State, f.rec.Tasks[i].Reason = api.FlowCancelled, why.Error()
	}
	f.finish()
	f.keep()
}

// finished waits for the end of an instance; false if ctx is done before.
func (f *flow) finished(ctx context.Context) bool {
	f.mu.Lock()
	over := f.over
	if f.rec.State == ended {
		over = nil
	}
	f.mu.Unlock()
	if over == nil {
		return true
	}
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// reopen finds the instances that were open when the process ended. What was counted is removed, and what was noted and never made is missed.
func (f *flow) reopen() (list []*flow) {
	made := map[int]bool{}
	for _, child := range f.keeper.all() {
		if child.spec.Parent != f.spec.ID {
			continue
		}
		f.mu.Lock()
		open := f.rec.Periods.Open[child.spec.Number]
		f.mu.Unlock()
		if open {
			made[child.spec.Number] = true
			list = append(list, child)
		} else {
			f.keeper.drop(child)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := range f.rec.Periods.Open {
		if !made[n] {
			delete(f.rec.Periods.Open, n)
			f.rec.Periods.Missed++
		}
	}
	return list
}

// drop removes an instance that was counted.
func (k *Keeper) drop(child *flow) {
	child.retire(func() bool { return true })
	if err := k.remove(child); err != nil {
		k.config.Log.Error("an instance of a periodic workflow is not removed", "workflow", child.spec.ID, "error", err)
	}
}

// next is how long until the next instance; more tells that there is one. Periods whose time is over are missed.
func (f *flow) next(every *workflow.Periodic) (in time.Duration, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, missed := f.rec.Periods, 0
	since := spanOf(f.keeper.config.Now() - f.rec.Begun)
	more = func() bool { return !f.rec.Cancelled && (every.Count == 0 || p.Next < every.Count) }()
	for more && since >= every.Instant(p.Next+1) {
		p.Next, p.Missed, missed = p.Next+1, p.Missed+1, missed+1
		more = every.Count == 0 || p.Next < every.Count
	}
	if missed > 0 {
		f.keep()
		f.keeper.config.Log.Warn("periods of a workflow were missed", "workflow", f.spec.ID, "periods", missed)
	}
	return max(every.Instant(p.Next)-since, 0), more
}

// closed ends the workflow if no instance is open.
func (f *flow) closed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rec.Periods.Open) > 0 {
		return false
	}
	for i := range f.rec.Tasks {
		if t := &f.rec.Tasks[i]; !t.over() {
			t.State, t.Reason = api.FlowCancelled, "no instance has run it"
		}
	}
	f.finish()
	f.keep()
	return true
}

// instance begins the next one; nil if its period is missed.
func (f *flow) instance(every *workflow.Periodic, sites [][]string) *flow {
	f.mu.Lock()
	p := f.rec.Periods
	n := p.Next
	p.Next++
	if len(p.Open) >= maxOpen {
		p.Missed++
		f.keep()
		f.mu.Unlock()
		f.keeper.config.Log.Warn("a period of a workflow is missed: too many instances are under way", "workflow", f.spec.ID, "number", n)
		return nil
	}
	p.Open[n] = true
	err := f.save()
	f.mu.Unlock()
	var child *flow
	if err == nil {
		child, err = f.make(n, every, sites)
	}
	if err != nil {
		f.keeper.config.Log.Error("a period of a workflow is missed", "workflow", f.spec.ID, "number", n, "error", err)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(p.Open, n)
		p.Missed++
		f.keep()
		return nil
	}
	return child
}

// make writes an instance and begins it.
func (f *flow) make(n int, every *workflow.Periodic, sites [][]string) (*flow, error) {
	k := f.keeper
	ulid, err := k.config.NewID()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	begun, files := f.rec.Begun+grid.Tick(every.Instant(n).Milliseconds()), maps.Clone(f.rec.Files)
	f.mu.Unlock()
	child := newFlow(k, f.parts)
	child.spec = spec{ID: api.NewFlowID(k.config.Site, ulid), User: f.spec.User, Submission: f.spec.Submission, At: begun, Parent: f.spec.ID, Number: n}
	child.spec.Submission.Periodic = nil
	child.rec = record{State: running, Run: 1, Begun: begun, Memo: map[string]grid.JobID{}, Files: files}
	child.reset()
	child.identify()
	for i := range child.rec.Tasks {
		if len(sites) > 0 { // a pipeline that is sustained repeats itself: its later half is as good for all that follow
			child.rec.Tasks[i].Prefer = sites[row(n, len(sites))][i]
		}
	}
	child.folder = k.folder(child.spec.ID)
	if err := os.MkdirAll(child.folder, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of an instance: %w", err)
	}
	if err := errors.Join(write(child.folder, "state.json", &child.rec), write(child.folder, "spec.json", &child.spec)); err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.add(child)
	k.begin(child)
	k.mu.Unlock()
	return child, nil
}

// row is which of some planned instances another one is like.
func row(n, planned int) int {
	if n < planned {
		return n
	}
	half := max(planned/2, 1)
	return planned - half + (n-planned)%half
}

// count takes what an instance came to, and removes it.
func (f *flow) count(child *flow, every *workflow.Periodic) {
	child.mu.Lock()
	tasks, age := slices.Clone(child.rec.Tasks), child.rec.Ended-child.rec.Begun
	child.mu.Unlock()
	f.mu.Lock()
	p := f.rec.Periods
	if p.Open[child.spec.Number] {
		delete(p.Open, child.spec.Number)
		f.rec.Tasks = tasks
		if slices.ContainsFunc(tasks, func(t task) bool { return !t.well() }) {
			p.Failed++
		} else {
			p.Done++
			p.Ages = append(p.Ages, age)
			p.Ages = p.Ages[max(0, len(p.Ages)-maxAges):]
		}
		if every.Deadline > 0 && spanOf(age) > every.Deadline {
			p.Late++
			f.keeper.config.Log.Warn("an instance of a workflow missed its deadline", "workflow", f.spec.ID, "number", child.spec.Number, "age", spanOf(age))
		}
		f.keep()
	}
	f.mu.Unlock()
	f.keeper.drop(child)
}

// cancelInstances ends those of a workflow that was cancelled.
func (f *flow) cancelInstances() {
	f.mu.Lock()
	cancelled := f.rec.Cancelled
	f.mu.Unlock()
	if !cancelled {
		return
	}
	for _, child := range f.keeper.all() {
		if child.spec.Parent == f.spec.ID {
			if err := child.cancel(); err != nil {
				f.keeper.config.Log.Error("an instance of a cancelled workflow is not cancelled", "workflow", child.spec.ID, "error", err)
			}
		}
	}
}

// view is how the periods are; f.mu is held.
func (p *periods) view() *api.FlowPeriods {
	if p == nil {
		return nil
	}
	v := &api.FlowPeriods{Begun: p.Next - p.Missed, Open: len(p.Open), Done: p.Done, Failed: p.Failed, Missed: p.Missed, Late: p.Late}
	if ages := slices.Sorted(slices.Values(p.Ages)); len(ages) > 0 {
		v.AgeP50S, v.AgeP99S, v.AgeMostS = ages[len(ages)/2].Seconds(), ages[len(ages)*99/100].Seconds(), ages[len(ages)-1].Seconds()
	}
	return v
}

// inputsFolder has the files of the workflow.
func (f *flow) inputsFolder() string {
	if f.spec.Parent != "" {
		return filepath.Join(f.keeper.folder(f.spec.Parent), "in")
	}
	return filepath.Join(f.folder, "in")
}
