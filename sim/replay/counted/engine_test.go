package counted

import (
	"fmt"
	"testing"

	"gbroker/grid"
	"gbroker/plan"

	"pgregory.net/rapid"
)

// On nodes of one core every job starts exactly when the counted scheduler starts it,
// whether jobs end at their limits or sooner: for the policies of at most one reservation
// always (package plan says why).
func TestNodesOfOneCoreLikeCounted(t *testing.T) {
	t.Parallel()
	for _, kind := range []plan.Kind{plan.FCFS, plan.FirstFit, plan.EASY, plan.EASYSJBF} {
		t.Run(plan.Policy{Kind: kind}.String(), func(t *testing.T) {
			t.Parallel()
			for range 20 {
				rapid.Check(t, func(t *rapid.T) {
					p := drawPolicy(t, kind)
					p.Reservations = min(p.Reservations, 1)
					likeCounted(t, p, false)
				})
			}
		})
	}
}

// A single node is a number of cores: there, too, all policies agree, with any number of reservations.
func TestOneNodeLikeCounted(t *testing.T) {
	t.Parallel()
	for kind := plan.FCFS; kind <= plan.ConsCompress; kind++ {
		t.Run(plan.Policy{Kind: kind}.String(), func(t *testing.T) {
			t.Parallel()
			for range 20 {
				rapid.Check(t, func(t *rapid.T) { likeCounted(t, drawPolicy(t, kind), true) })
			}
		})
	}
}

func likeCounted(t *rapid.T, p plan.Policy, oneNode bool) {
	cores, jobs := drawLog(t)
	for i := range jobs {
		jobs[i].submit = 0
	}
	nodes, each := cores, int32(1)
	if oneNode {
		nodes, each = 1, cores
	}
	s, runs := asSnapshot(nodes, each, jobs, p)
	want := runCounted(cores, p, jobs, false)
	got := plan.Likely(s, &runs)
	for i := range jobs {
		if at, ok := got.Start(s.Waiting[i].Job); !ok || at != want[i] {
			t.Fatalf("%v: job %d starts at %d, %v; counted at %d", p, i, at, ok, want[i])
		}
	}
}

// asSnapshot is a log whose jobs all wait, on so many nodes.
func asSnapshot(nodes, cores int32, jobs []logJob, p plan.Policy) (s plan.Snapshot, runs plan.Runs) {
	s.Policy = p
	for range nodes {
		s.Nodes = append(s.Nodes, plan.Node{Name: grid.NodeName(fmt.Sprint("n", len(s.Nodes))), Cores: int(cores)})
	}
	for i, j := range jobs {
		s.Waiting = append(s.Waiting, plan.Waiting{
			Job: grid.JobID(fmt.Sprint(i)), Demand: grid.Demand{Chunks: []grid.Chunk{{Count: int(j.cores), Processes: 1, Cores: 1}}},
			Limit: j.limit, Priority: j.priority,
		})
		runs.Waiting = append(runs.Waiting, j.run)
	}
	return s, runs
}
