package plan

import (
	"testing"

	"gbroker/grid"
)

// Whole nodes are counted as nodes, those of a demand that is not one piece for each node as its cores.
func TestTooFewWholeNodes(t *testing.T) {
	t.Parallel()
	s := Snapshot{Nodes: []Node{{Name: "a", Cores: 4}, {Name: "b", Cores: 4}}}
	for _, x := range []struct {
		count           int
		apart           bool
		why, asked, has string
	}{
		{3, true, tooFewWhole, "3", "2"},
		{99, true, tooFewWhole, "99", "2"},
		{9, false, tooFew, "9", "8"},
	} {
		d := grid.Demand{Chunks: []grid.Chunk{{Count: x.count, Processes: 1, Cores: 1}}, Exclusive: true, DistinctNodes: x.apart}
		if r := Refuse(s, Question{Demand: d, Limit: 1}); r == nil || r.Reason != x.why || !r.TooWide || r.Asked != x.asked || r.Available != x.has {
			t.Errorf("%+v: %+v", x, r)
		}
	}
	d := grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 3, Cores: 3}}, Exclusive: true, DistinctNodes: true}
	if r := Refuse(s, Question{Demand: d, Limit: 1}); r != nil {
		t.Errorf("two that there are: %+v", r)
	}
}

// What is too much in all several sites might have together; what is too much for a single piece, or for another reason, they have not.
func TestTooWide(t *testing.T) {
	t.Parallel()
	s := Snapshot{Nodes: []Node{{Name: "a", Cores: 4, Memory: 8}, {Name: "b", Cores: 4, Memory: 8}}}
	for name, x := range map[string]struct {
		d    grid.Demand
		wide bool
	}{
		"cores in all":       {grid.Demand{Chunks: []grid.Chunk{{Count: 9, Processes: 1, Cores: 1}}}, true},
		"pieces of three":    {grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 3, Cores: 3}, {Count: 1, Processes: 2, Cores: 2}}}, true},
		"memory in all":      {grid.Demand{Chunks: []grid.Chunk{{Count: 3, Processes: 1, Cores: 1, Memory: 8}}}, true},
		"nodes in all":       {grid.Demand{Chunks: []grid.Chunk{{Count: 3, Processes: 1, Cores: 1}}, DistinctNodes: true}, true},
		"cores of one piece": {grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 5, Cores: 5}}}, false},
		"more than all have": {grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 9, Cores: 9}}}, false},
		"memory of one":      {grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1, Memory: 9}}}, false},
		"what no node has":   {grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1, Resources: []grid.Resource{{Name: "gpu", Amount: 1}}}}}, false},
	} {
		if r := Refuse(s, Question{Demand: x.d, Limit: 1}); r == nil || r.Kind != grid.Permanent || r.TooWide != x.wide {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
