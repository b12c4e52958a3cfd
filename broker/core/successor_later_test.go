package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// c, which is fenced off, had given a job to b before, and b gave it to d when that had said already that there was nothing of it with him. As b tells
// that, d is asked once more.
func TestASuccessorWhoGetsItAfterHisWord(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		signer grid.PeerID // of the last certificate
		to     grid.PeerID
		waits  bool
	}{
		"it has it since":           {her, it, true},
		"another has signed that":   {him, it, false},
		"who was fenced off has it": {her, him, false},
	} {
		r := given()
		c := signed(r)
		c.Step(c.now+1, Forget{Site: him, Fenced: true, By: "root"})
		j := c.jobs[r.Job.ID]
		c.Step(c.now+silence*c.cfg.Digest, Tick{})
		says := func(p grid.PeerID) {
			c.Step(c.now+1, Message{p, wire.Error{Of: wire.KindRecall, Job: r.Job.ID, At: j.rec.Epoch}})
		}
		says(it)
		chain := []grid.Certificate{certificate(r.Job, me, 5, him), certificate(r.Job, him, 7, her), certificate(r.Job, k.signer, 9, k.to)}
		c.Step(c.now+1, Message{her, wire.Moved{Job: r.Job.ID, Certificates: chain, Version: j.sum()}})
		says(her)
		if hold := c.gates.beforeStart(j); (hold == untilReported) != k.waits {
			t.Errorf("%s: it %s", name, hold)
		}
		if says(it); c.gates.beforeStart(j) == untilReported {
			t.Errorf("%s: it waits for ever", name)
		}
	}
}

// So it is where the user has altered the job since: they are over the version that b had.
func TestASuccessorOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	r := given()
	older := r.Job
	c := signed(r)
	c.Step(c.now+1, Forget{Site: him, Fenced: true, By: "root"})
	j := c.jobs[older.ID]
	pass(c, 2*silence*c.cfg.Digest)
	successorsSay(c, older.ID)
	j.rec.Job.Walltime, j.digest = older.Walltime+grid.Minute, grid.Hash{}
	chain := []grid.Certificate{certificate(older, me, 5, him), certificate(older, him, 7, her), certificate(older, her, 9, it)}
	c.Step(c.now+1, Message{her, wire.Moved{Job: older.ID, Certificates: chain, Version: wire.JobDigest(older)}})
	if !j.successors[it] {
		t.Errorf("waited for: %v", j.successors)
	}
}
