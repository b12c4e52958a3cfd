package flows

import (
	"context"
	"slices"
	"sync"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/grid"
)

const (
	// maxProbes bounds the questions before a plan; each goes to all sites at once.
	maxProbes = 10
	// probeLimit is how long the sites have for their answers.
	probeLimit = 6 * time.Second
	// notNow is the wait that is reckoned with where a site takes such a job at another time only, and does not say when.
	notNow = time.Hour
)

// PlacesFlow are the sites as a plan sees them: what they have, how far they are, and when so many cores as are asked about, and a
// choice between one and all, could be had for a job of this walltime.
func (k *Keeper) PlacesFlow(ctx context.Context, who api.Identity, cores []int, walltime grid.Tick) ([]workflow.Place, error) {
	views, err := k.config.Jobs.Sites(ctx)
	if err != nil {
		return nil, err
	}
	if walltime <= 0 {
		walltime = k.config.Walltime
	}
	places := api.PlacesOf(views)
	asking, done := context.WithTimeout(ctx, probeLimit)
	defer done()
	var all sync.WaitGroup
	all.Go(func() { k.between(asking, views, places) })
	all.Go(func() { k.probe(asking, who, places, cores, walltime) })
	all.Wait()
	for i := range places {
		places[i].Overhead = k.overheads.of(places[i].Name)
	}
	return places, nil
}

// probe asks the sites when cores could be had. A site that does not answer is planned as if nobody else ran anything there.
func (k *Keeper) probe(ctx context.Context, who api.Identity, places []workflow.Place, cores []int, walltime grid.Tick) {
	probes := workflow.Probes(cores, places, maxProbes)
	answers := make([]api.Foreseen, len(probes))
	var all sync.WaitGroup
	for n, c := range probes {
		all.Go(func() {
			f, err := k.config.Jobs.Where(ctx, who, api.NewJob{Job: probe(c, walltime)})
			if err != nil {
				k.config.Log.Debug("the sites were not asked when cores can be had", "cores", c, "error", err)
				return
			}
			answers[n] = f
		})
	}
	all.Wait()
	for n, f := range answers {
		for _, row := range f.Candidates {
			if at := slices.IndexFunc(places, func(p workflow.Place) bool { return p.Name == string(row.Site) }); at >= 0 {
				note(&places[at], probes[n], &row)
			}
		}
	}
}

// note takes a site's word about so many cores. What it refuses for ever is more than a plan may use of it.
func note(p *workflow.Place, cores int, row *grid.Candidate) {
	switch {
	case cores > p.Cores:
	case row.Refusal == nil:
		p.Openings = append(p.Openings, workflow.Opening{Cores: cores, After: spanOf(row.Wait)})
	case row.Refusal.MayPass() && row.Refusal.Again > 0:
		p.Openings = append(p.Openings, workflow.Opening{Cores: cores, After: spanOf(row.Refusal.Again)})
	case row.Refusal.MayPass():
		p.Openings = append(p.Openings, workflow.Opening{Cores: cores, After: notNow})
	default:
		p.Cores = max(cores-1, 1)
	}
}

// probe is a job of so many cores, which nobody hands in.
func probe(cores int, walltime grid.Tick) grid.Job {
	return grid.Job{
		Name: "probe", Program: grid.Program{Executable: "/bin/true"}, Walltime: walltime, WalltimeDefaulted: true,
		Demand: grid.Demand{Chunks: []grid.Chunk{{Count: cores, Processes: 1, Cores: 1}}},
	}
}

// waiting tells what the tasks of a workflow that wait need: numbers of cores, and their mean walltime.
func (f *flow) waiting() (cores []int, walltime grid.Tick) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := grid.Tick(0)
	for i := range f.rec.Tasks {
		if f.rec.Tasks[i].State == api.FlowWaiting {
			cores = append(cores, f.parts[i].Job.Demand.Cores())
			walltime += f.parts[i].Job.Walltime
			n++
		}
	}
	slices.Sort(cores)
	return slices.Compact(cores), walltime / max(n, 1)
}

// places are the sites as they are now, with what their own estimates say.
func (f *flow) places(ctx context.Context) []workflow.Place {
	cores, walltime := f.waiting()
	list, err := f.keeper.PlacesFlow(ctx, f.who(), cores, walltime)
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
