package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// withdrawing is a job that waits in the queue here, and is being withdrawn for a candidate that is READY.
func withdrawing(t *testing.T) (*Core, *job, wire.Ready) {
	t.Helper()
	c := signed(grid.Record{
		Job: jobOf(me, "a", "1"), State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "l"},
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
	})
	j := c.sorted()[0]
	c.Step(c.now+1, Reconciled{Jobs: []grid.JobID{j.rec.Job.ID}, All: true})
	c.now++
	c.ownership.makeOffer(j, him, 0, 1)
	ready := wire.Ready{Handoff: c.ownership.handoffID(j), Journal: grid.JournalID{Incarnation: 3, Life: 1, Sequence: 5}}
	c.Step(c.now+1, Message{him, ready})
	if j.rec.Handoff.Phase != grid.Withdrawing {
		t.Fatalf("the handoff is %v", j.rec.Handoff.Phase)
	}
	return c, j, ready
}

// A candidate that is no neighbour any more, or has died, when the attempt here is withdrawn for it, hears no Commit: the job stays.
func TestACandidateThatWentBeforeTheCommit(t *testing.T) {
	t.Parallel()
	for name, went := range map[string]Event{
		"removed": MembersChanged{[]grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "d", Peer: it, Send: true}}},
		"dead":    PeerChanged{him, grid.Dead},
		"":        PeerChanged{him, grid.Alive},
	} {
		c, j, _ := withdrawing(t)
		c.Step(c.now+1, went)
		c.Step(c.now+1, Withdrawn{ID: grid.AttemptID{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, Attempt: 1}, Done: true})
		if gone := name != ""; gone != (j.rec.Role == grid.Owning) {
			t.Errorf("%s: this site is %v, and the owner is %s", name, j.rec.Role, j.rec.Owner)
		}
	}
}

// Past the commit point a Ready for another job than the one offered changes nothing: the candidate owns the job.
func TestAFalseReadyAfterTheCommit(t *testing.T) {
	t.Parallel()
	c, j, ready := withdrawing(t)
	c.Step(c.now+1, Withdrawn{ID: grid.AttemptID{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, Attempt: 1}, Done: true})
	if j.rec.Handoff.Phase != grid.Committed {
		t.Fatalf("the handoff is %v", j.rec.Handoff.Phase)
	}
	ready.Handoff.Digest[0]++
	effects := c.Step(c.now+1, Message{him, ready})
	if j.rec.Handoff.Phase != grid.Committed || j.rec.State != grid.Moving {
		t.Errorf("the handoff is %v, and the job %s", j.rec.Handoff.Phase, j.rec.State)
	}
	for _, m := range sentTo(effects, him) {
		if a, is := m.(wire.Abort); is {
			t.Errorf("it is told %+v", a)
		}
	}
}
