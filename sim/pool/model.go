// Package pool simulates pools of shared desktops in virtual time. Which job runs where is decided by the
// code of package [gbroker/pool]; here are the worlds, and the reckoning.
//
// # The published model
//
// 100 computers have an effective performance H uniform in [0.1, 1], each for the whole run. 1,000 jobs of
// work W uniform in [150, 750] arrive uniformly in [0, TS], where TS = sum W / sum H: the pool can just do
// all of the work in that time. The deadline of a job is a W after its arrival, a uniform in [1.1, 5] and drawn for
// each job. A job is done well if it ends by its deadline; all others are failures. Weak computers (H = 0.2) may be
// added: on them no job can be in time, and only a rule that does not look at deadlines uses them. TS stays that of
// the first pool, or is that of the enlarged one.
//
//	job arrives ──► waits ──► rule, at each arrival and end ──► runs, W / H long ──► ends in time
//	                  │                                           ├── late: fails when it ends (fcfs)
//	                  └── no computer could end it in time        └── killed at its deadline (all others)
//
// # Jobs that can be cut
//
// With parts each job is a range of 100 units, which a rule of best fit cuts for computers that are free ([gbroker/pool.Rule.AssignParts]):
// there weak computers help. A job is done when all of its parts are.
//
// # Errors of the forecast
//
// With an error sigma the computer has in truth H (1 + sigma z), z from the normal distribution, at least a
// hundredth of H; z is drawn for each run of a job, or once for each computer. The rule sees H ([Forecast]), the truth that
// the next run will have ([Full]), or for all computers alike the mean of the pool ([None]).
package pool

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"gbroker/grid"
	"gbroker/pool"
)

// Arrivals is by which pool the span of arrivals is reckoned.
type Arrivals string

// Spans of arrivals.
const (
	First    Arrivals = "first"    // of what there is without the weak computers
	Enlarged Arrivals = "enlarged" // of all computers
)

// Errors is what an error of the forecast is drawn for.
type Errors string

// Draws of errors.
const (
	PerRun      Errors = "run"
	PerComputer Errors = "computer"
)

// Information is what a rule knows of computers.
type Information string

// Kinds of information.
const (
	Forecast Information = "forecast"
	None     Information = "none"
	Full     Information = "full"
)

// Model says what worlds are made.
type Model struct {
	Computers int
	Weak      int     // computers that are added
	WeakH     float64 // and their performance
	Jobs      int
	Arrivals  Arrivals
	Sigma     float64
	Errors    Errors
	Knows     Information
	Margin    float64 // of safety, for the rule
	// Endangered is as in the rule: the part of their shortest run up to which the slack of jobs makes them go first.
	Endangered float64
	Parts      int     // into how many parts each job may be cut; 0 and 1 cut none
	Delivery   float64 // seconds that a whole job needs before its work; a part has its part of it
}

// Published is the published model.
func Published() Model {
	return Model{Computers: 100, WeakH: 0.2, Jobs: 1000, Arrivals: First, Errors: PerRun, Knows: Forecast}
}

// world is a pool and what is asked of it.
type world struct {
	h    []float64 // of the computers
	jobs []pool.Job
	span grid.Tick // of arrivals
}

func uniform(r *rand.Rand, from, to float64) float64 { return from + r.Float64()*(to-from) }

// make makes the world of a seed. Worlds of one seed that differ in what is added have the same first pool and the same jobs.
func (m *Model) make(seed uint64) world {
	r := rand.New(rand.NewPCG(seed, 16))
	var w world
	first, work := 0.0, 0.0
	for range m.Computers {
		w.h = append(w.h, uniform(r, 0.1, 1))
		first += w.h[len(w.h)-1]
	}
	all := first + float64(m.Weak)*m.WeakH
	for range m.Weak {
		w.h = append(w.h, m.WeakH)
	}
	slices.Sort(w.h)
	w.jobs = make([]pool.Job, m.Jobs)
	for i := range w.jobs {
		w.jobs[i].Work = uniform(r, 150, 750)
		work += w.jobs[i].Work
	}
	w.span = grid.FromSeconds(work / first)
	if m.Arrivals == Enlarged {
		w.span = grid.FromSeconds(work / all)
	}
	for i := range w.jobs {
		j := &w.jobs[i]
		j.Checkpoints = true
		j.Arrival = 1 + grid.Tick(r.Float64()*float64(w.span))
		j.Deadline = j.Arrival + grid.FromSeconds(uniform(r, 1.1, 5)*j.Work)
	}
	slices.SortStableFunc(w.jobs, func(a, b pool.Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return w
}
