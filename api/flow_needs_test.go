package api

import (
	"encoding/json"
	"reflect"
	"testing"

	"gbroker/api/workflow"
	"gbroker/grid"
)

// What tasks need is asked about once each, of many from the least memory to the most, and comes as it was sent.
func TestFlowNeeds(t *testing.T) {
	t.Parallel()
	w := &workflow.Workflow{Tasks: []workflow.Task{{Cores: 3}, {Cores: 3, Resources: []grid.Resource{{Name: "gpu", Amount: 2}}}, {Resources: []grid.Resource{{Name: "gpu", Amount: 2}}}}}
	w.Tasks = append(w.Tasks, w.Tasks[1])
	n := FlowNeedsOf(w)
	if !reflect.DeepEqual(n.Cores, []int{1, 3}) || len(n.Tasks) != 2 || n.Tasks[0].Cores() != 3 || n.Tasks[1].Cores() != 1 {
		t.Errorf("%+v", n)
	}
	for i := range int64(100) {
		w.Tasks = append(w.Tasks, workflow.Task{Memory: 1 + (37*i)%100})
	}
	n = FlowNeedsOf(w)
	if last := len(n.Tasks) - 1; last != maxAsked-1 || n.Tasks[last].Memory() != 100 || n.Tasks[0].Memory() != 0 {
		t.Errorf("%d are asked about", len(n.Tasks))
	}
	sent := flowNeed{Cores: 2, Memory: 5, Resources: []grid.Resource{{Name: "gpu", Amount: 1}}}
	text, err := json.Marshal(&sent)
	if err != nil {
		t.Fatal(err)
	}
	var got flowNeed
	if err := got.read(string(text)); err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("%+v (%v)", got, err)
	}
	for _, bad := range []string{"", "{}", `{"cores":1,"memory":-1}`, `{"cores":1,"resources":[{"Name":"gpu"}]}`, `{"cores":1,"resources":[{"Name":"memory","Amount":1}]}`} {
		if err := new(flowNeed).read(bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
