package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// While a journal that was rolled back waits for all to be asked, a job that waited here is given up, as its control files are damaged,
// or cancelled. The broker is started anew, and goes on when all were asked: nothing asks the directory of a job that has ended. The end stays
// as it is, also where a site was forgotten that may have got the job.
func TestWhatHasEndedIsInDoubtNoMore(t *testing.T) {
	t.Parallel()
	for _, end := range []grid.State{grid.Lost, grid.Killed} {
		j := jobOf(her, "b", "1")
		r := grid.Record{
			Job: j, State: grid.StageOut, Run: grid.Run{Attempt: 1, End: end},
			Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 2}, Report: 7, Uncertain: true},
		}
		cfg := signer(me, "a")
		cfg.State = grid.SiteState{RolledBack: 1}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, []grid.Record{r})
		begin(c)
		c.Step(1_000_001, Message{her, wire.Recounted{}})
		c.Step(1_000_001, Forget{Site: him, By: "root"})
		if !settled(c, 1_000_002) {
			t.Errorf("%s: it asks for ever", end)
		}
		if got := c.jobs[j.ID].rec; got.End != end || got.State != grid.StageOut {
			t.Errorf("%s: it is %s, %s: %s", end, got.State, got.End, got.Reason)
		}
	}
}

// So is a job of this home whose user was told the end, and of whose mail something is still to be sent.
func TestWhatWasToldIsNotInDoubt(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"it may run again": true, "it may run once": false} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = again
		c := signed(grid.Record{
			Job: j, State: grid.Completed, Ended: 10, Run: grid.Run{Attempt: 1, End: grid.Completed}, AtHome: grid.AtHome{Owed: []grid.Owed{{}}},
			Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
		})
		c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		for _, p := range []grid.PeerID{her, him, it} {
			c.Step(1_000_002, Forget{Site: p, By: "root"})
		}
		if !settled(c, 1_000_003) || c.failed != nil || c.jobs[j.ID].rec.State != grid.Completed {
			t.Errorf("%s: it is %s; %v", name, c.jobs[j.ID].rec.State, c.failed)
		}
	}
}
