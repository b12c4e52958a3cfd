package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A job of a group waits for the files of another, and its own are here. It is known to be with c when those have come; c is forgotten, and it waits for no files.
func TestAJobOfAGroupWhoseFilesAreHere(t *testing.T) {
	t.Parallel()
	for _, files := range []bool{false, true} {
		c := signed()
		e := groupOf(2, "K", true)
		in := grid.Manifest{{Path: "in", Size: 5, Ranges: make([]grid.Hash, 1)}}
		if files {
			e.Jobs[1].Inputs = grid.Manifest{{Path: "in", Size: 5}}
		}
		c.Step(c.now+1, e)
		one, two := c.jobs[e.Group.ID.Job(1)], c.jobs[e.Group.ID.Job(2)]
		if files {
			c.Step(c.now+1, Uploaded{Token: 2, Job: two.rec.Job.ID, Inputs: in})
		}
		// A lost branch gave both to b, which gave the second to c.
		chain := []grid.Certificate{certificate(two.rec.Job, me, 5, her), certificate(two.rec.Job, her, 7, him)}
		c.Step(c.now+1, Message{her, wire.Moved{Job: two.rec.Job.ID, Certificates: chain, Version: wire.JobDigest(two.rec.Job)}})
		whole := one.rec.Job
		whole.Inputs = in
		cert := []grid.Certificate{certificate(whole, me, 4, her)}
		rep := wire.Report{Job: whole.ID, Epoch: grid.Epoch{Term: 1, Hop: 4}, Number: 4, State: grid.Assigned, Attempt: 1, Local: "l", Certificates: cert, Version: wire.JobDigest(whole)}
		c.Step(c.now+1, Message{her, rep})
		c.Step(c.now+1, Message{her, wire.Recalled{Job: whole, Epoch: rep.Epoch, Owning: true, Certificates: cert}})
		c.Step(c.now+1, Message{her, rep})
		for _, p := range []grid.PeerID{her, him, it} {
			c.Step(c.now+1, Message{p, wire.Recounted{}})
		}
		c.Step(c.now+1, Forget{Site: him, Fenced: true, By: "root"})
		two.recovered = false
		pass(c, 2*silence*c.cfg.Digest)
		successorsSay(c, two.rec.Job.ID)
		pass(c, 2*c.cfg.UploadLimit)
		if two.rec.State != grid.Ready {
			t.Errorf("files %t: it is %s at %s: %s; start %s, successors %v", files, two.rec.State, two.rec.Epoch, two.rec.Reason, c.gates.beforeStart(two), two.successors)
		}
	}
}

// A job was given to b and came home, and its home is put back to before its files had come: the word of b, over the job with its files, tells that it is here. All were asked then.
func TestAJobWithoutItsFilesCameHome(t *testing.T) {
	t.Parallel()
	for _, state := range []grid.State{grid.StageIn, grid.Ready} {
		known := jobOf(me, "a", "1")
		known.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644}}
		whole := known
		whole.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
		r := ready(known)
		if r.State = state; state == grid.Ready {
			r.Job = whole
		}
		c := signed(r)
		c.stamp = 50
		c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
		c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
		chain := []grid.Certificate{certificate(whole, me, 5, her), certificate(whole, her, 7, me)}
		hers := New(signer(her, "b"), []grid.Member{{Name: "a", Peer: me, Send: true}}, []grid.Record{{
			Job: whole, State: grid.Moving,
			Tenure: grid.Tenure{Role: grid.Tombstone, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 7}, Certificates: chain},
		}})
		hers.Step(1_000_000, Boot{})
		hers.Step(1_000_001, Reconciled{All: true})
		c.Step(c.now+1, Message{him, wire.Recounted{}})
		c.Step(c.now+1, Message{it, wire.Recounted{}})
		for range 20 {
			now, _ := c.Next()
			es := c.Step(now, Tick{})
			if state == grid.Ready {
				c.Step(now, Reconciled{All: true, Jobs: c.jobsHere()})
			}
			for _, m := range sentTo(es, her) {
				for _, a := range sentTo(hers.Step(now, Message{me, m}), me) {
					for _, b := range sentTo(c.Step(now, Message{her, a}), her) {
						hers.Step(now, Message{me, b})
					}
				}
			}
			c.Step(now, Reconciled{All: true, Jobs: c.jobsHere()})
		}
		if c.recovery.recounting() {
			t.Errorf("%s: it waits for ever for %v, which has answered all; it is at %s", state, c.recovery.waitedFor(), c.jobs[known.ID].rec.Epoch)
		}
	}
}

// It is cancelled, and the time for its files is over: when all were heard it is KILLED, in whatever order its timers are due.
func TestACancelledJobWithoutItsFiles(t *testing.T) {
	t.Parallel()
	for late := range grid.Tick(40) {
		c, known, _ := withoutFiles(false, false)
		j := c.jobs[known.ID]
		j.recovered = false
		c.Step(c.now+1, CancelRequest{Token: 2, Job: known.ID, By: "alice"})
		pass(c, 2*silence*c.cfg.Digest+2*c.cfg.UploadLimit+late*997)
		successorsSay(c, known.ID)
		if pass(c, 2*c.cfg.RetryMax); j.rec.State != grid.Killed {
			t.Fatalf("cancelled, and %s: %s", j.rec.State, j.rec.Reason)
		}
	}
}

// Its files did not come in time, and others are waited for: that is shown.
func TestTheWaitOfAJobWithoutItsFilesIsShown(t *testing.T) {
	t.Parallel()
	c, known, _ := withoutFiles(false, false)
	j := c.jobs[known.ID]
	j.recovered = false
	pass(c, 2*silence*c.cfg.Digest+2*c.cfg.UploadLimit)
	if j.rec.Why() == "" {
		t.Error("it waits for others, and says nothing")
	}
}

// A part is known again of a job for several sites that waits for its files, and runs where nobody hears: the whole does not fail beside it.
func TestAWholeWithoutItsFilesAndAPartThatRuns(t *testing.T) {
	t.Parallel()
	whole := wholeRecord()
	whole.State = grid.StageIn
	whole.Job.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644}}
	id := partID(whole.Job.ID, 1)
	j := whole.Job
	j.ID, j.Coallocation, j.Rerunnable = id, nil, false
	j.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	j.Part = &grid.Part{Of: whole.Job.ID, Round: 1, Sites: []grid.PartSite{{Name: "b", Processes: 1}}}
	c := signed(whole)
	c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
	c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
	chain := []grid.Certificate{certificate(j, me, 5, her)}
	rep := wire.Report{Job: id, Epoch: grid.Epoch{Term: 1, Hop: 5}, Number: 4, State: grid.Running, Attempt: 1, Certificates: chain, Version: wire.JobDigest(j)}
	rep.Started.Known = true
	c.Step(c.now+1, Message{her, rep})
	c.Step(c.now+1, Message{her, wire.Recalled{Job: j, Epoch: rep.Epoch, Owning: true, Certificates: chain}})
	c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
	c.Step(c.now+1, Message{her, rep})
	for _, p := range []grid.PeerID{her, him, it} {
		c.Step(c.now+1, Message{p, wire.Recounted{}})
	}
	w := c.jobs[whole.Job.ID]
	w.recovered = false
	if c.jobs[id] == nil || c.recovery.recounting() {
		t.Fatal("no part", c.recovery.waitedFor())
	}
	c.Step(c.now+1, PeerChanged{her, grid.Dead})
	pass(c, 3*c.cfg.UploadLimit)
	if w.rec.State.Terminal() && !c.jobs[id].rec.State.Terminal() {
		t.Errorf("the whole is %s (%s), its part %s at b", w.rec.State, w.rec.Reason, c.jobs[id].rec.State)
	}
	if c.failed != nil {
		t.Error(c.failed)
	}
}

// b, which was not fenced off, may run it: that its deadline has passed tells its user LOST, not that nothing of it runs.
func TestADeadlineOfWhatMayStillRunElsewhere(t *testing.T) {
	t.Parallel()
	r := ready(jobOf(me, "a", "1"))
	r.State, r.Job.Rerunnable = grid.StageIn, true
	c := signed(r)
	j := c.jobs[r.Job.ID]
	at := c.now + c.cfg.UploadLimit/2
	c.Step(c.now+1, Alter{Token: 3, Job: r.Job.ID, To: grid.Alteration{Deadline: &at}, By: "alice"})
	c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
	c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
	c.Step(c.now+1, Message{him, wire.Recounted{}})
	c.Step(c.now+1, Message{it, wire.Recounted{}})
	c.Step(c.now+1, Forget{Token: 1, Site: her})
	j.recovered = false
	if pass(c, 3*c.cfg.UploadLimit); j.rec.State != grid.Lost {
		t.Errorf("it is %s (%s), unfenced %t", j.rec.State, j.rec.Reason, j.rec.Unfenced)
	}
}
