package plan

import (
	"testing"

	"gbroker/grid"
)

// twoNodes has two nodes of a core, each with a job of its own user that runs since 0, and one job that waits for both nodes.
func twoNodes() Snapshot {
	s := Snapshot{Policy: Policy{Kind: FCFS}, Nodes: []Node{{Name: "a", Cores: 1}, {Name: "b", Cores: 1}}}
	for n := range 2 {
		s.Running = append(s.Running, Running{Shares: []Share{{Node: n, Processes: 1, Cores: 1}}, End: 1000, Trait: Trait{Who: int64(n), Cores: 1, Limit: 1000}})
	}
	s.Waiting = []Waiting{{Job: "wide", Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 1}}}, Limit: 10, Trait: Trait{Who: 2, Cores: 2, Limit: 10}}}
	return s
}

func runs(first, second grid.Tick) Runs { return Runs{[]grid.Tick{first, second}, []grid.Tick{10}} }

var aCore = grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}

// Each of two jobs runs for 100 in one of three cases, and for 20 or 30 else. Who waits for both waits for 100 in two cases of three.
func TestTheLastOfTwoIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := twoNodes()
	e := Foresee(s, []Runs{runs(100, 30), runs(20, 100), runs(30, 20)})
	if start, ok := e.Start("wide"); !ok || start != 100 {
		t.Errorf("the wide job starts at %d, %t; want 100", start, ok)
	}
	median := runs(30, 30)
	if start, ok := Likely(s, &median).Start("wide"); !ok || start != 30 {
		t.Errorf("by the median of each it starts at %d, %t; want 30", start, ok)
	}
	if start, refusal := e.Ask(Question{Demand: aCore, Limit: 10}); refusal != nil || start != 110 {
		t.Errorf("one more starts at %d, %v; want 110", start, refusal)
	}
	if _, ok := e.Start("other"); ok {
		t.Error("a job starts that is not there")
	}
	if _, refusal := e.Ask(Question{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 3, Processes: 1, Cores: 1}}}, Limit: 10}); refusal == nil {
		t.Error("three cores are had of two")
	}
}

// In a batch a job stands in each plan where it stands there, if it comes by the median.
func TestBatchOfAnEnsemble(t *testing.T) {
	t.Parallel()
	draws := []Runs{runs(100, 30), runs(20, 100), runs(30, 20)}
	e := Foresee(twoNodes(), draws)
	both := grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 1}}}
	b := e.Batch()
	for i, step := range []struct {
		q    Question
		want grid.Tick
	}{
		{Question{Demand: both, Limit: 50, Before: 110}, 110}, // it would come too late, and does not come
		{Question{Demand: both, Limit: 50, Before: 111}, 110}, // starts at 110, 110 and 40
		{Question{Demand: aCore, Limit: 10}, 160},             // 160, 160 and 90
	} {
		if start, refusal := b.Ask(step.q); refusal != nil || start != step.want {
			t.Errorf("question %d: starts at %d, %v; want %d", i, start, refusal, step.want)
		}
	}
	single := Likely(twoNodes(), &draws[2]).Batch()
	single.Ask(Question{Demand: both, Limit: 50})
	if start, _ := single.Ask(Question{Demand: aCore, Limit: 10}); start != 90 {
		t.Errorf("alone the third plan has it start at %d, want 90", start)
	}
}

// What less than half of the plans refuse has a start, what more refuse has none.
func TestMedianOfRefusals(t *testing.T) {
	t.Parallel()
	no := &grid.Refusal{Reason: "no"}
	for _, c := range []struct {
		answers []answer
		start   grid.Tick
		refused bool
	}{
		{[]answer{{0, no}, {5, nil}, {7, nil}}, 7, false},
		{[]answer{{5, nil}, {0, no}, {0, no}}, 0, true},
		{[]answer{{9, nil}}, 9, false},
		{[]answer{{0, no}}, 0, true},
		{[]answer{{3, nil}, {1, nil}, {2, nil}, {0, no}, {4, nil}}, 3, false},
	} {
		if start, refusal := median(c.answers); start != c.start || (refusal != nil) != c.refused {
			t.Errorf("%v: %d, %v; want %d, refused %t", c.answers, start, refusal, c.start, c.refused)
		}
	}
}
