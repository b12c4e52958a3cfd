package counted

import (
	"math/rand/v2"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/plan"
)

// Whoever is withdrawn never starts, all others do, no core is had twice; and where a policy keeps nothing from pass to
// pass, each pass starts what package plan starts without the withdrawn.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for kind := plan.FCFS; kind <= plan.ConsCompress; kind++ {
		for k := range uint64(20) {
			withdrawing(t, rand.New(rand.NewPCG(seed, k)), plan.Policy{Kind: kind})
		}
	}
}

func withdrawing(t *testing.T, random *rand.Rand, p plan.Policy) {
	const cores, jobs = 8, 60
	c := New(cores, p)
	var ends Ends
	waiting := map[int32]Job{}
	var order []int32
	free := int32(cores)
	came := int32(0)
	for now := grid.Tick(0); came < jobs || len(waiting) > 0; now++ {
		if now > 100_000 {
			t.Fatalf("%v: %d wait for ever", p, len(waiting))
		}
		for len(ends) > 0 && ends[0].At <= now {
			h := ends.Pop()
			free += h.Cores
			c.End(now, h)
		}
		for came < jobs && random.IntN(3) == 0 {
			j := Job{Ref: came, Cores: 1 + random.Int32N(cores), Limit: 1 + grid.Tick(random.IntN(20))}
			c.Arrive(j)
			waiting[came], order = j, append(order, came)
			came++
		}
		if len(order) > 0 && random.IntN(4) == 0 {
			ref := order[random.IntN(len(order))]
			if _, waits := waiting[ref]; c.Withdraw(now, ref) != waits {
				t.Fatalf("%v: job %d: withdrawn although it does not wait, or not although it does", p, ref)
			}
			delete(waiting, ref)
		}
		want := byPlan(now, p, order, waiting, ends)
		started := c.Pass(now)
		for _, h := range started {
			if _, waits := waiting[h.Ref]; !waits {
				t.Fatalf("%v: job %d starts, and does not wait", p, h.Ref)
			}
			delete(waiting, h.Ref)
			if free -= h.Cores; free < 0 {
				t.Fatalf("%v: %d cores too many are taken", p, -free)
			}
			run := h.Until - now
			ends.Push(Ending{now + 1 + grid.Tick(random.Int64N(int64(run))), h})
		}
		if p.Kind != plan.ConsCompress && len(want) != len(started) {
			t.Fatalf("%v at %d: starts %v, by plan %v", p, now, started, want)
		}
		for _, h := range started {
			if p.Kind != plan.ConsCompress && !want[h.Ref] {
				t.Fatalf("%v at %d: starts %v, by plan %v", p, now, started, want)
			}
		}
	}
}

// byPlan is whom package plan starts now on one node.
func byPlan(now grid.Tick, p plan.Policy, order []int32, waiting map[int32]Job, ends Ends) map[int32]bool {
	s := plan.Snapshot{At: now, Policy: p, Nodes: []plan.Node{{Cores: 8}}}
	var refs []int32
	for _, ref := range order {
		if j, waits := waiting[ref]; waits {
			refs = append(refs, ref)
			s.Waiting = append(s.Waiting, plan.Waiting{Limit: j.Limit, Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: int(j.Cores)}}}})
		}
	}
	for _, e := range ends {
		s.Running = append(s.Running, plan.Running{End: e.Job.Until, Shares: []plan.Share{{Cores: int(e.Job.Cores)}}})
	}
	starts := map[int32]bool{}
	for _, a := range plan.Pass(s) {
		starts[refs[a.Index]] = true
	}
	return starts
}
