package workload

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gbroker/grid"
)

// Site is what a workload has to know of a site.
type Site struct {
	Cores     int
	Speed     float64
	LocalLoad float64 // the part of its cores that jobs ask for which never enter the grid
}

// Model says how jobs are made. What is drawn is rounded, times to a millisecond, before anything is reckoned
// with it: that keeps the last digits of a machine's logarithm out of it.
type Model struct {
	Jobs  int     // that enter the grid, or are local by LocalShare
	Rate  float64 // of their arrivals, per second; with 0 it follows from Load
	Load  float64 // what they ask for, as a part of all cores
	Gaps  float64 // deviation of the time between two arrivals, as a part of its mean; 0 is a Poisson process, else it is lognormal
	Cores Numbers // whole numbers, at most the cores of the largest site
	Run   Numbers // seconds at speed 1
	Over  Numbers // the walltime asked for, as a multiple of the run time; at least 1
	Bytes Numbers

	Home        int     // the site at which all jobs are handed in; -1 is any
	JobsShare   float64 // so many of the jobs
	SitesShare  float64 // are handed in at so many of the sites, the rest at the others; 0 is all alike
	LocalShare  float64 // so many of the jobs never enter the grid
	Users       int     // each job is of one of them; 0 is unknown
	Strategists Strategists
	Seed        uint64
}

// Strategists are users who ask for another walltime than the model's. Their jobs are of the user [Strategist].
type Strategists struct {
	Share float64 // of the jobs
	Over  Numbers // the walltime that they ask for, as a multiple of the run time
	// Copies is at how many sites each job is handed in at the same time, at other sites that hold it as far as there are so many; 0 is 1.
	Copies int
}

// Strategist is the user of the jobs of strategists, where there are some.
const Strategist = "strategist"

// The streams of random numbers of a workload: what is drawn from one does not move what is drawn from another.
const (
	streamArrivals = iota + 101
	streamJobs
	streamHomes
	streamUsers
	streamLocal // and on, one for each site

	streamCopies = 100
)

// Make makes the jobs of a model. The same seed makes the same jobs.
func (m *Model) Make(sites []Site) []Job {
	r := rand.New(rand.NewPCG(m.Seed, streamJobs))
	widest := 0
	for _, s := range sites {
		widest = max(widest, s.Cores)
	}
	jobs := make([]Job, m.Jobs)
	for i := range jobs {
		jobs[i] = m.job(r, widest)
	}
	m.hand(jobs, sites)
	m.name(jobs)
	m.arrive(jobs, sites)
	jobs = m.copy(jobs, sites)
	var last grid.Tick
	if len(jobs) > 0 {
		last = jobs[len(jobs)-1].Arrival
	}
	for i, s := range sites {
		jobs = append(jobs, m.local(i, s, last)...)
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return jobs
}

// job draws what a job is, without when and where.
func (m *Model) job(r *rand.Rand, widest int) Job {
	j := Job{Cores: min(max(1, int(math.Round(m.Cores.Draw(r)))), widest), Run: ticks(m.Run.Draw(r))}
	j.Limit = asked(j.Run, m.Over.Draw(r))
	j.Bytes = int64(m.Bytes.Draw(r))
	return j
}

// ticks is a time in whole milliseconds, at least one.
func ticks(seconds float64) grid.Tick { return max(1, grid.Tick(math.Round(seconds*1000))) }

// asked is a walltime: the system kills what runs longer, and nobody asks for less than he needs.
func asked(run grid.Tick, over float64) grid.Tick {
	return max(run, grid.Tick(math.Ceil(float64(run)*over)))
}

// hand says at which site each job is handed in, and which never leave it.
func (m *Model) hand(jobs []Job, sites []Site) {
	r := rand.New(rand.NewPCG(m.Seed, streamHomes))
	order := r.Perm(len(sites))
	hot := min(max(1, int(math.Round(m.SitesShare*float64(len(sites))))), len(sites))
	for i := range jobs {
		pool, local := order, r.Float64() < m.LocalShare
		switch busy := r.Float64() < m.JobsShare; {
		case m.SitesShare <= 0 || hot == len(sites):
		case busy:
			pool = order[:hot]
		default:
			pool = order[hot:]
		}
		j := &jobs[i]
		if j.Home = pool[r.IntN(len(pool))]; m.Home >= 0 {
			j.Home = m.Home
		}
		if j.Local = local; local {
			j.Cores = min(j.Cores, sites[j.Home].Cores)
		}
	}
}

// name says whose the jobs are, and changes what strategists ask for.
func (m *Model) name(jobs []Job) {
	r := rand.New(rand.NewPCG(m.Seed, streamUsers))
	for i := range jobs {
		j := &jobs[i]
		strategist, over := r.Float64() < m.Strategists.Share, m.Strategists.Over.Draw(r)
		switch user := r.IntN(max(m.Users, 1)); {
		case strategist:
			j.User, j.Limit = Strategist, asked(j.Run, over)
		case m.Users > 0:
			j.User = fmt.Sprintf("user%d", user)
		}
	}
}

// copy hands the jobs of strategists in at other sites too.
func (m *Model) copy(jobs []Job, sites []Site) []Job {
	if m.Strategists.Copies < 2 {
		return jobs
	}
	r := rand.New(rand.NewPCG(m.Seed, streamCopies))
	var all []Job
	for set, j := range jobs {
		if j.User != Strategist || j.Local {
			all = append(all, j)
			continue
		}
		j.Copies = int32(set) + 1
		all = append(all, j)
		left := m.Strategists.Copies - 1
		for _, home := range r.Perm(len(sites)) {
			if left > 0 && home != j.Home && j.Cores <= sites[home].Cores {
				left--
				k := j
				k.Home = home
				all = append(all, k)
			}
		}
	}
	return all
}

// fine is the unit of a gap of mean 1: gaps add up as whole numbers.
const fine = 1 << 32

// arrive says when the jobs come.
func (m *Model) arrive(jobs []Job, sites []Site) {
	r := rand.New(rand.NewPCG(m.Seed, streamArrivals))
	gap := 1000 / m.Rate // mean, in ticks
	if m.Rate == 0 {
		capacity, work := 0.0, 0.0
		for _, s := range sites {
			capacity += float64(s.Cores) * s.Speed
		}
		for i := range jobs {
			work += float64(int64(jobs[i].Cores) * int64(jobs[i].Run))
		}
		gap = work / (m.Load * capacity * float64(len(jobs)))
	}
	at := int64(0)
	for i := range jobs {
		at += m.gap(r)
		jobs[i].Arrival = grid.Tick(float64(at) / fine * gap)
	}
}

// gap draws the time between two arrivals, of mean 1.
func (m *Model) gap(r *rand.Rand) int64 {
	if m.Gaps > 0 {
		return int64(lognormal(1, m.Gaps, r) * fine)
	}
	return int64(r.ExpFloat64() * fine)
}

// local makes the jobs of one site's own users until the last of the others comes.
func (m *Model) local(site int, s Site, last grid.Tick) []Job {
	if s.LocalLoad <= 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(m.Seed, streamLocal+uint64(site)))
	var jobs []Job
	at := grid.Tick(0)
	for {
		j := m.job(r, s.Cores)
		// What the job asks for sets the pause after it, so that the load is as said whatever is drawn.
		pause := float64(int64(j.Cores)*int64(j.Run)) / (s.LocalLoad * float64(s.Cores) * s.Speed)
		at += grid.Tick(math.Round(pause * float64(m.gap(r)) / fine))
		if at > last {
			return jobs
		}
		j.Arrival, j.Home, j.Local = at, site, true
		jobs = append(jobs, j)
	}
}
