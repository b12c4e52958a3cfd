package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// The wish to cancel a job is heard while it is on its way to another site, which declines it: who takes it back ends it.
func TestAJobToBeCancelledThatIsTakenBackEnds(t *testing.T) {
	t.Parallel()
	for wished, want := range map[bool]grid.State{false: 0, true: grid.Killed} {
		c := signed(grid.Record{Job: jobOf(her, "b", "1"), State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 3}}})
		k := c.sorted()[0]
		k.recovered, k.rec.CancelRequested = false, wished
		k.rec.State, k.rec.Handoff = grid.Moving, grid.Handoff{Phase: grid.Committed, To: him, Epoch: grid.Epoch{Term: 1, Hop: 2}}
		if c.ownership.dropOffer(k, "declined after the commit"); k.rec.End != want {
			t.Errorf("wished %t: %s, %s", wished, k.rec.State, k.rec.End)
		}
	}
}

// A Commit that is said again carries what its user has wished since.
func TestACommitSaidAgainCancels(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		name   string
		from   grid.PeerID
		cancel bool
		want   grid.State
	}{
		{"with the wish", her, true, grid.Killed},
		{"without", her, false, 0},
		{"by who never had the job", him, true, 0},
	} {
		j := jobOf(her, "b", "1")
		c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{
			Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: []grid.Certificate{certificate(j, her, 1, me)},
		}})
		c.jobs[j.ID].recovered = false
		id := wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, To: me, Digest: wire.JobDigest(j)}
		effects := c.Step(1_000_001, Message{k.from, wire.Commit{Handoff: id, Cancel: k.cancel}})
		if r := c.jobs[j.ID].rec; r.End != k.want || r.CancelRequested != (k.want != 0) {
			t.Errorf("%s: %s, %s, to be cancelled %t; %d effects", k.name, r.State, r.End, r.CancelRequested, len(effects))
		}
	}
}
