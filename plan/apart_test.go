package plan

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// Pieces that ask for distinct nodes have one each, in the plan, in its estimates and in its refusals.
func TestDistinctNodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := func(low, high int) int { return rapid.IntRange(low, high).Draw(t, "n") }
		s := Snapshot{At: 1000, Policy: Policy{Kind: rapid.SampledFrom([]Kind{FCFS, FirstFit, EASY, EASYSJBF, ConsRebuild, ConsCompress}).Draw(t, "kind"), Reservations: 1}}
		for i := range n(1, 6) {
			s.Nodes = append(s.Nodes, Node{Name: grid.NodeName(fmt.Sprint("n", i)), Cores: n(1, 4)})
		}
		for i := range n(1, 6) {
			w := Waiting{Job: grid.JobID(fmt.Sprint("j", i)), Limit: grid.Tick(n(1, 50)) * grid.Second}
			for range n(1, 2) {
				w.Demand.Chunks = append(w.Demand.Chunks, grid.Chunk{Count: n(1, 3), Processes: 1, Cores: n(1, 2)})
			}
			w.Demand.DistinctNodes, w.Demand.Exclusive = n(0, 1) == 1, n(0, 5) == 0
			s.Waiting = append(s.Waiting, w)
		}
		p := Build(s)
		for i, w := range s.Waiting {
			pieces := 0
			for _, c := range w.Demand.Chunks {
				pieces += c.Count
			}
			refused := Refuse(s, Question{Demand: w.Demand, Limit: w.Limit})
			start, why := p.Ask(Question{Demand: w.Demand, Limit: w.Limit})
			if (refused == nil) != (why == nil) {
				t.Fatalf("job %d is refused by %v, and by %v when asked (%v)", i, refused, why, start)
			}
			if w.Demand.DistinctNodes && pieces > len(s.Nodes) && refused == nil {
				t.Fatalf("%d pieces have a node each of %d", pieces, len(s.Nodes))
			}
		}
		for i, w := range s.Waiting {
			r, starts := p.Waiting(i)
			if !starts {
				continue
			}
			on := 0
			for _, h := range r.Shares {
				on++
				if w.Demand.DistinctNodes && h.Processes > 1 {
					t.Fatalf("%+v lies on %+v", w, r.Shares)
				}
			}
			pieces := 0
			for _, c := range w.Demand.Chunks {
				pieces += c.Count
			}
			if w.Demand.DistinctNodes && on != pieces {
				t.Fatalf("%d pieces lie on %d nodes", pieces, on)
			}
		}
	})
}

func TestNodesByNameAndWhatIsDeclared(t *testing.T) {
	t.Parallel()
	s := Snapshot{Nodes: []Node{{Name: "n1.cluster", Cores: 2}, {Name: "N2", Cores: 2}}, Site: grid.Site{Each: grid.Each{Disk: 100, Clock: 2e9}}}
	ask := func(d grid.Demand, cores int) *grid.Refusal {
		d.Chunks = []grid.Chunk{{Count: 1, Processes: 1, Cores: cores}}
		return Refuse(s, Question{Demand: d, Limit: 1})
	}
	within := func(of grid.Quantity, low, high float64) []grid.Measure {
		return []grid.Measure{{Of: of, Within: []grid.Interval{{Low: low, High: high}}}}
	}
	for name, c := range map[string]struct {
		d      grid.Demand
		reason string
	}{
		"by name":             {grid.Demand{Hosts: []string{"n1"}}, ""},
		"by its whole name":   {grid.Demand{Hosts: []string{"N1.Cluster"}}, ""},
		"with a domain":       {grid.Demand{Hosts: []string{"n2.cluster"}}, ""},
		"one of two":          {grid.Demand{Hosts: []string{"moon", "n2"}}, ""},
		"nobody":              {grid.Demand{Hosts: []string{"n3"}}, "no node of that name"},
		"another domain":      {grid.Demand{Hosts: []string{"n1.moon"}}, "no node of that name"},
		"disk":                {grid.Demand{Disk: 100}, ""},
		"too much disk":       {grid.Demand{Disk: 101}, "not enough disk on its nodes"},
		"clock":               {grid.Demand{Measures: within(grid.ClockSpeed, 1e9, 2e9)}, ""},
		"another clock":       {grid.Demand{Measures: within(grid.ClockSpeed, 3e9, 0)}, "its nodes have another clock"},
		"bandwidth of nobody": {grid.Demand{Measures: within(grid.Bandwidth, 1, 0)}, "it does not declare the bandwidth of its nodes"},
	} {
		r := ask(c.d, 1)
		if c.reason == "" && r != nil || c.reason != "" && (r == nil || r.Reason != c.reason || r.Kind != grid.Permanent) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if d, r := Form(Snapshot{Shapes: Shapes{Nameless: true}}, grid.Demand{Hosts: []string{"n1"}, Chunks: []grid.Chunk{{Count: 1}}}); r == nil || !strings.Contains(r.Reason, "by their names") {
		t.Errorf("%+v, %+v", d, r)
	}
	two := grid.Demand{DistinctNodes: true, Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 1}}}
	if d, r := Form(Snapshot{Shapes: Shapes{Mingles: true}}, two); r == nil || !strings.Contains(r.Reason, "distinct nodes") {
		t.Errorf("%+v, %+v", d, r)
	}
	four := []Node{{Cores: 4}, {Cores: 4}}
	if d, r := Form(Snapshot{Nodes: four, Shapes: Shapes{Apart: true}}, two); r != nil || d.Chunks[0].Count != 2 {
		t.Errorf("pieces on distinct nodes are packed: %+v, %+v", d, r)
	}
	two.Chunks = append(two.Chunks, grid.Chunk{Count: 1, Processes: 2, Cores: 2})
	if d, r := Form(Snapshot{Nodes: four, Shapes: Shapes{Apart: true}}, two); r == nil || !strings.Contains(r.Reason, "different sizes") {
		t.Errorf("pieces of two sizes, which may share a node: %+v, %+v", d, r)
	}
}
