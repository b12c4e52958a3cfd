package coallocate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gbroker/grid"
	"gbroker/sim/replay"
)

// Grid is the sites of a simulation.
type Grid struct {
	Name  string
	Sizes []int     // nodes of each site
	Speed []float64 // of each
}

// Grids are the mixes of sites that are compared.
var Grids = []Grid{
	{"equal", []int{64, 64, 64, 64}, []float64{1, 1, 1, 1}},
	{"graded", []int{128, 64, 32, 32}, []float64{1, 1.5, 1, 0.75}},
	{"many small", []int{24, 24, 24, 24, 24, 24, 24, 24}, []float64{1, 1, 1, 1, 1.25, 1.25, 1.25, 1.25}},
}

// Widest is how many processes the largest site runs at once.
func (g *Grid) Widest() int { return slices.Max(g.Sizes) }

// Nodes is how many all sites have.
func (g *Grid) Nodes() (n int) {
	for _, size := range g.Sizes {
		n += size
	}
	return n
}

// Job is one of the workload. Run and Limit are on the reference machine.
type Job struct {
	Submit     grid.Tick
	Run, Limit grid.Tick
	Processes  int
	Site       int // where it is submitted
	Wide       bool
}

// Load says what jobs are made.
type Load struct {
	Jobs   int
	Share  float64 // of wide ones among all
	Giants float64 // of these, the part that fits no site
	Use    float64 // of the grid that is asked for
	Seed   uint64
}

// Make makes the jobs of a grid by a model: sizes are powers of two for the most part, run times spread
// over three orders of magnitude, arrivals are a Poisson process, limits are up to five times the run time.
func Make(g *Grid, l Load) []Job {
	r := rand.New(rand.NewPCG(l.Seed, 13))
	jobs := make([]Job, l.Jobs)
	for i := range jobs {
		run := grid.FromSeconds(math.Exp(math.Log(60) + r.Float64()*math.Log(240))) // 1 min to 4 h
		jobs[i] = Job{Run: run, Limit: grid.FromSeconds(math.Ceil(run.Seconds() * (1 + 4*r.Float64()*r.Float64()))), Site: r.IntN(len(g.Sizes))}
		half := g.Sizes[jobs[i].Site] / 2
		jobs[i].Processes = min(1<<r.IntN(6), half)
		if r.IntN(4) == 0 {
			jobs[i].Processes = 1 + r.IntN(half)
		}
	}
	arrive(g, jobs, l, r)
	return widen(g, jobs, l)
}

// arrive spreads jobs over so much time that they ask for a part of the grid.
func arrive(g *Grid, jobs []Job, l Load, r *rand.Rand) {
	work := 0.0
	for i := range jobs {
		work += float64(jobs[i].Processes) * jobs[i].Run.Seconds() / g.Speed[jobs[i].Site]
	}
	between := work / float64(g.Nodes()) / l.Use / float64(len(jobs))
	at := 0.0
	for i := range jobs {
		at += r.ExpFloat64() * between
		jobs[i].Submit = grid.FromSeconds(at)
	}
}

// FromLog deals the jobs of a log to the sites in turn, cut to what is narrow there; its own times stay.
func FromLog(g *Grid, log *replay.Log, l Load) []Job {
	var jobs []Job
	for i, j := range log.Jobs {
		if len(jobs) == l.Jobs {
			break
		}
		site := i % len(g.Sizes)
		jobs = append(jobs, Job{
			Submit: grid.Tick(j.Submit) * grid.Second, Run: max(1, grid.Tick(j.Run)) * grid.Second, Limit: max(1, grid.Tick(j.Limit), grid.Tick(j.Run)) * grid.Second,
			Processes: min(int(j.Procs), g.Sizes[site]/2), Site: site,
		})
	}
	return widen(g, jobs, l)
}

// widen makes a part of the jobs wide: from a half to all of the largest site, or more than any. Each takes as much
// work as before or less: a wide job runs for a shorter time.
func widen(g *Grid, jobs []Job, l Load) []Job {
	r := rand.New(rand.NewPCG(l.Seed, 14))
	for i := range jobs {
		draw, giant, at := r.Float64(), r.Float64(), r.Float64()
		if draw >= l.Share {
			continue
		}
		j := &jobs[i]
		j.Wide = true
		low, high := float64(g.Widest())/2, float64(g.Widest())
		if giant < l.Giants {
			low, high = float64(g.Widest())+1, 0.6*float64(g.Nodes())
		}
		wide := int(low + at*(high-low))
		shorter := max(float64(j.Processes)/float64(wide), 60/j.Run.Seconds())
		j.Run = grid.FromSeconds(math.Ceil(j.Run.Seconds() * min(shorter, 1)))
		j.Limit = max(j.Run, grid.FromSeconds(math.Ceil(j.Limit.Seconds()*min(shorter, 1))))
		j.Processes = wide
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return jobs
}
