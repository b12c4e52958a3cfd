package brokers

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/sim/workload"
)

const second = grid.Second

// Two sites of four cores, FCFS, half a second from one to the other; three jobs of ten seconds that come to a.
//
//	job 0 at 0 s, 4 cores: a is idle. Starts at 0.
//	job 1 at 1 s, 3 cores: a is full until 10, so it would wait 9 there and end at 20; b is idle: 0.5 for the way,
//	      ends at 1 + 0.5 + 10 = 11.5. To b, starts at 1.5.
//	job 2 at 2 s, 2 cores: a is free at 10, ends at 20; b has one core until 11.5, ends at 21.5. Stays, starts at 10.
//
// Without brokers a runs job 0 from 0, job 1 from 10, and job 2, as 4 - 3 cores are not 2, from 20.
func threeJobs(rule Rule) World {
	site := func(name string) Site { return Site{Name: name, Cores: 4, Policy: plan.Policy{Kind: plan.FCFS}} }
	job := func(at grid.Tick, cores int) workload.Job {
		return workload.Job{Arrival: at, Cores: cores, Run: 10 * second, Limit: 10 * second}
	}
	return World{
		Sites: []Site{site("a"), site("b")}, Members: [][]int{{1}, {0}},
		Jobs:      []workload.Job{job(0, 4), job(1*second, 3), job(2*second, 2)},
		Brokering: Brokering{Rule: rule}, Delivery: second / 2, Seed: 1,
	}
}

func TestThreeJobsByHand(t *testing.T) {
	t.Parallel()
	for rule, want := range map[Rule][]Ended{
		None:      {{Start: 0, End: 10_000}, {Start: 10_000, End: 20_000}, {Start: 20_000, End: 30_000}},
		Core:      {{Start: 0, End: 10_000}, {Start: 1_500, End: 11_500, Site: 1, Moves: 1}, {Start: 10_000, End: 20_000}},
		Published: {{Start: 0, End: 10_000}, {Start: 1_500, End: 11_500, Site: 1, Moves: 1}, {Start: 10_000, End: 20_000}},
		Oracle:    {{Start: 0, End: 10_000}, {Start: 1_500, End: 11_500, Site: 1, Moves: 1}, {Start: 10_000, End: 20_000}},
	} {
		r, err := Run(threeJobs(rule), nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		for i, w := range want {
			if e := r.Jobs[i]; e.Start != w.Start || e.End != w.End || e.Site != w.Site || e.Moves != w.Moves {
				t.Errorf("%s: job %d: %+v, by hand %+v", rule, i, e, w)
			}
		}
	}
}

// someWorld is small and full.
func someWorld(random *rand.Rand, rule Rule) World {
	w := World{Brokering: Brokering{
		Rule: rule, Reevaluate: grid.Tick(random.IntN(3)) * 5 * second, Knowledge: Knowledge(random.IntN(3)),
		ViewAge: grid.Tick(max(0, random.IntN(4)-1)) * 15 * second, OldForAll: random.IntN(2) == 0,
	}, Seed: random.Uint64()}
	kinds := []plan.Kind{plan.FCFS, plan.EASY, plan.FirstFit, plan.EASYSJBF, plan.ConsRebuild, plan.ConsCompress}
	n := 2 + random.IntN(5)
	for i := range n {
		s := Site{Name: string(rune('a' + i)), Cores: 8 + random.IntN(24), Speed: 1, Policy: plan.Policy{Kind: kinds[random.IntN(len(kinds))]}}
		if random.IntN(4) == 0 {
			s.Speed = 2
		}
		if random.IntN(4) == 0 {
			from := grid.Tick(random.IntN(200)) * second
			s.Away = []Interval{{from, from + 100*second}}
		}
		w.Sites = append(w.Sites, s)
		var others []int
		for k := range n {
			if k != i {
				others = append(others, k)
			}
		}
		w.Members = append(w.Members, others)
	}
	if random.IntN(2) == 0 {
		w.Delivery = second / 2
	} else {
		w.Link = func(i, j int) Link { return Link{Bandwidth: 1e6 * float64(1+i+j), Latency: grid.Tick(i + j)} }
	}
	at := grid.Tick(0)
	for range 200 {
		at += grid.Tick(random.IntN(4000))
		run := grid.Tick(1 + random.IntN(60_000))
		w.Jobs = append(w.Jobs, workload.Job{
			Arrival: at, Home: random.IntN(n), Cores: 1 + random.IntN(8), Run: run, Limit: run + grid.Tick(random.IntN(60_000)),
			Local: random.IntN(5) == 0, User: string(rune('u' + random.IntN(3))), Bytes: random.Int64N(2e6),
		})
	}
	return w
}

// Every rule runs each job once (Run says so itself), and the same seed gives the same numbers.
func TestAllRules(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for rule := None; rule <= Oracle; rule++ {
		for k := range uint64(4) {
			once, err := Run(someWorld(rand.New(rand.NewPCG(seed, k)), rule), nil, nil)
			if err != nil {
				t.Fatalf("%s: seed %d, %d: %v", rule, seed, k, err)
			}
			again, err := Run(someWorld(rand.New(rand.NewPCG(seed, k)), rule), nil, nil)
			if err != nil || !reflect.DeepEqual(once, again) {
				t.Fatalf("%s: seed %d, %d: another result the second time (%v)", rule, seed, k, err)
			}
		}
	}
}
