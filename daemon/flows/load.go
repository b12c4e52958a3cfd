package flows

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/grid"
)

const (
	// maxProbes bounds the questions about cores before a plan.
	maxProbes = 10
	// maxShapes is how many kinds of tasks the sites are asked about, whether they could ever run them.
	maxShapes = 32
	// probeLimit is how long the sites have for their answers.
	probeLimit = 6 * time.Second
	// notNow is the wait that is reckoned with where a site takes such a job at another time only, and does not say when.
	notNow = time.Hour
)

// PlacesFlow are the sites as a plan sees them: what they have, how far they are, and when so many cores, and so much memory and other resources, could
// be had for a job of this walltime.
func (k *Keeper) PlacesFlow(ctx context.Context, who api.Identity, needs api.FlowNeeds) ([]workflow.Place, error) {
	views, err := k.config.Jobs.Sites(ctx)
	if err != nil {
		return nil, err
	}
	if needs.Walltime <= 0 {
		needs.Walltime = k.config.Walltime
	}
	places := api.PlacesOf(views)
	asking, done := context.WithTimeout(ctx, probeLimit)
	defer done()
	var all sync.WaitGroup
	var ways []map[string]float64
	all.Go(func() { ways = k.between(asking, views, places) })
	all.Go(func() { k.probe(asking, who, places, needs) })
	all.Wait()
	for i := range ways {
		places[1+i].Ways = ways[i]
	}
	for i := range places {
		places[i].Overhead = k.overheads.of(&places[i])
	}
	return places, nil
}

// probe asks the sites when cores and resources could be had. A site that does not answer is planned as if nobody else ran anything there, and as if
// it had no resources.
func (k *Keeper) probe(ctx context.Context, who api.Identity, places []workflow.Place, needs api.FlowNeeds) {
	var asked []asking
	for _, n := range workflow.Probes(needs.Cores, places, maxProbes) {
		asked = append(asked, asking{times: n})
	}
	asked = append(asked, amounts(needs.Tasks, places)...)
	jobs := make([]grid.Job, len(asked))
	for n := range asked {
		jobs[n] = probe(asked[n].demand(), needs.Walltime)
	}
	shapes := slices.Sorted(maps.Keys(needs.Shapes))
	for _, shape := range shapes {
		jobs = append(jobs, needs.Shapes[shape])
	}
	select {
	case k.probing <- struct{}{}:
		defer func() { <-k.probing }()
	case <-ctx.Done():
		return
	}
	answers, err := k.config.Jobs.WhereEach(ctx, who, jobs)
	if err != nil {
		k.config.Log.Debug("the sites were not asked about what tasks need", "error", err)
		return
	}
	for n, f := range answers {
		for _, row := range f.Candidates {
			at := slices.IndexFunc(places, func(p workflow.Place) bool { return p.Name == string(row.Site) })
			switch {
			case at < 0:
			case n >= len(asked):
				if _, ever := opening(&row); !ever {
					places[at].Refuses = append(places[at].Refuses, shapes[n-len(asked)])
				}
			default:
				asked[n].note(&places[at], &row)
			}
		}
	}
}

// opening is when a site says that it can give what was asked for; false is never.
func opening(row *grid.Candidate) (after time.Duration, ever bool) {
	switch {
	case row.Refusal == nil:
		return spanOf(row.Wait), true
	case row.Refusal.MayPass() && row.Refusal.Again > 0:
		return spanOf(row.Refusal.Again), true
	case row.Refusal.MayPass():
		return notNow, true
	}
	return 0, false
}

// note takes a site's word about so many cores. What it refuses for ever is more than a plan may use of it.
func note(p *workflow.Place, cores int, row *grid.Candidate) {
	if cores > p.Cores {
		return
	}
	if after, ever := opening(row); ever {
		p.Openings = append(p.Openings, workflow.Opening{Cores: cores, After: after})
	} else {
		p.Cores = max(cores-1, 1)
	}
}

// probe is a job of a demand, which nobody hands in.
func probe(d grid.Demand, walltime grid.Tick) grid.Job {
	return grid.Job{Name: "probe", Program: grid.Program{Executable: "/bin/true"}, Walltime: walltime, WalltimeDefaulted: true, Demand: d}
}

// waiting tells what the tasks of a workflow that wait need, in all their configurations, and their mean walltime.
func (f *flow) waiting() (needs api.FlowNeeds) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := grid.Tick(0)
	needs.Shapes = map[string]grid.Job{}
	for i := range f.rec.Tasks {
		if f.rec.Tasks[i].State != api.FlowWaiting {
			continue
		}
		for k := range f.parts[i].Ways {
			way := &f.parts[i].Ways[k]
			j := &way.Job
			if len(needs.Shapes) < maxShapes {
				one := probe(j.Demand, j.Walltime)
				one.WalltimeDefaulted, one.Queue, one.Sites = j.WalltimeDefaulted, j.Queue, grid.Choice{Only: j.Sites.Only, Not: j.Sites.Not}
				needs.Shapes[way.Shape()] = one
			}
			needs.Cores, needs.Tasks = append(needs.Cores, j.Demand.Cores()), append(needs.Tasks, j.Demand)
			needs.Walltime += j.Walltime
			n++
		}
	}
	slices.Sort(needs.Cores)
	needs.Cores, needs.Walltime = slices.Compact(needs.Cores), needs.Walltime/max(n, 1)
	return needs
}

// places are the sites as they are now, with what their own estimates say.
func (f *flow) places(ctx context.Context) []workflow.Place {
	list, err := f.keeper.PlacesFlow(ctx, f.who(), f.waiting())
	if err != nil {
		return nil
	}
	return list
}

// moved tells that the estimates of a site are off those of the plan, made ago, by more than a margin: of the wait for the most
// cores that a waiting task needs.
func moved(planned, now []workflow.Place, most int, ago time.Duration) bool {
	for i := range now {
		at := slices.IndexFunc(planned, func(p workflow.Place) bool { return p.Name == now[i].Name })
		if at < 0 {
			return true // a site that can be had again
		}
		before := max(wait(&planned[at], most)-ago, 0)
		if off := wait(&now[i], most) - before; off.Abs() > estimateMargin+before/10 {
			return true
		}
	}
	return false
}

// estimateMargin is by how much the wait at a site may change beside the plan, with a tenth of it.
const estimateMargin = 10 * time.Second

// wait is how long until a place has so many cores.
func wait(p *workflow.Place, cores int) time.Duration {
	longest := time.Duration(0)
	for _, o := range p.Openings {
		if o.Cores <= max(cores, 1) {
			longest = max(longest, o.After)
		}
	}
	return longest
}
