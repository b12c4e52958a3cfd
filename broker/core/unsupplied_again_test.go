package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A home was put back to before the files of a job had come, and another has the job since. When it is here again its files need not be.

// elsewhere is such a home, to which c has told that the job waits there, or that it is to come here.
func elsewhere(t *testing.T) (c *Core, whole grid.Job) {
	t.Helper()
	known := jobOf(me, "a", "1")
	known.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644}}
	whole = known
	whole.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	r := ready(known)
	r.State = grid.StageIn
	c = signed(r)
	c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
	chain := []grid.Certificate{certificate(whole, me, 5, him)}
	report := wire.Report{Job: known.ID, Epoch: grid.Epoch{Term: 1, Hop: 5}, Number: 4, State: grid.Assigned, Attempt: 1, Certificates: chain, Version: wire.JobDigest(whole)}
	c.Step(c.now+1, Message{him, report})
	c.Step(c.now+1, Message{him, wire.Recalled{Job: whole, Epoch: report.Epoch, Owning: true, Certificates: chain}})
	c.Step(c.now+1, Message{him, report})
	for _, p := range []grid.PeerID{her, him, it} {
		c.Step(c.now+1, Message{p, wire.Recounted{}})
	}
	pass(c, c.cfg.Refresh)
	j := c.jobs[known.ID]
	if j.recovered = false; c.recovery.recounting() || j.rec.Owner != him || j.rec.State != grid.Assigned {
		t.Fatalf("it is %s, and owned by %s; waited for: %v", j.rec.State, j.rec.Owner, c.recovery.waitedFor())
	}
	return c, whole
}

// c is forgotten, and nothing runs there: the job starts when its files are here. They are looked for, also after a start.
func TestFilesThatNeedNotBeHere(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		for name, k := range map[string]struct {
			missing error
			comes   bool
			want    grid.State
		}{"they are here": {nil, false, grid.Ready}, "they are not": {grid.ErrNotFound, false, grid.StageIn}, "they come again": {grid.ErrNotFound, true, grid.Ready}} {
			c, whole := elsewhere(t)
			j := c.jobs[whole.ID]
			effects := c.Step(c.now+1, Forget{Site: him, Fenced: true, By: "root"})
			if restart {
				c = New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{j.rec})
				effects = c.Step(c.now+1, Boot{})
				j = c.jobs[whole.ID]
			}
			if looks, is := only[Check](effects); !is || looks.Job != whole.ID || len(looks.Files) != 1 || j.rec.State != grid.StageIn {
				t.Fatalf("restarted %t, %s: it is %s (%s), looked for: %t", restart, name, j.rec.State, j.rec.Reason, is)
			}
			c.Step(c.now+1, Checked{Job: whole.ID, Epoch: j.rec.Epoch, Missing: k.missing})
			if k.comes {
				c.Step(c.now+1, Uploaded{Token: 1, Job: whole.ID, Inputs: whole.Inputs})
			}
			if j.rec.State != k.want || j.rec.Epoch.Term < 2 {
				t.Errorf("restarted %t, %s: it is %s at %s (%s)", restart, name, j.rec.State, j.rec.Epoch, j.rec.Reason)
			}
		}
	}
}

// c gives it back: its files come with it.
func TestFilesThatComeHomeWithTheirJob(t *testing.T) {
	t.Parallel()
	c, whole := elsewhere(t)
	j := c.jobs[whole.ID]
	offer := wire.Offer{
		Handoff: wire.HandoffID{Job: whole.ID, Epoch: grid.Epoch{Term: 1, Hop: 9}, To: me, Digest: wire.JobDigest(whole)},
		Job:     whole, Wait: grid.Hour, Certificates: []grid.Certificate{certificate(whole, me, 5, him)},
	}
	c.Step(c.now+1, Message{him, offer})
	fetch, is := only[Fetch](c.Step(c.now+1, shot(c.now+1)))
	if !is || fetch.From != him || len(fetch.Files) != 1 {
		t.Fatalf("they are fetched: %t, %+v; it is %s", is, fetch, j.rec.Role)
	}
	c.Step(c.now+1, Fetched{Job: whole.ID, Epoch: offer.Handoff.Epoch, Set: InputFiles})
	c.Step(c.now+1, Message{him, wire.Commit{Handoff: offer.Handoff, Certificate: certificate(whole, him, 9, me)}})
	if j.rec.Role != grid.Owning || j.unsupplied() {
		t.Errorf("it is %s, %s: %s", j.rec.Role, j.rec.State, j.rec.Reason)
	}
}
