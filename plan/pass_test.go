package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// A scheduler that looks again at once, as one does after each start, starts nobody
// more: else a plan would tell other starts than the scheduler makes.
func TestPassIsWhole(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"fcfs", "firstfit", "easy", "easysjbf", "easy:1:sjf"} {
		p, err := ParsePolicy(policy)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := drawCrowd(t)
				s.Policy = p
				if again := Pass(started(s, Pass(s))); len(again) > 0 {
					t.Fatalf("the second pass starts %+v", again)
				}
			})
		})
	}
}

// drawCrowd is many small jobs of one chunk on a few nodes of several cores.
func drawCrowd(t *rapid.T) Snapshot {
	s := Snapshot{At: 1000}
	for range rapid.IntRange(2, 4).Draw(t, "nodes") {
		s.Nodes = append(s.Nodes, Node{Cores: rapid.IntRange(2, 6).Draw(t, "cores")})
	}
	for i := range s.Nodes {
		if used := rapid.IntRange(0, s.Nodes[i].Cores).Draw(t, "used"); used > 0 {
			s.Running = append(s.Running, Running{
				Shares: []Share{{Node: i, Processes: used, Cores: used}}, Start: 0,
				End: 1000 + grid.Tick(rapid.IntRange(1, 20).Draw(t, "end")),
			})
		}
	}
	for range rapid.IntRange(2, 9).Draw(t, "waiting") {
		s.Waiting = append(s.Waiting, Waiting{
			Demand: grid.Demand{Chunks: []grid.Chunk{{
				Count: rapid.IntRange(1, 3).Draw(t, "pieces"), Processes: 1, Cores: rapid.IntRange(1, 4).Draw(t, "size"),
			}}},
			Limit: grid.Tick(rapid.IntRange(1, 30).Draw(t, "limit")),
		})
	}
	return s
}

// started is s after its scheduler has started what a pass says.
func started(s Snapshot, places []Placement) Snapshot {
	s.Running, s.Waiting = slices.Clone(s.Running), slices.Clone(s.Waiting)
	gone := map[int]bool{}
	for _, p := range places {
		s.Running = append(s.Running, Running{Shares: p.Shares, Start: s.At, End: s.At + s.Waiting[p.Index].Limit})
		gone[p.Index] = true
	}
	var rest []Waiting
	for i, w := range s.Waiting {
		if !gone[i] {
			rest = append(rest, w)
		}
	}
	s.Waiting = rest
	return s
}
