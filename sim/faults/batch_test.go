package faults

import (
	"testing"

	"gbroker/grid"
)

// A job that waits for nodes which are reserved starts when that reservation is over, though nothing else happens at the site;
// also where its clock is set back meanwhile, so that it is over later.
func TestWhatWaitsForAReservationStarts(t *testing.T) {
	t.Parallel()
	for _, back := range []grid.Tick{0, grid.Minute} {
		x := newScene(t)
		b := x.b.batch
		var nodes []grid.NodeName
		for _, n := range x.b.nodes {
			nodes = append(nodes, n.Name)
		}
		now := x.b.clock.wall(x.w.now)
		b.hold("kept", grid.Place{Nodes: nodes, Start: now, End: now + 2*grid.Minute})
		l := &local{foreign: true, span: grid.Hour, sub: grid.Submission{Limit: grid.Hour, Job: grid.Job{Demand: cores(1)}}}
		b.add(l)
		x.w.until(x.w.now+grid.Minute, nil)
		if x.b.clock.offset -= back; !l.waits() {
			t.Fatal("it starts on nodes that are reserved")
		}
		x.w.until(x.w.now+2*grid.Minute+back, nil)
		if l.waits() {
			t.Errorf("set back by %v s: it waits for ever", back.Seconds())
		}
	}
}
