package daemon

import (
	"slices"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

// What ties a site to a neighbour: jobs on their way, there, and here for it; nothing else.
func TestHandoffs(t *testing.T) {
	t.Parallel()
	const self, b, c = grid.PeerID("self"), grid.PeerID("b"), grid.PeerID("c")
	record := func(id grid.JobID, home, owner grid.PeerID, role grid.Role, state grid.State) grid.Record {
		return grid.Record{Job: grid.Job{ID: id, Home: home}, State: state, Tenure: grid.Tenure{Owner: owner, Role: role}}
	}
	offered := record("offered", self, self, grid.Owning, grid.Ready)
	offered.Handoff.Phase, offered.Handoff.To = grid.Offering, b
	committed := record("committed", self, b, grid.Watching, grid.Moving)
	committed.Handoff.Phase, committed.Handoff.To = grid.Committed, b
	all := []grid.Record{
		offered, committed,
		record("prepared", c, b, grid.Prepared, grid.Ready),
		record("there", self, b, grid.Watching, grid.Running),
		record("here", b, self, grid.Owning, grid.Running),
		record("ended", self, b, grid.Watching, grid.Completed),
		record("local", self, self, grid.Owning, grid.Running),
		record("elsewhere", self, c, grid.Watching, grid.Running),
		record("of another", c, self, grid.Owning, grid.Running),
	}
	got := handoffs(self, b, func(_ int, pass func(*grid.Record) bool) (list []grid.Record) {
		for _, r := range all {
			if pass(&r) {
				list = append(list, r)
			}
		}
		return list
	})
	want := []api.Handoff{
		{Job: "offered", State: "READY"},
		{Job: "committed", State: "MOVING", Committed: true},
		{Job: "prepared", State: "READY", Incoming: true},
		{Job: "there", State: "RUNNING", There: true},
		{Job: "here", State: "RUNNING", Here: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
