package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// committedTo is b, PREPARED at 1.2 for a job of a, as its journal says at a start, and the Commit of a, or of c to whom a had given it. The control
// directory is read unless late.
func committedTo(j grid.Job, giver grid.PeerID, late bool) (*Core, wire.Commit) {
	at := grid.Epoch{Term: 1, Hop: 2}
	r := grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Prepared, Owner: giver, Handoff: grid.Handoff{To: her, Epoch: at}}}
	if giver != me {
		r.Certificates = []grid.Certificate{certificate(j, me, 1, giver)}
	}
	c := New(signer(her, "b"), []grid.Member{{Name: "a", Peer: me, Send: true}, {Name: "c", Peer: him, Send: true}}, []grid.Record{r})
	if late {
		c.Step(1_000_000, Boot{})
	} else {
		begin(c)
	}
	for _, p := range []grid.PeerID{me, him} {
		c.Step(1_000_000, PeerChanged{p, grid.Alive})
		c.Step(1_000_000, Message{p, wire.Seen{}})
	}
	return c, wire.Commit{
		Handoff:     wire.HandoffID{Job: j.ID, Epoch: at, To: her, Digest: wire.JobDigest(j)},
		Certificate: certificate(j, giver, 2, her),
	}
}

// A site owned the job by that Commit, ended it, and dropped its files when the home had it all. A power cut takes all of that from its journal, and
// a late copy of the Commit comes. The home is heard before anything starts.
func TestACommitToAnEarlierLife(t *testing.T) {
	t.Parallel()
	for name, giver := range map[string]grid.PeerID{"of the home": me, "of another owner": him} {
		j := jobOf(me, "a", "1")
		c, commit := committedTo(j, giver, false)
		effects := c.Step(c.now+1, Message{giver, commit})
		if _, starts := only[Launch](effects); starts || c.jobs[j.ID].rec.Role != grid.Owning {
			t.Errorf("a commit %s: submitted %t, %s", name, starts, c.jobs[j.ID].rec.Role)
		}
		// The home has acknowledged reports of the branch that is lost.
		for n := range uint64(9) {
			if _, starts := only[Launch](c.Step(c.now+1, Message{me, wire.ReportAck{Job: j.ID, Epoch: commit.Handoff.Epoch, Number: n}})); starts {
				t.Fatalf("a commit %s: it starts by an old acknowledgement of report %d", name, n)
			}
		}
		now := wire.ReportAck{Job: j.ID, Epoch: commit.Handoff.Epoch, Number: c.jobs[j.ID].rec.Report}
		if _, starts := only[Launch](c.Step(c.now+1, Message{me, now})); !starts {
			t.Errorf("a commit %s: its home lets it start, and it does not", name)
		}
	}
}

// An owner's journal has lost some reports in a power cut. What acknowledges them comes late: it is no word on the reports of now.
func TestAnAcknowledgementOfALostBranch(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	c := signed(grid.Record{
		Job: j, State: grid.Ready,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at, Report: 5, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
	})
	for n := range uint64(20) {
		if c.Step(c.now+1, Message{her, wire.ReportAck{Job: j.ID, Epoch: at, Number: n}}); c.gates.beforeStart(c.jobs[j.ID]) == open {
			t.Fatalf("it may start: report %d of before was acknowledged", n)
		}
	}
	c.Step(c.now+1, Message{her, wire.ReportAck{Job: j.ID, Epoch: at, Number: c.jobs[j.ID].rec.Report}})
	if hold := c.gates.beforeStart(c.jobs[j.ID]); hold != open {
		t.Errorf("it %s", hold)
	}
}

// A site owned the job, and its program runs; a power cut took that from its journal. Commit is said again, and says that the job is cancelled: its
// end is told when the control directory has said what there is of it.
func TestACancelledCommitWaitsForTheDirectory(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]bool{"nothing is there": false, "it was submitted": true} {
		j := jobOf(me, "a", "1")
		c, commit := committedTo(j, me, true)
		commit.Cancel = true
		c.Step(c.now+1, Message{me, commit})
		if r := c.jobs[j.ID].rec; r.Role != grid.Owning || r.End != 0 {
			t.Fatalf("%s: it is %s, end %s", name, r.Role, r.End)
		}
		e, first := Reconciled{Jobs: []grid.JobID{j.ID}, All: true}, grid.AttemptID{Job: j.ID, Epoch: commit.Handoff.Epoch, Attempt: 1}
		if runs {
			e.Attempts = []grid.AttemptID{first}
		}
		effects := c.Step(c.now+1, e)
		for now := c.now; c.now < now+30*grid.Second; {
			effects = append(effects, c.Step(c.now+grid.Second, Tick{})...)
		}
		w, withdraws := only[Withdraw](effects)
		if r := c.jobs[j.ID].rec; (r.End == grid.Killed) == runs || withdraws != runs || runs && w.ID != first {
			t.Errorf("%s: end %s, withdraws %v", name, r.End, w.ID)
		}
	}
}
