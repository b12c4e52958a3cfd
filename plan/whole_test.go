package plan

import (
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// What is offered is free of all else at every instant, for long enough, and all of that is offered.
func TestWholeNodesAreFreeThroughout(t *testing.T) {
	t.Parallel()
	for range 5 {
		rapid.Check(t, func(t *rapid.T) {
			s := drawSnapshot(t, 2)
			s.Site.Name = "a"
			p := Build(s)
			d := grid.Demand{Chunks: []grid.Chunk{{Count: 4, Processes: rapid.IntRange(1, 2).Draw(t, "processes"), Cores: rapid.IntRange(1, 3).Draw(t, "cores of each")}}}
			length := grid.Tick(rapid.IntRange(1, 20).Draw(t, "length"))
			var prices *Pricing
			if rapid.Bool().Draw(t, "prices") {
				prices = &Pricing{Base: 1, Priority: 1}
			}
			to := s.At + 200
			got := p.WholeNodes(Question{Demand: d, Limit: length, NotBefore: s.At}, prices, grid.User{}, to, 1000, nil)
			if (got.Refusal == nil) != (len(got.Slots) > 0) {
				t.Fatalf("%+v", got)
			}
			most := 0
			for n, node := range s.Nodes {
				holds := 0
				if !node.Down {
					holds = min(node.Cores/d.Chunks[0].Cores, 4) * d.Chunks[0].Processes
				}
				most += holds
				var free []grid.Tick
				for at := s.At; at <= to; at++ {
					if at < to && holds > 0 && freeOf(p, n, at, prices) {
						free = append(free, at)
						continue
					}
					for _, f := range free {
						offered := slices.ContainsFunc(got.Slots, func(s grid.Slot) bool { return s.Node == node.Name && s.Start <= f && f < s.End })
						if offered != (grid.Tick(len(free)) >= length) {
							t.Fatalf("node %s at %d, free for %d of %d: offered %v; %+v", node.Name, f, len(free), length, offered, got.Slots)
						}
					}
					free = nil
				}
			}
			if got.Most != most {
				t.Fatalf("at most %d processes, counted %d", got.Most, most)
			}
			few := p.WholeNodes(Question{Demand: d, Limit: length, NotBefore: s.At}, prices, grid.User{}, to, 2, nil)
			if len(few.Slots) != min(2, len(got.Slots)) {
				t.Fatalf("%d slots of %d, asked for 2", len(few.Slots), len(got.Slots))
			}
		})
	}
}

// freeOf tells that nobody has anything of a node at an instant; with prices, but those that wait.
func freeOf(p *Plan, n int, at grid.Tick, prices *Pricing) bool {
	for _, b := range p.byNode(at, at+1)[n] {
		if slices.ContainsFunc(b.amounts, func(a int64) bool { return a > 0 }) && (b.waiting < 0 || prices == nil) {
			return false
		}
	}
	return true
}

// What the grid holds counts while it holds it, and not before and after.
func TestShareOfTheGridByTime(t *testing.T) {
	t.Parallel()
	p := Build(Snapshot{Nodes: nodes(2, 4)})
	got := p.WholeNodes(Question{Demand: demand(8, 1, 0), Limit: 10}, &Pricing{Share: 0.5}, grid.User{}, 100, 100, []Grided{{0, 0}, {20, 1}, {40, 0}, {50, 0}})
	want := [][2]grid.Tick{{0, 20}, {40, 100}}
	if len(got.Slots) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, s := range got.Slots {
		if s.Start != want[i][0] || s.End != want[i][1] {
			t.Errorf("slot %d is %+v", i, s)
		}
	}
}

// The grid gets no more than its share.
func TestShareOfTheGrid(t *testing.T) {
	t.Parallel()
	p := Build(Snapshot{Nodes: nodes(10, 4)})
	q := Question{Demand: demand(40, 1, 0), Limit: 10}
	for _, c := range []struct {
		share  float64
		grided int
		want   int
	}{{0, 0, 10}, {0.5, 0, 5}, {0.5, 4, 4}, {0.5, 17, 0}, {0.5, 20, 0}, {0.01, 0, 0}} {
		got := p.WholeNodes(q, &Pricing{Share: c.share}, grid.User{}, 100, 100, []Grided{{0, c.grided}})
		if len(got.Slots) != c.want || got.Most != 40 || (got.Refusal != nil) != (c.want == 0) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
