package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gbroker/grid"
)

// A site of more nodes than are looked at one by one is planned as one that looks at each at every instant, whatever the policy.
func TestManyNodesLikeNaiveTwin(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	kind := FCFS + Kind(r.IntN(int(ConsCompress-FCFS)+1)) // another each time: the twin is slow
	s := manyNodes(r, Policy{Kind: kind})
	w := newTwin(s, nil, nil)
	want, p := w.run(), Build(s)
	for i := range s.Waiting {
		got, ok := p.Waiting(i)
		if !ok {
			got.Start = -1
		}
		if got.Start != want[i] {
			t.Fatalf("seed %d, %v: job %d of %s starts at %d, the twin says %d", seed, s.Policy, i, fmt.Sprint(s.Waiting[i].Demand), got.Start, want[i])
		}
	}
}

// manyNodes is a site of which most nodes are taken for a while, by some jobs of many nodes and many of one, with those that wait for both.
func manyNodes(r *rand.Rand, policy Policy) Snapshot {
	s := Snapshot{At: 5, Policy: policy}
	for i := range fewNodes + 2 + r.IntN(6) {
		s.Nodes = append(s.Nodes, Node{Name: grid.NodeName(fmt.Sprint("n", i)), Cores: 1 + r.IntN(3), Memory: 8})
	}
	for i := range s.Nodes {
		if r.IntN(8) > 0 {
			s.Running = append(s.Running, Running{Start: 0, End: 6 + grid.Tick(r.IntN(60)), Shares: []Share{{Node: i, Processes: 1, Cores: s.Nodes[i].Cores, Memory: 1}}})
		}
	}
	for i := range 8 {
		c := grid.Chunk{Count: 1 + r.IntN(4), Processes: 1, Cores: 1 + r.IntN(3)}
		if i%4 == 0 {
			c.Count, c.Cores = 20+r.IntN(40), 1
		}
		if r.IntN(3) == 0 {
			c.Memory = 1 + r.Int64N(8)
		}
		s.Waiting = append(s.Waiting, Waiting{Job: grid.JobID(fmt.Sprint("w", i)), Demand: grid.Demand{Chunks: []grid.Chunk{c}}, Limit: 1 + grid.Tick(r.IntN(40))})
	}
	return s
}
