package flows

import (
	"path/filepath"
	"sort"
	"testing"
	"time"

	"gbroker/flow"
)

// heft is an independent one for executors of one core: lists of intervals, and float ranks by recursion.
func heft(g *flow.Graph, p *flow.Platform) (last float64) {
	n, rank := len(p.Executors), map[int]float64{}
	run := func(v, e int) float64 { return float64(g.Vertices[v].Configurations[0].Run[e]) }
	out, in := map[int][]flow.Edge{}, map[int][]flow.Edge{}
	for _, e := range g.Edges {
		out[e.From], in[e.To] = append(out[e.From], e), append(in[e.To], e)
	}
	var rankOf func(v int) float64
	rankOf = func(v int) float64 {
		if r, known := rank[v]; known {
			return r
		}
		far, own := 0.0, 0.0
		for _, e := range out[v] {
			far = max(far, float64(e.Size)+rankOf(e.To))
		}
		for e := range n {
			own += run(v, e) / float64(n)
		}
		rank[v] = own + far
		return rank[v]
	}
	order := make([]int, len(g.Vertices))
	for v := range order {
		order[v] = v
		rankOf(v)
	}
	sort.SliceStable(order, func(i, j int) bool { return rank[order[i]] > rank[order[j]] })
	type interval struct{ from, to float64 }
	busy, end, at := make([][]interval, n), map[int]float64{}, map[int]int{}
	for _, v := range order {
		best, where := interval{to: 1e30}, 0
		for e := range n {
			ready := 0.0
			for _, edge := range in[v] {
				there := end[edge.From]
				if at[edge.From] != e {
					there += float64(edge.Size)
				}
				ready = max(ready, there)
			}
			for _, b := range busy[e] {
				if ready+run(v, e) <= b.from {
					break
				}
				ready = max(ready, b.to)
			}
			if ready+run(v, e) < best.to {
				best, where = interval{ready, ready + run(v, e)}, e
			}
		}
		busy[where] = append(busy[where], best)
		sort.Slice(busy[where], func(i, j int) bool { return busy[where][i].from < busy[where][j].from })
		end[v], at[v] = best.to, where
		last = max(last, best.to)
	}
	return last
}

// HEFT is no worse than an independent one by more than a hundredth on any workflow, and the best rule is at least three
// hundredths better than HEFT in the mean.
func TestSerialRulesOnKnownShapes(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	var list []Outcome
	for _, c := range Suite(seed) {
		if testing.Short() && c.Tasks > 100 {
			continue
		}
		g, p, err := Make(c.Shape, c.Tasks, Speeds, c.Transfer, c.Seed)
		if err != nil {
			t.Fatal(err)
		}
		o, err := c.Plan(t.Context(), flow.Options{Steps: 200})
		if err != nil {
			t.Fatal(err)
		}
		if other := heft(g, p); float64(o.End[flow.HEFT]) > 1.01*other {
			t.Errorf("seed %d: %s of %d tasks, transfer %v: HEFT ends at %d, another HEFT at %.0f", seed, c.Shape, c.Tasks, c.Transfer, o.End[flow.HEFT], other)
		}
		for rule, end := range o.End {
			if end < o.Bounds.Least() {
				t.Errorf("seed %d: %s ends at %d, before the bounds %+v", seed, rule, end, o.Bounds)
			}
		}
		list = append(list, o)
	}
	for _, r := range Summary(list) {
		if r.Transfer == 0 && r.Rule == flow.Search && (r.Ratio > 0.97 || r.Best != r.Cases) {
			t.Errorf("seed %d: local search is at %.3f of HEFT, and the best of %d in %d", seed, r.Ratio, r.Cases, r.Best)
		}
	}
	if err := Plot(filepath.Join(t.TempDir(), "flow.svg"), list); err != nil {
		t.Error(err)
	}
}

// The generators make about as many tasks as they are asked for, and no two seeds the same.
func TestShapes(t *testing.T) {
	t.Parallel()
	for shape := range Shapes {
		for _, n := range []int{1, 50, 1000} {
			a, p, err := Make(shape, n, Speeds, 1, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Check(p); err != nil {
				t.Errorf("%s of %d: %v", shape, n, err)
			}
			if got := len(a.Vertices); n >= 50 && (got < n*8/10 || got > n*12/10) {
				t.Errorf("%s has %d tasks, not about %d", shape, got, n)
			}
			b, _, _ := Make(shape, n, Speeds, 1, 2)
			if a.Vertices[0].Configurations[0].Run[0] == b.Vertices[0].Configurations[0].Run[0] {
				t.Errorf("%s: two seeds make the same", shape)
			}
		}
	}
	if _, _, err := Make("star", 10, Speeds, 1, 1); err == nil {
		t.Error("a shape that is none was made")
	}
}

func BenchmarkHEFT10000(b *testing.B)  { benchmark(b, 10_000) }
func BenchmarkHEFT100000(b *testing.B) { benchmark(b, 100_000) }

// benchmark plans workflows of each shape on 100 executors.
func benchmark(b *testing.B, tasks int) {
	speeds := make([]float64, 100)
	for i := range speeds {
		speeds[i] = Speeds[i%len(Speeds)]
	}
	for shape := range Shapes {
		b.Run(string(shape), func(b *testing.B) {
			g, p, err := Make(shape, tasks, speeds, 1, 1)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := flow.Plan(g, p, flow.HEFT, flow.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
