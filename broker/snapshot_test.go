package broker

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

// What the batch system says by a wall clock that was set is moved to the broker's clock, reservations too.
func TestASnapshotIsInOurTime(t *testing.T) {
	t.Parallel()
	at := grid.Tick(1_000_000)
	s := plan.Snapshot{
		At: at + grid.Hour, Running: []plan.Running{{Start: at, End: at + 2*grid.Hour}},
		Reservations: []plan.Reservation{{ID: "r", Start: at + 2*grid.Hour, End: at + 3*grid.Hour}},
	}
	got := inOurTime(s, at)
	if r := got.Reservations[0]; got.At != at || r.Start != at+grid.Hour || r.End != at+2*grid.Hour || got.Running[0].End != at+grid.Hour {
		t.Errorf("%+v", got)
	}
	if s.Reservations[0].Start != at+2*grid.Hour || s.Running[0].Start != at {
		t.Error("what was told is changed")
	}
}
