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
		{9, false, TooFew, "9", "8"},
	} {
		d := grid.Demand{Chunks: []grid.Chunk{{Count: x.count, Processes: 1, Cores: 1}}, Exclusive: true, DistinctNodes: x.apart}
		if r := Refuse(s, Question{Demand: d, Limit: 1}); r == nil || r.Reason != x.why || r.Asked != x.asked || r.Available != x.has {
			t.Errorf("%+v: %+v", x, r)
		}
	}
	d := grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 3, Cores: 3}}, Exclusive: true, DistinctNodes: true}
	if r := Refuse(s, Question{Demand: d, Limit: 1}); r != nil {
		t.Errorf("two that there are: %+v", r)
	}
}
