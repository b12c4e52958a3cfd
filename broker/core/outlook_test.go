package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// What lacks only because nodes are down will pass, and is no reason to give a job up;
// what the site has not at all is told as such.
func TestNodesThatAreDownComeBack(t *testing.T) {
	t.Parallel()
	c := signed()
	fits, never := jobOf(her, "b", "1"), jobOf(her, "b", "2")
	never.Demand.Chunks = []grid.Chunk{{Count: 1, Processes: 1, Cores: 5}}
	c.Step(1_000_003, Message{him, wire.EstimateRequest{Round: 1, Questions: []wire.Question{
		{Job: fits.ID, Demand: fits.Demand, Walltime: fits.Walltime}, {Job: never.ID, Demand: never.Demand, Walltime: never.Walltime},
	}}})
	look := shot(1_000_004)
	look.Snapshot.Nodes[0].Down = true
	m, ok := sentTo(c.Step(1_000_004, look), him)[0].(wire.EstimateReply)
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

// Where the scheduler starts whatever fits, later jobs may overtake one that waits: no bound
// is told for its start.
func TestNoBoundUnderFirstFit(t *testing.T) {
	t.Parallel()
	for _, policy := range []plan.Policy{{Kind: plan.EASY}, {Kind: plan.FirstFit, Overtakes: 2}, {Kind: plan.FirstFit}} {
		c := signed()
		first, second := jobOf(her, "b", "1"), jobOf(her, "b", "2")
		first.Demand.Chunks = []grid.Chunk{{Count: 1, Processes: 1, Cores: 4}}
		second.Demand = first.Demand
		c.Step(1_000_003, Message{him, wire.EstimateRequest{Round: 1, Questions: []wire.Question{
			{Job: first.ID, Demand: first.Demand, Walltime: grid.Minute}, {Job: second.ID, Demand: second.Demand, Walltime: grid.Minute},
		}}})
		look := shot(1_000_004)
		look.Snapshot.Policy = policy
		m, ok := sentTo(c.Step(1_000_004, look), him)[0].(wire.EstimateReply)
		if !ok || len(m.Answers) != 2 {
			t.Fatalf("answered %+v", m)
		}
		now, later := m.Answers[0].Estimate, m.Answers[1].Estimate
		if unsure := policy.Kind == plan.FirstFit && policy.Overtakes == 0; now.Safe != 0 || later.Wait != grid.Minute || (later.Safe == grid.Unsure) != unsure || !unsure && later.Safe != grid.Minute {
			t.Errorf("%v: %+v, then %+v", policy, now, later)
		}
	}
}
