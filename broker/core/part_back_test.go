package core

import (
	"testing"

	"gbroker/grid"
)

// A part that waited at its site for the word of its home has started there, in a part of the journal that is lost: it does not fail as one that has no
// place before its control directory has spoken.
func TestAPartThatHasStartedBeforeItsJournalWasPutBack(t *testing.T) {
	t.Parallel()
	for _, started := range []bool{true, false} {
		c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{ownedHere(func(r *grid.Record) {
			whole := r.Job.ID
			r.Job.ID = whole + ".1"
			r.Job.Part = &grid.Part{Of: whole, Round: 1, Sites: []grid.PartSite{{Name: "a", Processes: 1}}}
		})})
		c.Step(1_000_000, Boot{})
		j := c.sorted()[0]
		c.Step(c.now+1, PeerChanged{her, grid.Alive})
		if j.rec.State != grid.Ready {
			t.Fatalf("before its control directory has spoken it is %s (%s)", j.rec.State, j.rec.Reason)
		}
		there, want := []grid.AttemptID{}, grid.StageOut
		if started {
			there, want = []grid.AttemptID{{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, Attempt: 1}}, grid.Assigned
		}
		c.Step(c.now+1, Reconciled{All: true, Jobs: []grid.JobID{j.rec.Job.ID}, Attempts: there})
		if pass(c, grid.Second); j.rec.State != want {
			t.Errorf("started %t: it is %s (%s)", started, j.rec.State, j.rec.Reason)
		}
	}
}
