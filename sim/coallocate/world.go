package coallocate

import (
	"context"
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// World is one simulation.
type World struct {
	Grid    *Grid
	Jobs    []Job
	Policy  plan.Policy // of each site
	Cycle   grid.Tick   // between two planning cycles
	Window  grid.Tick   // what starts within it is reserved
	Gain    grid.Tick   // several sites are taken if they end the job so much sooner than one
	Horizon grid.Tick   // so far sites tell what is free
	Sites   int         // at most so many for one job
	Several bool        // jobs may run at several sites; else each goes to one
}

// Outcome is what became of one job.
type Outcome struct {
	Start, End grid.Tick
	Sites      int // 0: it never ran
}

// Result is what became of all jobs.
type Result struct {
	Outcomes []Outcome
	Idle     float64 // node-seconds, until the last job came, in which waiting jobs of a site would have run but for reservations
}

// run is a world on its way.
type run struct {
	*World
	now     grid.Tick
	came    int
	sites   []*site
	home    []int // wide jobs that wait there
	planned grid.Tick
	held    []*held
	out     []Outcome
	idle    float64 // as in Result
}

// site is one batch system.
type site struct {
	plan.Snapshot
	jobs []int       // of Waiting
	ends []grid.Tick // of Running, really
	old  bool        // something has changed since the last pass
	kept int         // nodes that reservations keep idle since then
}

// held is reserved nodes of a job that has not started.
type held struct {
	job          int
	id           string
	start, limit grid.Tick
	parts        map[int][]plan.Share // by site
	slow         float64
}

// Run simulates until all jobs that can run have run.
func (w *World) Run(ctx context.Context) (Result, error) {
	r := &run{World: w, out: make([]Outcome, len(w.Jobs))}
	for j, size := range w.Grid.Sizes {
		s := &site{Snapshot: plan.Snapshot{Policy: w.Policy, Site: grid.Site{Name: grid.SiteName(fmt.Sprintf("s%d", j)), Speed: w.Grid.Speed[j]}}}
		for n := range size {
			s.Nodes = append(s.Nodes, plan.Node{Name: grid.NodeName(fmt.Sprintf("n%03d", n)), Cores: 1})
		}
		r.sites = append(r.sites, s)
	}
	for {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		at, ok := r.next()
		if !ok {
			return Result{r.out, r.idle}, nil
		}
		r.pause(min(at, w.Jobs[len(w.Jobs)-1].Submit))
		r.now = at
		r.step()
	}
}

// pause counts what is idle until an instant.
func (r *run) pause(until grid.Tick) {
	for _, s := range r.sites {
		r.idle += float64(s.kept) * max(0, (until-r.now).Seconds())
	}
}

// next is the instant of the next event; false after the last.
func (r *run) next() (at grid.Tick, ok bool) {
	note := func(t grid.Tick) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if r.came < len(r.Jobs) {
		note(r.Jobs[r.came].Submit)
	}
	for _, s := range r.sites {
		for _, end := range s.ends {
			note(end)
		}
	}
	for _, h := range r.held {
		note(h.start)
	}
	if len(r.home) > 0 && (ok || r.planned < r.now) { // with nothing else to come a cycle changes nothing
		note(max(r.now, r.planned+r.Cycle))
	}
	return at, ok
}

func (r *run) step() {
	for _, s := range r.sites {
		s.At = r.now
		for i := len(s.ends) - 1; i >= 0; i-- {
			if s.ends[i] <= r.now {
				s.ends, s.Running, s.old = slices.Delete(s.ends, i, i+1), slices.Delete(s.Running, i, i+1), true
			}
		}
	}
	r.begin()
	for ; r.came < len(r.Jobs) && r.Jobs[r.came].Submit <= r.now; r.came++ {
		r.arrive(r.came)
	}
	if len(r.home) > 0 && r.now >= r.planned+r.Cycle {
		r.planned = r.now
		r.plan()
	}
	for _, s := range r.sites {
		if s.old {
			r.pass(s)
		}
	}
}

// arrive puts a job where it waits.
func (r *run) arrive(job int) {
	j := &r.Jobs[job]
	switch {
	case !j.Wide:
		r.queue(r.sites[j.Site], job)
	case r.Several:
		r.home = append(r.home, job)
	default:
		if alone := r.alone(j, r.plans()); len(alone) > 0 {
			r.queueAt(first(alone).Site, job)
		}
	}
}

func first(alone []plan.Alone) plan.Alone {
	return slices.MinFunc(alone, func(a, b plan.Alone) int { return int(min(max(a.End-b.End, -1), 1)) })
}

func (r *run) queueAt(name grid.SiteName, job int) {
	i := slices.IndexFunc(r.sites, func(s *site) bool { return s.Site.Name == name })
	r.queue(r.sites[i], job)
}

func (r *run) queue(s *site, job int) {
	j := &r.Jobs[job]
	s.Waiting = append(s.Waiting, plan.Waiting{Job: name(job), Demand: demand(j), Limit: limit(j.Limit, s.Site.Speed)})
	s.jobs, s.old = append(s.jobs, job), true
}

func name(job int) grid.JobID { return grid.JobID(fmt.Sprint(job)) }

func demand(j *Job) grid.Demand {
	return grid.Demand{Chunks: []grid.Chunk{{Count: j.Processes, Processes: 1, Cores: 1}}}
}

// limit is the kill limit at a speed, never below what was asked for.
func limit(limit grid.Tick, speed float64) grid.Tick { return max(limit, at(limit, speed)) }

func at(t grid.Tick, speed float64) grid.Tick { return max(1, grid.FromSeconds(t.Seconds()/speed)) }

func (r *run) plans() []*plan.Plan {
	out := make([]*plan.Plan, len(r.sites))
	for i, s := range r.sites {
		out[i] = plan.Build(s.Snapshot)
	}
	return out
}

// alone are the sites that could run a job by themselves.
func (r *run) alone(j *Job, plans []*plan.Plan) (out []plan.Alone) {
	for i, s := range r.sites {
		start, refusal := plans[i].Ask(plan.Question{Demand: demand(j), Limit: limit(j.Limit, s.Site.Speed), NotBefore: r.now})
		if refusal == nil {
			out = append(out, plan.Alone{Site: s.Site.Name, Start: start, End: start + at(j.Limit, s.Site.Speed)})
		}
	}
	return out
}

// pass starts what can start at a site.
func (r *run) pass(s *site) {
	s.old = false
	started := plan.Pass(s.Snapshot)
	gone := make(map[int]bool)
	for _, a := range started {
		job := s.jobs[a.Index]
		end := r.now + at(r.Jobs[job].Run, s.Site.Speed)
		s.Running = append(s.Running, plan.Running{Job: name(job), Shares: a.Shares, Start: r.now, End: a.End})
		s.ends = append(s.ends, end)
		r.out[job] = Outcome{r.now, end, 1}
		gone[a.Index] = true
	}
	var waiting []plan.Waiting
	var jobs []int
	for i := range s.Waiting {
		if !gone[i] {
			waiting, jobs = append(waiting, s.Waiting[i]), append(jobs, s.jobs[i])
		}
	}
	s.Waiting, s.jobs = waiting, jobs
	s.kept = s.without()
}

// without is how many nodes the jobs that wait would get now were nothing reserved.
func (s *site) without() (nodes int) {
	if len(s.Reservations) == 0 || len(s.Waiting) == 0 {
		return 0
	}
	free := s.Snapshot
	free.Reservations = nil
	for _, a := range plan.Pass(free) {
		nodes += s.Waiting[a.Index].Demand.Processes()
	}
	return nodes
}
