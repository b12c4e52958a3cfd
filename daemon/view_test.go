package daemon

import (
	"reflect"
	"testing"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// A snapshot and a listing of the same site show the same, but for whose the jobs are.
func TestAViewOfASnapshotAndOfAListing(t *testing.T) {
	t.Parallel()
	nodes := []plan.Node{{Name: "n1", Cores: 4, Memory: 5, Resources: []grid.Resource{{Name: "gpu", Amount: 2}}}, {Name: "n2", Cores: 4, Down: true}}
	queues := []plan.Queue{{Name: "q", Limit: grid.Hour, Nodes: []int{0}, Closed: true, Why: "shut"}}
	demand := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 3, Cores: 3}}}
	at := wall() + grid.Hour // an age of none
	shot := plan.Snapshot{
		At: at, Nodes: nodes, Queues: queues, Default: "q", Stopped: true, Why: "scheduling is off", Unusable: []string{"node n3"},
		Running:      []plan.Running{{Job: "a.1", Start: 1000, End: 61_000, Shares: []plan.Share{{Node: 0, Processes: 3, Cores: 3}}}},
		Waiting:      []plan.Waiting{{Job: "a.2", Queue: "q", Demand: demand, Limit: grid.Minute}, {Job: "a.3", Queue: "q", Demand: demand, Limit: grid.Minute, Ineligible: true, Why: "held by root"}},
		Reservations: []plan.Reservation{{ID: "r", Start: 5, End: 9, Shares: []plan.Share{{Node: 1}, {Node: 0}}}},
	}
	l := external.Listing{
		At: at, Nodes: nodes, Queues: queues, Default: "q", Stopped: true, Why: "scheduling is off", Unusable: []string{"node n3"},
		Jobs: []external.Job{
			{Local: "a.1", State: external.Running, Demand: demand, Started: 1000, Limit: grid.Minute, Places: []external.Place{{Node: "n1", Processes: 3, Cores: 3}}},
			{Local: "a.2", State: external.Queued, Queue: "q", Demand: demand, Limit: grid.Minute},
			{Local: "a.3", State: external.Held, Queue: "q", Demand: demand, Limit: grid.Minute, Reason: "held by root"},
			{Local: "a.4", State: external.Done},
		},
		Reservations: []external.Reservation{{ID: "r", Native: "r", Start: 5, End: 9, Nodes: []grid.NodeName{"n2", "n1"}}},
	}
	a, b := viewSnapshot(shot, "x"), viewListing(l, "x", "")
	if !reflect.DeepEqual(a, b) {
		t.Errorf("the snapshot is\n%+v\nand the listing\n%+v", a, b)
	}
	if n := a.Nodes; len(n) != 2 || n[0].Used != 3 || n[0].Resources["gpu"] != 2 || !n[1].Down {
		t.Errorf("nodes %+v", n)
	}
	if w := a.Waiting; len(w) != 2 || w[0].State != "waiting" || w[1].State != "held" || w[1].Reason != "held by root" || w[0].Processes != 3 {
		t.Errorf("waiting %+v", w)
	}
	if a.Stopped != "scheduling is off" || len(a.Unusable) != 1 || a.Queues[0].Closed != "shut" || !a.Queues[0].Default {
		t.Errorf("%+v", a)
	}
	if r := a.Reservations; len(r) != 1 || !reflect.DeepEqual(r[0], api.Reservation{ID: "r", Native: "r", Nodes: []string{"n1", "n2"}, Start: 5, End: 9}) {
		t.Errorf("reservations %+v", r)
	}
}
