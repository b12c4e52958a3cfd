package brokers

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/sim/workload"
)

// poisson is clipped to 1..most.
func poisson(random *rand.Rand, mean float64, most int) int {
	l, k, p := math.Exp(-mean), 0, 1.0
	for p *= random.Float64(); p > l; p *= random.Float64() {
		k++
	}
	return min(max(k, 1), most)
}

// regular is a random graph in which each of n has as many neighbours: stubs are paired until no pair is one of itself,
// or there twice, and those that are, again with others.
func regular(random *rand.Rand, n, degree int) [][]int {
	degree = min(degree, n-1)
	has := map[[2]int]bool{}
	edges := make([][2]int, 0, n*degree/2)
	stubs := make([]int, 0, n*degree)
	for i := range n {
		for range degree {
			stubs = append(stubs, i)
		}
	}
	random.Shuffle(len(stubs), func(i, k int) { stubs[i], stubs[k] = stubs[k], stubs[i] })
	good := func(a, b int) bool { return a != b && !has[[2]int{a, b}] && !has[[2]int{b, a}] }
	for tries := 0; len(stubs) > 1 && tries < 100*n*degree; tries++ {
		i := random.IntN(len(stubs) - 1)
		a, b := stubs[i], stubs[len(stubs)-1]
		if good(a, b) {
			has[[2]int{a, b}] = true
			edges = append(edges, [2]int{a, b})
			stubs[i] = stubs[len(stubs)-2]
			stubs = stubs[:len(stubs)-2]
		} else if len(edges) > 0 { // swap with an edge that is there
			k := random.IntN(len(edges))
			c, d := edges[k][0], edges[k][1]
			if good(a, c) && good(b, d) && !(a == d && b == c) {
				delete(has, [2]int{c, d})
				has[[2]int{a, c}], has[[2]int{b, d}] = true, true
				edges[k] = [2]int{a, c}
				edges = append(edges, [2]int{b, d})
				stubs[i] = stubs[len(stubs)-2]
				stubs = stubs[:len(stubs)-2]
			}
		}
	}
	members := make([][]int, n)
	for _, e := range edges {
		members[e[0]], members[e[1]] = append(members[e[0]], e[1]), append(members[e[1]], e[0])
	}
	return members
}

// scaleWorld is that of experiment "scale".
func scaleWorld(seed uint64, sites, jobs, degree int, load float64, skewed bool, policy plan.Kind) World {
	random := rand.New(rand.NewPCG(seed, 7))
	w := World{Members: regular(random, sites, degree), Delivery: second / 2, Seed: seed}
	cores := 0
	for i := range sites {
		n := 16 + random.IntN(113)
		cores += n
		w.Sites = append(w.Sites, Site{Name: fmt.Sprintf("s%05d", i), Cores: n, Policy: plan.Policy{Kind: policy}})
	}
	const mean, rank = 30.0, 8.0
	rate := load * float64(cores) / (mean * rank)
	hot := sites / 10
	at := 0.0
	for range jobs {
		at += random.ExpFloat64() / rate
		run := grid.FromSeconds(random.ExpFloat64()*mean) + 1
		home := random.IntN(sites)
		if skewed && random.IntN(2) == 0 {
			home = random.IntN(max(hot, 1))
		}
		w.Jobs = append(w.Jobs, workload.Job{
			Arrival: grid.FromSeconds(at), Home: home, Cores: poisson(random, rank, 16), Run: run, Limit: run,
		})
	}
	return w
}

func meanResponse(r *Result) float64 {
	sum := 0.0
	for i := range r.Jobs {
		sum += (r.Jobs[i].End - r.Jobs[i].Arrival).Seconds()
	}
	return sum / float64(len(r.Jobs))
}

var (
	nSites = flag.Int("sites", 100, "sites of TestQuality")
	nJobs  = flag.Int("jobs", 20000, "jobs")
	degree = flag.Int("degree", 8, "degree")
	load   = flag.Float64("load", 0.95, "load")
	delta  = flag.Float64("delta", 5, "re-evaluation, seconds")
	age    = flag.Float64("age", 0, "age of views, seconds")
	forAll = flag.Bool("old-for-all", false, "of all")
	seeds  = flag.Int("seeds", 0, "seeds; 0 skips")
	first  = flag.Uint64("first", 1, "first seed")
	rules  = flag.String("rules", "oracle,core", "rules")
)

// TestQuality tells how far from the oracle the rules are (go test -run Quality -seeds 3 -v).
func TestQuality(t *testing.T) {
	if *seeds == 0 {
		t.Skip("-seeds is 0")
	}
	for k := range *seeds {
		base := 0.0
		for rule := None; rule <= Oracle; rule++ {
			rule := Oracle - rule
			if !contains(*rules, rule.String()) {
				continue
			}
			w := scaleWorld(*first+uint64(k), *nSites, *nJobs, *degree, *load, true, plan.FCFS)
			w.Brokering = Brokering{Rule: rule, Reevaluate: grid.FromSeconds(*delta), ViewAge: grid.FromSeconds(*age), OldForAll: *forAll}
			began := time.Now()
			r, err := Run(w, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			m := meanResponse(&r)
			if rule == Oracle {
				base = m
			}
			took := time.Since(began)
			t.Logf("%-12s response %7.2f ratio %.4f moves/job %.2f messages/job %.1f steps/job %.0f steps/s %.0f us/job %.0f", rule, m, m/base,
				float64(r.Moves)/float64(len(r.Jobs)), float64(r.Messages)/float64(len(r.Jobs)), float64(r.Steps)/float64(len(r.Jobs)),
				float64(r.Steps)/took.Seconds(), float64(took.Microseconds())/float64(len(r.Jobs)))
		}
	}
}

func contains(list, name string) bool {
	for len(list) > 0 {
		k := 0
		for k < len(list) && list[k] != ',' {
			k++
		}
		if list[:k] == name {
			return true
		}
		list = list[min(k+1, len(list)):]
	}
	return false
}

// BenchmarkJob tells what a job costs among ever more sites of the same degree: steps are of all brokers.
//
//	go test ./sim/brokers -run - -bench Job -benchtime 1x
func BenchmarkJob(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("sites=%d", n), func(b *testing.B) {
			var steps, jobs int64
			for k := range b.N {
				w := scaleWorld(uint64(k)+1, n, max(n, 2000), 8, 0.95, true, plan.FCFS)
				w.Brokering = Brokering{Rule: Core, Reevaluate: 5 * second}
				r, err := Run(w, nil, nil)
				if err != nil {
					b.Fatal(err)
				}
				steps, jobs = steps+r.Steps, jobs+int64(len(w.Jobs))
			}
			b.ReportMetric(float64(steps)/float64(jobs), "steps/job")
			b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(jobs), "us/job")
		})
	}
}
