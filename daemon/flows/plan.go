package flows

import (
	"context"
	"math"
	"slices"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/flow/enact"
	"gbroker/grid"
)

// margin is by how much a task may end beside the plan before the rest is planned again: a second, and a tenth of
// what has gone of the run.
const margin = time.Second

// strays tells that a task has ended off its plan; f.mu is held.
func (f *flow) strays(t *enact.Task) bool {
	if t.Ended == 0 || t.PlanEnd == 0 {
		return false
	}
	off := spanOf(t.Ended-f.rec.Begun) - t.PlanEnd
	return off.Abs() > margin+spanOf(t.Ended-f.rec.Begun)/10
}

// spanOf is a time as others may say it, cut to what a Duration holds.
func spanOf(t grid.Tick) time.Duration {
	const most = grid.Tick(math.MaxInt64 / time.Millisecond)
	return time.Duration(min(max(t, -most), most)) * time.Millisecond
}

// replans plans again whenever it is worth it, beside the run: sites take their time to answer.
func (f *flow) replans(ctx context.Context) {
	look, ask := time.NewTicker(lookAtSites), time.NewTicker(askSites)
	defer look.Stop()
	defer ask.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.stray:
			f.plan(ctx)
		case <-look.C:
			if f.off(ctx) {
				f.plan(ctx)
			}
		case <-ask.C:
			f.askAgain(ctx)
		}
	}
}

// off tells that a site of a task that waits can no longer be had, or that a task is late.
func (f *flow) off(ctx context.Context) bool {
	views, err := f.keeper.config.Jobs.Sites(ctx)
	if err != nil {
		return false
	}
	places := api.PlacesOf(views)
	f.mu.Lock()
	defer f.mu.Unlock()
	now := spanOf(f.keeper.config.Now() - f.rec.Begun)
	gone, late, waits := false, false, false
	for i := range f.rec.Tasks {
		t := &f.rec.Tasks[i]
		waits = waits || t.State == api.FlowWaiting
		gone = gone || t.State == api.FlowWaiting && t.Prefer != "" && !slices.ContainsFunc(places, func(p workflow.Place) bool { return p.Name == t.Prefer })
		late = late || t.State == api.FlowGiven && t.PlanEnd > 0 && now-t.PlanEnd > margin+now/10
	}
	return waits && (gone || late)
}

// askAgain plans again where the estimates of the sites have moved.
func (f *flow) askAgain(ctx context.Context) {
	needs := f.waiting()
	if len(needs.Cores) == 0 {
		return
	}
	places := f.places(ctx)
	f.mu.Lock()
	ago := spanOf(f.keeper.config.Now()-f.rec.Begun) - f.plannedAt
	again := moved(f.planned, places, needs.Cores[len(needs.Cores)-1], ago)
	f.mu.Unlock()
	if again {
		f.planOver(ctx, places)
	}
}

// plan says of all tasks that wait where they had best run.
func (f *flow) plan(ctx context.Context) { f.planOver(ctx, f.places(ctx)) }

func (f *flow) planOver(ctx context.Context, places []workflow.Place) {
	learned := f.keeper.learned(ctx, f.spec.User)
	f.mu.Lock()
	w := api.Workflow(f.spec.Submission.Name, f.parts, func(i int, name string) int64 { return f.leaves[i][name] })
	now := spanOf(f.keeper.config.Now() - f.rec.Begun)
	progress := make([]workflow.Progress, len(f.parts))
	for i := range f.rec.Tasks {
		progress[i] = f.progress(i, places, learned)
	}
	freed := f.freed(places, progress)
	f.mu.Unlock()
	if len(places) == 0 {
		return
	}
	planned, err := w.Plan(freed, progress, workflow.Quick)
	if err != nil {
		f.keeper.config.Log.Info("a workflow has no plan, and goes on without one", "workflow", f.spec.ID, "error", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.planned, f.plannedAt = places, now
	for i := range f.rec.Tasks {
		switch t := &f.rec.Tasks[i]; t.State {
		case api.FlowWaiting:
			t.Prefer, t.Way, t.PlanEnd = planned.Tasks[i].Site, planned.Tasks[i].Way, now+planned.Tasks[i].End
		case api.FlowGiven:
			t.PlanEnd = max(t.PlanEnd, now+progress[i].Left) // one that is late is expected later now
		}
	}
	if f.rec.Plans++; f.rec.Plans == 1 {
		f.rec.Planned, f.rec.Bound = now+planned.Makespan, max(planned.Path, planned.Work)
	}
	f.keep()
}

// freed are the places, where what tasks of this workflow have is free again when the home expects them to end: the sites may take them to
// run to their limits. f.mu is held.
func (f *flow) freed(places []workflow.Place, progress []workflow.Progress) []workflow.Place {
	places = slices.Clone(places)
	for at := range places {
		cores, last, held := 0, time.Duration(0), map[string]int{}
		for i := range progress {
			if s := &progress[i]; s.Runs && s.At == at && f.rec.Tasks[i].Started > 0 {
				cores, last = cores+f.cores(i), max(last, s.Left)
				for _, r := range amountsOf(f.way(i).Job.Demand) {
					held[r.Name] += int(r.Amount)
				}
			}
		}
		places[at].Openings = giveBack(places[at].Openings, cores, last)
		places[at].Amounts = slices.Clone(places[at].Amounts)
		for k := range places[at].Amounts {
			if a := &places[at].Amounts[k]; held[a.Name] > 0 {
				a.Openings = giveBack(a.Openings, held[a.Name], last)
			}
		}
	}
	return places
}

// giveBack has so many cores free after a time, beside those that are now.
func giveBack(openings []workflow.Opening, cores int, after time.Duration) []workflow.Opening {
	free := 0
	for _, o := range openings {
		if o.After < time.Second {
			free = max(free, o.Cores)
		}
	}
	openings = slices.Clone(openings)
	for i := range openings {
		if o := &openings[i]; o.Cores <= free+cores {
			o.After = min(o.After, after)
		}
	}
	return openings
}

// wayOf is the index of the configuration in which a task runs, or is planned to; f.mu is held.
func (f *flow) wayOf(i int) int { return min(max(f.rec.Tasks[i].Way, 0), len(f.parts[i].Ways)-1) }

// way is that configuration; f.mu is held.
func (f *flow) way(i int) *api.FlowWay { return &f.parts[i].Ways[f.wayOf(i)] }

// cores are those of a task in it; f.mu is held.
func (f *flow) cores(i int) int { return max(f.way(i).Job.Demand.Cores(), 1) }

// progress is how far a task is; f.mu is held.
func (f *flow) progress(i int, places []workflow.Place, learned map[string]*experience) workflow.Progress {
	t := &f.rec.Tasks[i]
	s := workflow.Progress{Done: t.Over()}
	for k := range f.parts[i].Ways {
		way := &f.parts[i].Ways[k]
		x := learned[kindOf(f.parts[i].Name, way)]
		s.Needs, s.Least = append(s.Needs, x.expects(way.Said())), append(s.Least, x.atLeast(way.Said()))
	}
	if t.State != api.FlowGiven {
		return s
	}
	at := slices.IndexFunc(places, func(p workflow.Place) bool { return p.Name == t.Site })
	if at < 0 {
		return s
	}
	whole := s.Needs[f.wayOf(i)]
	if whole == 0 {
		one := workflow.Configuration{Runtime: f.way(i).Said(), Walltime: spanOf(f.way(i).Job.Walltime)}
		whole = one.Expected()
	}
	s.Runs, s.At, s.Way, s.Left = true, at, f.wayOf(i), time.Duration(min(float64(whole)/places[at].Speed, float64(math.MaxInt64/2)))
	if t.Started > 0 { // one that has run longer than it was to is expected to run a tenth of that more
		ran := spanOf(f.keeper.config.Now() - t.Started)
		s.Left = max(s.Left-ran, ran/10, time.Millisecond)
	}
	s.Left += places[at].Overhead
	return s
}
