package embedded

import (
	"reflect"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/embedded/supervise"
	"gbroker/plan"

	"go.uber.org/zap"
)

// Where a job runs, and what it holds there, is found again in the spool, by the
// names of the nodes.
func TestSharesComeBack(t *testing.T) {
	t.Parallel()
	s := &System{log: zap.NewNop(), config: Config{Nodes: []plan.Node{{Name: "a"}, {Name: "b"}}}}
	e := &entry{spec: &supervise.Spec{ID: grid.AttemptID{Job: "here.01ABCDEFGHJKMNPQRSTVWXYZ00", Attempt: 1}, Work: "/w", Control: "/c", Limit: 1}}
	shares := []plan.Share{
		{Node: 1, Processes: 2, Cores: 3, Memory: 4, Resources: []grid.Resource{{Name: "gpu:a100", Amount: 2}}},
		{Node: 0, Processes: 1, Cores: 1},
	}
	s.place(e, shares)
	data, err := e.spec.Encode()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := supervise.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.sharesOf(spec); !reflect.DeepEqual(got, shares) {
		t.Errorf("%+v, want %+v", got, shares)
	}
	s.config.Nodes[0].Name, s.config.Nodes[1].Name = "b", "c"
	if got := s.sharesOf(spec); len(got) != 1 || got[0].Node != 0 || got[0].Memory != 4 {
		t.Errorf("after a change of the nodes: %+v", got)
	}
}
