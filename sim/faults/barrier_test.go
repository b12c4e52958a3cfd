package faults

import (
	"testing"

	"gbroker/grid"
)

// A job that finds no room keeps back those behind it, and no part that has nodes of its own.
func TestAReservationIsNotBehindTheQueue(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	b := x.a.batch
	x.a.nodes = x.a.nodes[:1]
	n := x.a.nodes[0]
	wall := x.a.clock.wall(x.w.now)
	b.holds = map[grid.ReservationID]grid.Place{"r": {Nodes: []grid.NodeName{n.Name}, Start: wall, End: wall + grid.Hour}}
	local := func(cores int, in string) *local {
		return &local{foreign: true, cores: cores, span: grid.Minute, sub: grid.Submission{Limit: grid.Hour, Reservation: in}}
	}
	head, next, part := local(n.Cores, ""), local(1, ""), local(1, "r")
	b.jobs = append(b.jobs, head, next, part)
	b.schedule()
	if head.started != 0 || next.started != 0 || part.entered == 0 {
		t.Errorf("the first is started at %d, the one behind it at %d, the part has entered at %d", head.started, next.started, part.entered)
	}
}

// What a home has given up is held against its site only when there was time to say so.
func TestWhatIsGivenUpIsSaidInTime(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.f.accepted = false
	for _, s := range x.w.sites {
		s.host.boot()
		s.awake = 0
	}
	x.w.truth.pieces["r"] = []*piece{{of: &round{of: x.f}, at: x.b, reservation: "r"}}
	x.a.disk.putBeside(besideKey{grid.KindAllocation, "job"}, &grid.Allocation{Of: "job", State: grid.Planned, Parts: []grid.AllocatedPart{{Reservation: "r", Asked: true}}})
	x.w.untold(x.b, "r")
	if x.w.result.Violation != nil {
		t.Fatal("at once: ", x.w.result.Violation)
	}
	x.w.now += untold + grid.Second
	x.w.untold(x.b, "r")
	if x.w.result.Violation == nil {
		t.Error("never")
	}
}
