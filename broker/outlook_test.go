package broker

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// What lacks only because nodes are down will pass, and is no reason to give a job up;
// what the site has not at all is told as such.
func TestNodesThatAreDownComeBack(t *testing.T) {
	t.Parallel()
	c := signed()
	fits, never := jobOf(her, "b", "1"), jobOf(her, "b", "2")
	never.Demand.Chunks = []grid.Chunk{{Count: 1, Processes: 1, Cores: 5}}
	c.Step(1_000_003, Message{him, wire.Ask{Round: 1, Questions: []wire.Question{
		{Job: fits.ID, Demand: fits.Demand, Walltime: fits.Walltime}, {Job: never.ID, Demand: never.Demand, Walltime: never.Walltime},
	}}})
	look := shot(1_000_004)
	look.Snapshot.Nodes[0].Down = true
	m, ok := sentTo(c.Step(1_000_004, look), him)[0].(wire.Tell)
	if !ok || len(m.Answers) != 2 || m.Answers[0].Estimate.Refusal == nil || m.Answers[1].Estimate.Refusal == nil {
		t.Fatalf("answered %+v", m)
	}
	if r := m.Answers[0].Estimate.Refusal.Reason; r != nodesDown {
		t.Errorf("a job that fits is refused by %q", r)
	}
	if r := m.Answers[1].Estimate.Refusal.Reason; r == nodesDown {
		t.Error("one that never fits is told to wait")
	}
}
