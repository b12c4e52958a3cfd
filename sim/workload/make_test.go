package workload

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"gbroker/grid"
)

func model(seed uint64) Model {
	return Model{Jobs: 20_000, Load: 0.8, Cores: Numbers{Kind: Poisson, Mean: 8, From: 1, To: 16}, Run: Numbers{Kind: Lognormal, Mean: 30, CV: 1}, Over: Value(1), Home: -1, Seed: seed}
}

func sites(n, cores int) []Site {
	out := make([]Site, n)
	for i := range out {
		out[i] = Site{Cores: cores, Speed: 1}
	}
	return out
}

// What is drawn has the means and the deviations that it is said to have.
func TestNumbersAreOfTheirDistribution(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		n        Numbers
		mean, sd float64
	}{
		{"constant", Value(3), 3, 0},
		{"uniform", Numbers{Kind: Uniform, From: 2, To: 6}, 4, 4 / math.Sqrt(12)},
		{"poisson", Numbers{Kind: Poisson, Mean: 8}, 8, math.Sqrt(8)},
		{"a large poisson", Numbers{Kind: Poisson, Mean: MostPoisson}, MostPoisson, math.Sqrt(MostPoisson)},
		{"exponential", Numbers{Kind: Exponential, Mean: 5}, 5, 5},
		{"lognormal", Numbers{Kind: Lognormal, Mean: 30, CV: 1}, 30, 30},
		{"lognormal, narrow", Numbers{Kind: Lognormal, Mean: 30, CV: 0.2}, 30, 6},
		{"choose", Numbers{Kind: Choose, Of: []float64{1, 3}}, 2, 1},
	} {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 1))
		const n = 40_000
		sum, squares := 0.0, 0.0
		for range n {
			v := c.n.Draw(r)
			sum += v
			squares += (v - c.mean) * (v - c.mean)
		}
		mean, sd := sum/n, math.Sqrt(squares/n)
		if math.Abs(mean-c.mean) > 0.01+6*c.sd/math.Sqrt(n) || math.Abs(sd-c.sd) > 0.01+0.1*c.sd {
			t.Errorf("%s, seed %d: mean %v and deviation %v, not %v and %v", c.name, seed, mean, sd, c.mean, c.sd)
		}
	}
	clipped := Numbers{Kind: Poisson, Mean: 8, From: 7, To: 9}
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for range 1000 {
		if v := clipped.Draw(r); v < 7 || v > 9 {
			t.Fatalf("%v is not between 7 and 9", v)
		}
	}
}

// The workload asks for the part of the grid that it is to ask for, and comes in the order of time.
func TestLoadIsAsSaid(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	m := model(seed)
	s := sites(10, 64)
	for i := range s {
		s[i].Speed = 2
		s[i].LocalLoad = 0.25
	}
	jobs := m.Make(s)
	work := map[bool]float64{}
	for i, j := range jobs {
		work[j.Local] += float64(j.Cores) * j.Run.Seconds()
		if i > 0 && j.Arrival < jobs[i-1].Arrival {
			t.Fatalf("seed %d: job %d comes before the one before it", seed, i)
		}
		if j.Cores < 1 || j.Cores > 16 || j.Run < 1 || j.Limit < j.Run || j.Home < 0 || j.Home >= len(s) {
			t.Fatalf("seed %d: job %d is %+v", seed, i, j)
		}
	}
	all := 10 * 64 * 2 * jobs[len(jobs)-1].Arrival.Seconds()
	if got := work[false] / all; math.Abs(got-0.8) > 0.04 {
		t.Errorf("seed %d: the grid's jobs ask for %v, not for 0.8", seed, got)
	}
	if got := work[true] / all; math.Abs(got-0.25) > 0.03 {
		t.Errorf("seed %d: local jobs ask for %v, not for 0.25", seed, got)
	}
}

// The rate of arrivals and their burstiness are as said.
func TestArrivals(t *testing.T) {
	t.Parallel()
	for _, gaps := range []float64{0, 2} {
		m := model(rand.Uint64())
		m.Load, m.Rate, m.Gaps = 0, 5, gaps
		jobs := m.Make(sites(1, 16))
		mean := jobs[len(jobs)-1].Arrival.Seconds() / float64(len(jobs))
		squares, last := 0.0, grid.Tick(0)
		for _, j := range jobs {
			d := (j.Arrival - last).Seconds() - mean
			squares, last = squares+d*d, j.Arrival
		}
		cv := math.Sqrt(squares/float64(len(jobs))) / mean
		if want := max(gaps, 1); math.Abs(mean-0.2) > 0.02 || math.Abs(cv-want) > 0.4*want {
			t.Errorf("seed %d: a job each %v s, deviation %v of it; not 0.2 and %v", m.Seed, mean, cv, want)
		}
	}
}

// Half of the jobs come to a tenth of the sites, and a share of them is local.
func TestSkewAndLocalShare(t *testing.T) {
	t.Parallel()
	m := model(rand.Uint64())
	m.JobsShare, m.SitesShare, m.LocalShare = 0.5, 0.1, 0.3
	at, local := make([]int, 20), 0
	for _, j := range m.Make(sites(20, 16)) {
		at[j.Home]++
		if j.Local {
			local++
		}
	}
	hot := 0
	for _, n := range at {
		if n > m.Jobs/8 {
			hot += n
		}
	}
	if math.Abs(float64(hot)/float64(m.Jobs)-0.5) > 0.02 || math.Abs(float64(local)/float64(m.Jobs)-0.3) > 0.02 {
		t.Errorf("seed %d: %d of %d jobs at two sites of 20, %d local", m.Seed, hot, m.Jobs, local)
	}
	m.Home = 7
	for _, j := range m.Make(sites(20, 16)) {
		if j.Home != 7 {
			t.Fatalf("seed %d: a job comes to site %d", m.Seed, j.Home)
		}
	}
}

// The same seed makes the same jobs, another one others; and what users ask for moves nothing else.
func TestSeeds(t *testing.T) {
	t.Parallel()
	m := model(rand.Uint64())
	m.Jobs = 500
	one, same := m.Make(sites(4, 32)), m.Make(sites(4, 32))
	if !reflect.DeepEqual(one, same) {
		t.Errorf("seed %d made two workloads", m.Seed)
	}
	m.Strategists = Strategists{Share: 0.4, Over: Value(10)}
	lied := 0
	for i, j := range m.Make(sites(4, 32)) {
		if j.User == Strategist {
			lied++
			if j.Limit != 10*j.Run {
				t.Errorf("seed %d: a strategist asks for %v where the job runs %v", m.Seed, j.Limit, j.Run)
			}
			j.User, j.Limit = "", one[i].Limit
		}
		if j != one[i] {
			t.Fatalf("seed %d: job %d was %+v without strategists, and is %+v", m.Seed, i, one[i], j)
		}
	}
	if lied < 150 || lied > 250 {
		t.Errorf("seed %d: %d of 500 jobs are of strategists", m.Seed, lied)
	}
	m.Seed++
	if reflect.DeepEqual(one, m.Make(sites(4, 32))) {
		t.Errorf("seeds %d and %d made the same jobs", m.Seed-1, m.Seed)
	}
}
