package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// raisedSince is a home that was put back to this record, and is told by b, which has let the job go, that its term was raised to 40 since. The others have not spoken.
func raisedSince(r grid.Record) *Core {
	c := signed(r)
	c.stamp = 50
	c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
	c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
	word := Message{her, wire.Recounted{Traces: []wire.Trace{{Job: r.Job.ID, Epoch: grid.Epoch{Term: 40}}}}}
	c.Step(c.now+1, word)
	c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
	c.Step(c.now+1, word) // he is asked again
	return c
}

// withoutFiles is a home that was put back to before the files of a job had come, and two versions of that: as it is here, and with its files. Its term was raised
// to 40 in the branch that is lost: b has let it go as it was.
func withoutFiles(rerunnable, cancel bool) (c *Core, known, whole grid.Job) {
	known = jobOf(me, "a", "1")
	known.Rerunnable = rerunnable
	known.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644}}
	whole = known
	whole.Inputs = grid.Manifest{{Path: "in", Size: 3, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	r := ready(known)
	r.State, r.CancelRequested = grid.StageIn, cancel
	c = raisedSince(r)
	c.Step(c.now+1, Message{him, wire.Recounted{}})
	c.Step(c.now+1, Message{it, wire.Recounted{}})
	return c, known, whole
}

// The home takes up the term that it had raised, and nothing begins when the files have come before all were heard who may have got the job from b. (gsim
// faults, seed 380834580: it was LOST.)
func TestATermThatWasRaisedOfAJobWithoutItsFiles(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		c, known, whole := withoutFiles(false, false)
		j := c.jobs[known.ID]
		if c.recovery.recounting() || j.rec.Epoch != (grid.Epoch{Term: 40}) || j.rec.State != grid.StageIn {
			t.Fatalf("it is %s at %s (%s), waited for: %v", j.rec.State, j.rec.Epoch, j.rec.Reason, c.recovery.waitedFor())
		}
		if restart {
			c = signed(j.rec)
			c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
			j = c.jobs[known.ID]
		}
		j.recovered = false // its neighbours have spoken
		asked := pass(c, 2*silence*c.cfg.Digest)
		c.Step(c.now+1, Uploaded{Token: 1, Job: known.ID, Inputs: whole.Inputs})
		if hold := c.gates.beforeStart(j); j.rec.State != grid.Ready || hold != untilReported || len(sentTo(asked, him)) == 0 {
			t.Errorf("restarted %t: its files are here, and it is %s, its start %s", restart, j.rec.State, hold)
		}
		successorsSay(c, known.ID)
		if hold := c.gates.beforeStart(j); hold == untilReported {
			t.Errorf("restarted %t: when all have answered its start %s: %v", restart, hold, j.successors)
		}
	}
}

// Nor does it end before that: its files do not come, or its user has cancelled it.
func TestAJobWithoutItsFilesDoesNotEndUnheard(t *testing.T) {
	t.Parallel()
	for want, k := range map[grid.State]struct{ rerunnable, cancel bool }{grid.Failed: {false, false}, grid.Killed: {true, true}} {
		c, known, _ := withoutFiles(k.rerunnable, k.cancel)
		j := c.jobs[known.ID]
		j.recovered = false
		pass(c, 2*silence*c.cfg.Digest+2*c.cfg.UploadLimit)
		if j.rec.State.Terminal() || j.rec.Epoch.Term != 40 {
			t.Fatalf("before all have answered it is %s at %s (%s)", j.rec.State, j.rec.Epoch, j.rec.Reason)
		}
		successorsSay(c, known.ID)
		if pass(c, 2*c.cfg.RetryMax); j.rec.State != want {
			t.Errorf("when all have answered it is %s (%s), want %s", j.rec.State, j.rec.Reason, want)
		}
	}
}

// c got it from b, and it runs there: his certificates are over the job with its files. The home asks for it, and his run is the job's.
func TestARunOfAJobWithoutItsFiles(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		signer grid.PeerID // of the first certificate
		hop    uint32      // at which it runs, as he says
		state  grid.State
	}{
		"this home gave it away": {me, 7, grid.Running},
		"another says so":        {it, 7, grid.Lost}, // c had it once, and may not run it
		"it is of another hop":   {me, 6, grid.Lost},
	} {
		c, known, whole := withoutFiles(false, false)
		j := c.jobs[known.ID]
		j.recovered = false
		pass(c, 2*silence*c.cfg.Digest)
		chain := []grid.Certificate{certificate(whole, k.signer, 5, her), certificate(whole, her, 7, him)}
		report := wire.Report{Job: known.ID, Epoch: grid.Epoch{Term: 1, Hop: k.hop}, Number: 4, State: grid.Running, Attempt: 1, Certificates: chain, Version: wire.JobDigest(whole)}
		report.Started.Known = true
		answer := c.Step(c.now+1, Message{him, report})
		recalled := slices.Contains(sentTo(answer, him), wire.Message(wire.Recall{Job: known.ID}))
		if recalled != (k.state == grid.Running) {
			t.Errorf("%s: it is asked for: %t", name, recalled)
		}
		c.Step(c.now+1, Message{him, wire.Recalled{Job: whole, Epoch: report.Epoch, Owning: true, Certificates: chain}})
		if term := j.rec.Epoch.Term; term != 40 && !j.rec.State.Terminal() {
			t.Errorf("%s: he tells of the job, and it is at term %d", name, term)
		}
		c.Step(c.now+1, Message{him, report})
		if r := j.rec; r.State != k.state || r.State == grid.Running && (r.Owner != him || r.Epoch.Term != 40) {
			t.Errorf("%s: it is %s at %s, owned by %s (%s)", name, r.State, r.Epoch, r.Owner, r.Reason)
		}
	}
}

// b, who has said that there is nothing of it with him, got it after that: as c tells, by certificates over the job with its files.
func TestASuccessorOfAJobWithoutItsFiles(t *testing.T) {
	t.Parallel()
	c, known, whole := withoutFiles(false, false)
	j := c.jobs[known.ID]
	j.recovered = false
	pass(c, 2*silence*c.cfg.Digest)
	successorsSay(c, known.ID)
	chain := []grid.Certificate{certificate(whole, me, 5, her), certificate(whole, her, 7, him), certificate(whole, him, 9, it)}
	c.Step(c.now+1, Message{him, wire.Moved{Job: known.ID, Certificates: chain, Version: wire.JobDigest(whole)}})
	if !j.successors[it] {
		t.Errorf("waited for: %v", j.successors)
	}
}

// All but b have answered, which an administrator has fenced off: it may have given the job to another after that, also of which this home has no files.
func TestWhatTheUnheardMayHaveGivenOnWithoutItsFiles(t *testing.T) {
	t.Parallel()
	r := ready(jobOf(me, "a", "1"))
	r.State = grid.StageIn
	c := fencedUnheard(r)
	j := c.jobs[r.Job.ID]
	if j.rec.State != grid.StageIn || j.rec.Epoch.Term < 2 || !j.successors[him] || !j.successors[it] || j.successors[her] {
		t.Errorf("it is %s at %s, waited for: %v", j.rec.State, j.rec.Epoch, j.successors)
	}
}
