package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// The reservation of a part of a job is expected to end sooner by its grace, which is in its end. That of a user lasts: his has none there.
func TestOnlyTheReservationOfAPartEndsSooner(t *testing.T) {
	t.Parallel()
	bound := jobOf(her, "b", "7")
	for name, c := range map[string]struct {
		of   grid.JobID
		wait grid.Tick
	}{
		"without a job":          {"", 3*grid.Minute - 4},
		"with the job of a user": {bound.ID, 3*grid.Minute - 4},
		"of a part":              {"b.00000000000000000000000008.1", 0},
	} {
		cfg := signer(me, "a")
		cfg.Reservations = []grid.Reservation{{
			ID: "r", Kind: grid.NodesReserved, Site: me, Holder: grid.User{Name: "u", Home: her}, For: c.of, Nodes: []grid.NodeName{"n"}, Start: 1_000_000,
			End: 1_000_000 + 3*grid.Minute, State: grid.Confirmed, Grace: 5 * grid.Minute, Holding: grid.Placed, Cores: 4, Made: 1, Until: 1_000_000 + grid.Hour,
		}}
		waits := grid.Record{Job: bound, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}, Run: grid.Run{Attempt: 1, Local: "1"}}
		core := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, []grid.Record{waits})
		core.Step(1_000_001, Boot{})
		core.Step(1_000_002, PeerChanged{him, grid.Alive})
		job := jobOf(her, "b", "1")
		core.Step(1_000_003, Message{him, wire.EstimateRequest{Round: 1, Questions: []wire.Question{{Job: job.ID, Demand: job.Demand, Walltime: grid.Minute}}}})
		look := shot(1_000_004)
		look.Snapshot.Reservations = []plan.Reservation{{ID: "native", Shares: []plan.Share{{Cores: look.Snapshot.Nodes[0].Cores}}, Start: 1_000_000, End: 1_000_000 + 3*grid.Minute}}
		m, ok := sentTo(core.Step(1_000_004, look), him)[0].(wire.EstimateReply)
		if !ok || len(m.Answers) != 1 || (m.Answers[0].Estimate.Wait != c.wait && !(c.wait == 0 && m.Answers[0].Estimate.Wait < 2*grid.Second)) {
			t.Errorf("%s: answered %+v, want a wait of %d", name, m, c.wait)
		}
	}
}
