package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// partHere is a part of a job of b, as it is here.
func partHere(role grid.Role, owner grid.PeerID) grid.Record {
	j, at := jobOf(her, "b", "1"), grid.Epoch{Term: 1, Hop: 1}
	of := j.ID
	j.ID = partID(of, 1)
	j.Part = &grid.Part{Of: of, Round: 1, Sites: []grid.PartSite{{Name: "a", Peer: me, Processes: 1}}, Start: 1_000_000, Limit: grid.Hour}
	r := grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: role, Owner: owner, Epoch: at}}
	if role == grid.Prepared {
		r.State, r.Epoch, r.Handoff = grid.Moving, grid.Epoch{}, grid.Handoff{To: me, Epoch: at}
	}
	return r
}

// A part waits at its site for the gate of its start, and the journal is put back to that: it may have been submitted since. It starts,
// and does not fail, when its control directory has said that it was not.
func TestAPartThatMayHaveStarted(t *testing.T) {
	t.Parallel()
	for _, submitted := range []bool{false, true} {
		r := partHere(grid.Owning, me)
		c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{r})
		c.Step(1_000_000, Boot{})
		for now, _ := c.Next(); now < 1_000_000+grid.Minute; now, _ = c.Next() {
			c.Step(now, Tick{})
		}
		if j := c.jobs[r.Job.ID].rec; j.State != grid.Ready || j.End != 0 {
			t.Fatalf("before its directory has spoken it is %v, and ends %v: %s", j.State, j.End, j.Reason)
		}
		e := Reconciled{Jobs: []grid.JobID{r.Job.ID}, All: true}
		if submitted {
			e.Attempts = []grid.AttemptID{{Job: r.Job.ID, Epoch: r.Epoch, Attempt: 1}}
		}
		effects := c.Step(c.now+1, e)
		_, probes := only[Probe](effects)
		j := c.jobs[r.Job.ID]
		if (j.rec.State == grid.Assigned && probes) != submitted || j.rec.End != 0 {
			t.Errorf("submitted %t: it is %v, and ends %v", submitted, j.rec.State, j.rec.End)
		}
		ack := wire.ReportAck{Job: r.Job.ID, Epoch: j.rec.Epoch, Number: j.rec.Report}
		if _, launched := only[Launch](append(c.Step(c.now+1, Message{her, ack}), pass(c, c.cfg.RetryMax)...)); launched == submitted {
			t.Errorf("submitted %t: its home has acknowledged it, and it is submitted: %t", submitted, launched)
		}
	}
}

// A part that waits at its site for the word of its home has its place: that another site lives again ends nothing.
func TestAPartThatAwaitsItsHome(t *testing.T) {
	t.Parallel()
	for _, drains := range []bool{false, true} {
		r := partHere(grid.Prepared, her)
		c := signed(r)
		b := wire.HandoffID{Job: r.Job.ID, Epoch: r.Handoff.Epoch, To: me, Digest: wire.JobDigest(r.Job)}
		c.Step(1_000_001, Message{her, wire.Commit{Handoff: b, Certificate: certificate(r.Job, her, 1, me)}})
		if j := c.jobs[r.Job.ID]; j.rec.State != grid.Ready || j.rec.Role != grid.Owning || !j.awaits {
			t.Fatalf("it is %v at %v, and awaits its start: %t", j.rec.State, j.rec.Role, j.awaits)
		}
		if drains {
			c.Step(1_000_002, DrainRequest{Token: 1, On: true})
		}
		c.Step(1_000_003, PeerChanged{him, grid.Dead})
		c.Step(1_000_004, PeerChanged{him, grid.Alive})
		if j := c.jobs[r.Job.ID].rec; (j.End == grid.Failed) != drains {
			t.Errorf("drained %t: it ends %v: %s", drains, j.End, j.Reason)
		}
		if drains {
			continue
		}
		launched := false
		for _, m := range []uint64{0, 1, 2, 3} {
			j := c.jobs[r.Job.ID].rec
			ack := wire.ReportAck{Job: j.Job.ID, Epoch: j.Epoch, Number: j.Report}
			_, is := only[Launch](c.Step(1_000_005+grid.Tick(m), Message{her, ack}))
			launched = launched || is
		}
		if !launched {
			t.Error("its home has acknowledged it, and it is not submitted")
		}
	}
}

// A part that is cancelled ends by that, though its site has nothing else to do with it.
func TestAPartThatIsCancelledBeforeItsDirectoryHasSpoken(t *testing.T) {
	t.Parallel()
	r := partHere(grid.Owning, me)
	c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{r})
	c.Step(1_000_000, Boot{})
	c.Step(c.now+1, Message{her, wire.Cancel{Job: r.Job.ID, Epoch: r.Epoch}})
	c.Step(c.now+1, DrainRequest{Token: 1, On: true})
	c.Step(c.now+1, Reconciled{Jobs: []grid.JobID{r.Job.ID}, All: true})
	for now, _ := c.Next(); now < 1_000_000+grid.Minute; now, _ = c.Next() {
		c.Step(now, Tick{})
	}
	if j := c.jobs[r.Job.ID].rec; j.End != grid.Killed {
		t.Errorf("it ends %v: %s", j.End, j.Reason)
	}
}
