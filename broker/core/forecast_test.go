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

// What is expected counts on those who reserved: the reservation ends with its job. What is safe does not.
func TestGraceIsNotExpected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end  grid.Tick // of the reservation that the batch system shows
		wait grid.Tick
	}{
		{1_000_000 + 10*grid.Minute, 5*grid.Minute - 4},
		{1_000_000 + 11*grid.Minute, 11*grid.Minute - 4}, // it is none of the book
	} {
		cfg := signer(me, "a")
		cfg.Reservations = []grid.Reservation{{
			ID: "r", Kind: grid.NodesReserved, Site: me, Holder: grid.User{Name: "u", Home: her}, For: "b.1", Nodes: []grid.NodeName{"n"}, Start: 1_000_000,
			End: 1_000_000 + 10*grid.Minute, State: grid.Confirmed, Grace: 5 * grid.Minute, Holding: grid.Placed, Cores: 4, Made: 1, Until: 1_000_000 + grid.Hour,
		}}
		core := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, nil)
		core.Step(1_000_001, Boot{})
		core.Step(1_000_002, PeerChanged{him, grid.Alive})
		job := jobOf(her, "b", "1")
		core.Step(1_000_003, Message{him, wire.EstimateRequest{Round: 1, Questions: []wire.Question{{Job: job.ID, Demand: job.Demand, Walltime: grid.Minute}}}})
		look := shot(1_000_004)
		look.Snapshot.Reservations = []plan.Reservation{{ID: "native", Shares: []plan.Share{{Cores: look.Snapshot.Nodes[0].Cores}}, Start: 1_000_000, End: c.end}}
		m, ok := sentTo(core.Step(1_000_004, look), him)[0].(wire.EstimateReply)
		if !ok || len(m.Answers) != 1 || m.Answers[0].Estimate.Refusal != nil {
			t.Fatalf("answered %+v", m)
		}
		if e := m.Answers[0].Estimate; e.Wait != c.wait || e.Safe != c.end-1_000_004 {
			t.Errorf("until %v: %+v, and not %v", c.end, e, c.wait)
		}
	}
}
