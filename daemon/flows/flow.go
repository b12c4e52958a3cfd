package flows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/flow/enact"
	"gbroker/grid"
)

// flow is a workflow.
type flow struct {
	keeper *Keeper
	folder string
	spec   spec
	parts  []api.FlowPart
	graph  []enact.Vertex     // of parts
	leaves []map[string]int64 // by task: sizes of what it left, or leaves about

	wake  chan struct{} // something has changed that the run has to look at
	stray chan struct{} // a task has ended beside the plan

	mu   sync.Mutex
	rec  record
	over chan struct{} // closed when the run has ended

	state   atomic.Pointer[string] // that of rec, for who may not wait for the disk
	runs    atomic.Int64           // that of rec
	begun   int                    // the last run that was seen through; of Keeper.mu
	retired bool                   // it is being removed

	parent  *flow   // of an instance
	found   bool    // on disk, at a start
	read    clocks  // when the run of a periodic one last looked
	lost    []int   // numbers of instances that could not be read at a start
	counted []*flow // instances whose removal waits for the disk; of the run

	planned   []workflow.Place // the sites as the last plan saw them
	plannedAt time.Duration    // after the beginning of the run
}

func newFlow(k *Keeper, parts []api.FlowPart) *flow {
	return &flow{keeper: k, parts: parts, wake: make(chan struct{}, 1), stray: make(chan struct{}, 1), over: make(chan struct{})}
}

// identify has the graph, and the sizes that are said of what tasks leave.
func (f *flow) identify() {
	f.graph = make([]enact.Vertex, len(f.parts))
	for i := range f.parts {
		f.graph[i] = enact.Vertex{Name: f.parts[i].Name, Needs: f.parts[i].Needs, Rerunnable: f.parts[i].Rerunnable}
	}
	f.leaves = make([]map[string]int64, len(f.parts))
	for i := range f.parts {
		f.leaves[i] = maps.Clone(f.parts[i].Sizes)
		if f.leaves[i] == nil {
			f.leaves[i] = map[string]int64{}
		}
	}
}

// reset makes all tasks wait.
func (f *flow) reset() {
	f.rec.Tasks = make([]enact.Task, len(f.parts))
	for i := range f.rec.Tasks {
		f.rec.Tasks[i].State = api.FlowWaiting
	}
}

func (f *flow) memo() map[string]grid.JobID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.rec.Memo)
}

// show lets others see which state it has; f.mu is held.
func (f *flow) show() {
	state := f.rec.State
	f.state.Store(&state)
	f.runs.Store(int64(f.rec.Run))
}

// phase is the state, without waiting for a write that is under way.
func (f *flow) phase() string { return *f.state.Load() }

// save makes the record durable; f.mu is held. One that is being removed has none any more: a plan may still be under way.
func (f *flow) save() error {
	if f.retired {
		return nil
	}
	err := f.keeper.write(f.folder, "state.json", &f.rec)
	if err == nil {
		f.tell(false)
	}
	return err
}

// tell has it known that the workflow has changed; instances are seen by what their parent says of them.
func (f *flow) tell(removed bool) {
	if f.keeper.config.Changed != nil && f.spec.Parent == "" {
		f.keeper.config.Changed(f.spec.ID, f.spec.User, removed)
	}
}

// start begins a run of a workflow in the state from, where all files are here. In another state it does nothing.
func (f *flow) start(from string) (begun bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.retired {
		return false, fmt.Errorf("%w: the workflow %s was kept long enough, and is removed", grid.ErrNotFound, f.spec.ID)
	}
	if f.rec.State != from {
		return false, nil
	}
	for _, file := range f.spec.Submission.Files {
		if f.rec.Files[file.Path] == "" {
			return false, fmt.Errorf("%w: the file %q of the workflow %s has not been sent", grid.ErrInvalid, file.Path, f.spec.ID)
		}
	}
	before := f.rec
	f.reset()
	f.rec.State, f.rec.Cancelled, f.rec.Begun, f.rec.Ended, f.rec.Plans, f.rec.Planned = running, false, f.keeper.config.Now(), 0, 0, 0
	f.rec.Run++
	if p := f.rec.Periods; p != nil {
		f.rec.Periods = &periods{Open: map[int]bool{}, Taken: p.wellTaken()}
	}
	if err := f.save(); err != nil {
		f.rec = before
		return false, err
	}
	f.over, f.found = make(chan struct{}), false
	f.show()
	return true, nil
}

// cancel ends what runs, and lets nothing more begin.
func (f *flow) cancel() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stir() // also where it was asked before: the jobs are asked again
	if f.rec.State == ended || f.rec.Cancelled {
		return nil
	}
	f.rec.Cancelled = true
	if f.rec.State == coming {
		f.finish()
	}
	return f.save()
}

// stir has the run look again.
func (f *flow) stir() { raise(f.wake) }

// raise puts a sign into a channel of one place.
func raise(sign chan struct{}) {
	select {
	case sign <- struct{}{}:
	default:
	}
}

// run sees a run through.
func (f *flow) run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	var under sync.WaitGroup
	defer under.Wait()
	defer stop()
	given := map[int]bool{} // tasks that are seen through by an attempt of this process
	ends := make(chan outcome)
	look := time.NewTicker(lookAtSites)
	defer look.Stop()
	if f.spec.Parent == "" { // that of a periodic workflow plans for its instances
		planned := make(chan struct{})
		under.Go(func() {
			f.plan(ctx)
			close(planned)
			f.replans(ctx)
		})
		select {
		case <-planned:
		case <-time.After(planLimit): // a site does not answer: what can begin does not wait for that
		case <-ctx.Done():
		}
	}
	f.cancelJobs(ctx)
	for {
		for _, i := range f.due() {
			if !given[i] {
				given[i] = true
				under.Go(func() {
					o := f.attempt(ctx, i)
					select {
					case ends <- o:
					case <-ctx.Done():
					}
				})
			}
		}
		f.giveUp(ctx, f.unused())
		if f.settled() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case o := <-ends:
			delete(given, o.task)
			if f.take(o) {
				raise(f.stray)
			}
		case <-f.wake:
			f.cancelJobs(ctx)
		case <-look.C:
			f.cancelJobs(ctx)
		}
	}
}

// How often a run looks which sites can be had and what is late, and asks the sites for estimates.
const (
	lookAtSites = 5 * time.Second
	planLimit   = time.Second // for which the beginning of a run waits for its plan
	askSites    = 30 * time.Second
)

// maxGiven bounds the tasks of one workflow that are handed in at a time.
const maxGiven = 128

// enacted is the run as package enact sees it; it shares the tasks. f.mu is held.
func (f *flow) enacted() *enact.Run {
	return &enact.Run{Graph: f.graph, Tasks: f.rec.Tasks, Retries: f.spec.Submission.Retries, Cancelled: f.rec.Cancelled}
}

// due are the tasks that can be handed in, or were when this process did not run.
func (f *flow) due() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	list, changed := f.enacted().Due(maxGiven)
	if changed {
		f.keep()
	}
	return list
}

// keep saves, and tells the log where that fails: what is not on disk is found again by the keys of jobs.
func (f *flow) keep() {
	if err := f.save(); err != nil {
		f.keeper.config.Log.Error("how far a workflow is cannot be written", "workflow", f.spec.ID, "error", err)
	}
}

// settled ends the run when nothing waits any more.
func (f *flow) settled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.enacted().Over() {
		return false
	}
	f.finish()
	f.keep()
	return true
}

func (f *flow) finish() {
	f.rec.State, f.rec.Ended = ended, f.keeper.config.Now()
	f.show()
	close(f.over)
}

// take notes what came of an attempt; it tells whether to plan again.
func (f *flow) take(o outcome) (replan bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	came := enact.Outcome{Known: f.keeper.config.Now(), Digest: o.digest, Reused: o.reused, Err: o.err, Final: errors.Is(o.err, grid.ErrInvalid) || o.record.CancelRequested}
	if came.Job = o.record.Job.ID; came.Job != "" {
		came.Started, came.Ended, came.Site = o.record.Started, o.record.Finished, f.keeper.config.Jobs.SiteName(o.record.Owner)
	}
	if !f.enacted().Take(o.task, &came) {
		return false
	}
	t := &f.rec.Tasks[o.task]
	t.Overhead = f.overhead(o.task)
	f.keeper.overheads.saw(t)
	if replan = t.State == enact.Waiting || t.State == enact.Failed; o.err == nil {
		f.rec.Memo[o.digest] = t.Job
		for _, file := range o.record.Outputs {
			f.leaves[o.task][file.Path] = file.Size
		}
		replan = !o.reused && f.strays(t)
	}
	f.keep()
	return replan
}

// cancelLimit is how long the cancel of a job may take; what is not done then is asked again.
const cancelLimit = 2 * time.Second

// cancelJobs asks for the end of the jobs of a workflow that was cancelled, again and again until they have ended.
func (f *flow) cancelJobs(ctx context.Context) {
	f.mu.Lock()
	var list []grid.JobID
	for i := range f.rec.Tasks {
		if t := &f.rec.Tasks[i]; f.rec.Cancelled && t.State == api.FlowGiven && t.Job != "" {
			list = append(list, t.Job)
		}
	}
	f.mu.Unlock()
	var all sync.WaitGroup
	for _, id := range list {
		all.Go(func() {
			ctx, done := context.WithTimeout(ctx, cancelLimit)
			defer done()
			if _, _, err := f.keeper.config.Jobs.Cancel(ctx, f.who(), id); err != nil {
				f.keeper.config.Log.Info("a job of a cancelled workflow is not yet cancelled", "job", id, "error", err)
			}
		})
	}
	all.Wait()
}

// key is what the keys of its jobs begin with.
func (f *flow) key() string { return cmp.Or(f.spec.Key, string(f.spec.ID)) }

// who is the user, as who asks the broker.
func (f *flow) who() api.Identity { return api.Identity{Name: f.spec.User} }

// status is how it is.
func (f *flow) status() api.FlowStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &f.rec
	s := api.FlowStatus{
		ID: f.spec.ID, Name: f.spec.Submission.Name, User: f.spec.User, State: r.State, Cancelled: r.Cancelled, Run: r.Run, States: map[string]int{},
		Submitted: api.Time(f.spec.At), Begun: api.Time(r.Begun), Ended: api.Time(r.Ended), PlannedS: r.Planned.Seconds(), BoundS: r.Bound.Seconds(), PlansMade: r.Plans, Periods: r.Periods.view(),
	}
	if r.Ended != 0 && r.Begun != 0 {
		s.MakespanS = (r.Ended - r.Begun).Seconds()
	}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		s.States[t.State]++
		s.Tasks = append(s.Tasks, api.FlowTaskView{
			Name: f.parts[i].Name, State: t.State, Attempt: t.Attempt, Job: t.Job, Site: t.Site, Planned: t.Prefer,
			Started: api.Time(t.Started), Ended: api.Time(t.Ended), Reason: t.Reason,
		})
		if t.State != api.FlowReused {
			s.Tasks[i].Configuration = f.way(i).Name
		}
		for _, k := range f.parts[i].Needs {
			s.Edges = append(s.Edges, [2]int{k, i})
		}
	}
	return s
}
