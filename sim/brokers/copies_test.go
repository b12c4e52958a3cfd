package brokers

import (
	"math/rand/v2"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/sim/workload"
)

// Two sites of four cores, FCFS, without brokers. Job 0 has all of a from 0 to 10 s. A user hands a job of three cores in at both
// at 1 s: the copy at b starts at once, and the one at a is cancelled while it waits. So job 3, which comes to a at 2 s, starts at 10.
// At 20 s both copies of another start at once; both see it, and one is left.
func TestCopiesByHand(t *testing.T) {
	t.Parallel()
	for _, rule := range []Rule{None, Core} {
		w := threeJobs(rule)
		w.Members = nil
		job := func(at grid.Tick, home, cores int, set int32) workload.Job {
			return workload.Job{Arrival: at * second, Home: home, Cores: cores, Run: 10 * second, Limit: 10 * second, Copies: set}
		}
		w.Jobs = []workload.Job{job(0, 0, 4, 0), job(1, 0, 3, 1), job(1, 1, 3, 1), job(2, 0, 4, 0), job(20, 0, 2, 2), job(20, 1, 2, 2)}
		r, err := Run(w, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		if e := r.Jobs[1]; !e.Cancelled || e.Site >= 0 || e.End != 1000 {
			t.Errorf("%s: the copy that waits: %+v", rule, e)
		}
		if e := r.Jobs[2]; e.Cancelled || e.Start != 1000 || e.End != 11_000 {
			t.Errorf("%s: the copy that starts: %+v", rule, e)
		}
		if e := r.Jobs[3]; e.Start != 10_000 {
			t.Errorf("%s: who comes after the copy: %+v", rule, e)
		}
		if a, b := r.Jobs[4], r.Jobs[5]; a.Cancelled == b.Cancelled || max(a.End, b.End) != 30_000 || min(a.End, b.End) != 20_000 {
			t.Errorf("%s: copies that start at once: %+v, %+v", rule, a, b)
		}
	}
}

// Whatever the rule, one copy of each set runs to its end, and what is conserved is.
func TestCopiesOfEachRule(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for rule := None; rule <= Oracle; rule++ {
		for range 3 {
			w := someWorld(random, rule)
			var of []workload.Site
			for i := range w.Sites {
				w.Sites[i].Policy, w.Sites[i].Cores = plan.Policy{Kind: plan.EASY}, 16
				of = append(of, workload.Site{Cores: 16, Speed: w.Sites[i].speed()})
			}
			m := workload.Model{
				Jobs: 150, Load: 0.9, Cores: workload.Value(4), Run: workload.Value(30), Over: workload.Value(2), Home: -1, Seed: seed,
				Strategists: workload.Strategists{Share: 0.5, Over: workload.Value(2), Copies: 3},
			}
			w.Jobs = m.Make(of)
			w.CancelAfter = grid.Tick(random.IntN(3)) * 5 * second
			r, err := Run(w, nil, nil)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", rule, seed, err)
			}
			sets := copiesOf(w.Jobs)
			if len(of) > 1 && len(sets) < 40 {
				t.Fatalf("%d sets of copies", len(sets))
			}
			for set, list := range sets {
				ran := 0
				for _, n := range list {
					if !r.Jobs[n].Cancelled {
						ran++
					}
				}
				if ran < 1 || ran > 1 && w.CancelAfter == 0 && rule != Core && rule != Published {
					t.Errorf("%s, seed %d: %d copies of set %d ran", rule, seed, ran, set)
				}
			}
		}
	}
}
