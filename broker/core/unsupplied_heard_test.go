package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// What is heard of a job whose home was put back to before its files had come, or to before another version of it was made.

// c runs a job that may run once, and its home had acknowledged that in the branch that is lost: so it shows no certificates. It is asked for them, not told to end the run.
func TestARunWhoseOwnerShowsNoCertificates(t *testing.T) {
	t.Parallel()
	known := jobOf(me, "a", "1")
	known.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644}}
	whole := known
	whole.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	for _, state := range []grid.State{grid.StageIn, grid.Ready} {
		r := ready(known)
		if r.State = state; state == grid.Ready {
			r.Job = whole
		}
		c := raisedSince(r)
		j := c.jobs[known.ID]
		if j.rec.Epoch.Term != 40 {
			t.Fatal(j.rec.Epoch)
		}
		// c runs it, and its home (which adopted that run in the lost branch) has acknowledged it: its report shows no certificates.
		his := New(signer(him, "c"), []grid.Member{{Name: "a", Peer: me, Send: true}}, []grid.Record{{
			Job: whole, State: grid.Running, Run: grid.Run{Attempt: 1, Started: 900_000, Local: "x"},
			Tenure: grid.Tenure{Role: grid.Owning, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 7}, Certificates: []grid.Certificate{certificate(whole, me, 5, her), certificate(whole, her, 7, him)}},
		}})
		his.Step(1_000_000, Boot{})
		his.Step(1_000_001, Reconciled{All: true})
		hj := his.jobs[whole.ID]
		hj.known = true
		report := his.home.reportOf(hj)
		if len(report.Certificates) > 0 {
			t.Fatal("shows certificates")
		}
		for _, m := range sentTo(c.Step(c.now+1, Message{him, report}), him) {
			for _, e := range his.Step(his.now+1, Message{me, m}) {
				if k, is := e.(Kill); is {
					t.Errorf("%s: the run of a job that may run once is killed: %+v", state, k)
				}
			}
		}
	}
}

// Likewise after a start, when those are waited for who may have got the job: it is not LOST.
func TestARunWithoutCertificatesAfterARestart(t *testing.T) {
	t.Parallel()
	for _, state := range []grid.State{grid.StageIn, grid.Ready} {
		c, known, whole := withoutFiles(false, false)
		r := c.jobs[known.ID].rec
		if r.State = state; state == grid.Ready {
			r.Job = whole
		}
		c = signed(r)
		c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
		j := c.jobs[known.ID]
		report := wire.Report{Job: known.ID, Epoch: grid.Epoch{Term: 1, Hop: 7}, Number: 4, State: grid.Running, Attempt: 1}
		report.Started.Known = true
		c.Step(c.now+1, Message{him, report})
		if j.rec.State == grid.Lost {
			t.Errorf("%s: %s", state, j.rec.Reason)
		}
	}
}

// A job that waits for its files at a raised term is altered: who has it at an older epoch, and waits, does not take that back.
func TestAnAlterationIsNotTakenBackByASuccessor(t *testing.T) {
	t.Parallel()
	c, known, whole := withoutFiles(false, false)
	j := c.jobs[known.ID]
	j.recovered = false
	longer := 2 * grid.Tick(grid.Hour)
	a, _ := only[Answer](c.Step(c.now+1, Alter{Token: 3, Job: known.ID, To: grid.Alteration{Walltime: &longer}, By: "alice"}))
	if a.Err != nil || j.rec.Job.Walltime != longer {
		t.Fatal(a.Err, j.rec.Job.Walltime)
	}
	chain := []grid.Certificate{certificate(whole, me, 5, her), certificate(whole, her, 7, him)}
	report := wire.Report{Job: known.ID, Epoch: grid.Epoch{Term: 1, Hop: 7}, Number: 4, State: grid.Ready, Certificates: chain, Version: wire.JobDigest(whole)}
	c.Step(c.now+1, Message{him, report})
	c.Step(c.now+1, Message{him, wire.Recalled{Job: whole, Epoch: report.Epoch, Owning: true, Certificates: chain}})
	c.Step(c.now+1, Message{him, report})
	if j.rec.Job.Walltime != longer && j.rec.Altered == nil {
		t.Errorf("it is %s at %s with walltime %d: what its user was told is taken back", j.rec.State, j.rec.Epoch, j.rec.Job.Walltime)
	}
}

// c runs it as it was before it was altered, when its files were to come or had come: his run is the job's, whichever version his certificates are over.
func TestARunOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	alter := func(c *Core, whole grid.Job) {
		longer := 2 * grid.Tick(grid.Hour)
		c.Step(c.now+1, Alter{Token: 3, Job: whole.ID, To: grid.Alteration{Walltime: &longer}, By: "alice"})
	}
	upload := func(c *Core, whole grid.Job) {
		c.Step(c.now+1, Uploaded{Token: 1, Job: whole.ID, Inputs: whole.Inputs})
	}
	for name, does := range map[string][]func(*Core, grid.Job){
		"not altered": {upload}, "altered before its files came": {alter, upload}, "altered since": {upload, alter},
	} {
		c, known, whole := withoutFiles(false, false)
		j := c.jobs[known.ID]
		j.recovered = false
		for _, do := range does {
			do(c, whole)
		}
		chain := []grid.Certificate{certificate(whole, me, 5, her), certificate(whole, her, 7, him)}
		report := wire.Report{Job: known.ID, Epoch: grid.Epoch{Term: 1, Hop: 7}, Number: 4, State: grid.Running, Attempt: 1, Certificates: chain, Version: wire.JobDigest(whole)}
		report.Started.Known = true
		c.Step(c.now+1, Message{him, report})
		if j.rec.State != grid.Running {
			t.Errorf("%s: it runs at c, and is %s: %s", name, j.rec.State, j.rec.Reason)
		}
	}
}

// Two sites have two versions of it, and one runs it: that is adopted, whoever speaks first.
func TestTwoVersionsOfAJobWithoutItsFiles(t *testing.T) {
	t.Parallel()
	c, known, v1 := withoutFiles(false, false)
	j := c.jobs[known.ID]
	j.recovered = false
	v2 := v1
	v2.Walltime *= 2
	type successor struct {
		p     grid.PeerID
		job   grid.Job
		m     wire.Report
		chain []grid.Certificate
	}
	mk := func(p grid.PeerID, of grid.Job, hop uint32, s grid.State) successor {
		ch := []grid.Certificate{certificate(of, me, hop, p)}
		m := wire.Report{Job: known.ID, Epoch: grid.Epoch{Term: 1, Hop: hop}, Number: 4, State: s, Attempt: 1, Certificates: ch, Version: wire.JobDigest(of)}
		m.Started.Known = s == grid.Running
		return successor{p, of, m, ch}
	}
	successors := []successor{mk(him, v2, 9, grid.Running), mk(it, v1, 5, grid.Ready)}
	recalls := 0
	for range 50 {
		for _, h := range successors {
			for _, m := range sentTo(c.Step(c.now+1, Message{h.p, h.m}), h.p) {
				if _, is := m.(wire.Recall); is {
					recalls++
					c.Step(c.now+1, Message{h.p, wire.Recalled{Job: h.job, Epoch: h.m.Epoch, Owning: true, Certificates: h.chain}})
				}
			}
		}
	}
	if j.rec.State != grid.Running {
		t.Errorf("it runs at c, and is %s at %s after %d questions for the job", j.rec.State, j.rec.Epoch, recalls)
	}
}
