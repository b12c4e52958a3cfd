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
func started(s Snapshot, places []Allocation) Snapshot {
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

// A reservation that is due at the very moment at which something ends early is given
// back before all are made anew: what it held is free again for who comes after.
func TestDueReservationIsGivenBack(t *testing.T) {
	t.Parallel()
	ask := func(count, cores int, memory int64, limit grid.Tick, exclusive bool) Waiting {
		return Waiting{Limit: limit, Trait: Trait{Limit: limit}, Demand: grid.Demand{
			Exclusive: exclusive, Chunks: []grid.Chunk{{Count: count, Processes: 1, Cores: cores, Memory: memory}},
		}}
	}
	policy, err := ParsePolicy("easy:2:smallest")
	if err != nil {
		t.Fatal(err)
	}
	s := Snapshot{
		At: 4, Policy: policy, Nodes: []Node{{Cores: 5}, {Cores: 2, Memory: 2}},
		Running: []Running{
			{Shares: []Share{{Node: 0, Cores: 3}}, Start: -6, End: 34},
			{Shares: []Share{{Node: 0, Cores: 1}}, End: 5},
		},
		Waiting: []Waiting{
			ask(1, 1, 3, 1, true), ask(1, 1, 0, 30, false), ask(1, 1, 0, 1, false),
			ask(1, 2, 0, 1, false), ask(2, 2, 5, 1, true), ask(4, 1, 1, 1, false),
		},
	}
	p := Likely(s, runsBy(&s, func(t Trait, elapsed grid.Tick) grid.Tick { return max(t.Limit/10, elapsed+1) }))
	for i, want := range []grid.Tick{7, 4, 4, 5, 8, 5} {
		if got, ok := p.Waiting(i); !ok || got.Start != want {
			t.Errorf("job %d starts at %d, want %d", i, got.Start, want)
		}
	}
}
