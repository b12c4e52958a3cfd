package core

import (
	"errors"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// sourceJob takes an input by URI.
func sourceJob() grid.Job {
	j := jobOf(me, "a", "1")
	j.Sources = []grid.Source{{Path: "x", URI: "https://host/x"}}
	return j
}

// The search for a job waits for what its sources cost, and counts that for each site.
func TestSourcesAreWeighedBeforeTheSearch(t *testing.T) {
	t.Parallel()
	j := sourceJob()
	c := signed(grid.Record{Job: j, State: grid.Ready, Submitted: 1_000_000, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}, Owner: me}})
	asked := false
	look := func(effects []Effect) {
		for _, m := range sentTo(effects, him) {
			_, is := m.(wire.EstimateRequest)
			asked = asked || is
		}
	}
	look(c.Step(1_000_001, Tick{}))
	look(c.Step(1_005_000, Tick{}))
	if !c.jobs[j.ID].weighing || asked { // since the journal was read
		t.Fatalf("its sources are asked for: %t; a place was asked for before: %t", c.jobs[j.ID].weighing, asked)
	}
	look(c.Step(1_005_001, Weighed{Job: j.ID, Cost: grid.SourceCost{Bytes: 50_000_000, Measured: 25_000_000, Takes: 5 * grid.Second}}))
	look(c.Step(1_006_000, Tick{}))
	if !asked {
		t.Error("no place is asked for then")
	}
	if k := c.jobs[j.ID]; k.weight() != documentSize+50_000_000 || c.search.fetching(k) != 6*grid.Second {
		t.Errorf("it weighs %d, which takes %v s", k.weight(), c.search.fetching(k).Seconds())
	}
}

// What comes by URI counts for the limits of its user, and alone may be too much.
func TestSourcesCountForTheLimits(t *testing.T) {
	t.Parallel()
	for bytes, ends := range map[int64]bool{1000: false, 1001: true} {
		j := sourceJob()
		c := signed(grid.Record{Job: j, State: grid.Ready, Submitted: 1_000_000, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}, Owner: me}})
		c.cfg.User.Bytes = 1000
		c.Step(1_000_001, Tick{})
		c.Step(1_005_000, Tick{})
		c.Step(1_005_001, Weighed{Job: j.ID, Cost: grid.SourceCost{Bytes: bytes}})
		k := c.jobs[j.ID]
		if ended := k.rec.State == grid.Failed; ended != ends {
			t.Errorf("with %d bytes it is %s: %s", bytes, k.rec.State, k.rec.Reason)
		}
		if got := c.users[j.User.Name].bytes; !ends && got != bytes {
			t.Errorf("%d bytes count as %d", bytes, got)
		}
	}
}

// They may have grown since the job has started elsewhere, in a branch of the journal that is lost: its user is not told that it has failed before all were asked.
func TestSourcesThatHaveGrownSinceARollback(t *testing.T) {
	t.Parallel()
	j := sourceJob()
	c := signed(grid.Record{Job: j, State: grid.Ready, Submitted: 1_000_000, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}, Owner: me}})
	c.cfg.User.Bytes = 1000
	c.Step(1_000_001, Tick{})
	c.Step(1_005_000, Tick{})
	k := c.jobs[j.ID]
	k.rec.Uncertain, c.recovery.rolled = true, &rollback{waiting: map[grid.PeerID]bool{her: true}}
	pass := func() {
		for end := c.now + 2*c.cfg.RetryMax; c.now < end; {
			at, _ := c.Next()
			c.Step(at, Tick{})
		}
	}
	c.Step(1_005_001, Weighed{Job: j.ID, Cost: grid.SourceCost{Bytes: 1001}})
	if pass(); k.rec.State != grid.Ready {
		t.Fatalf("while others are asked it is %s: %s", k.rec.State, k.rec.Reason)
	}
	k.rec.Uncertain, c.recovery.rolled = false, nil
	if pass(); k.rec.State != grid.Failed {
		t.Errorf("when all have answered it is %s: %s", k.rec.State, k.rec.Reason)
	}
}

// A source that this site cannot have sends the job elsewhere; where nobody can have it, it fails with all words.
func TestASourceThatNobodyCanHave(t *testing.T) {
	t.Parallel()
	for _, there := range []grid.Estimate{
		{Wait: grid.Second, Safe: grid.Second},
		{Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "too few cores"}},
	} {
		j := sourceJob()
		c := signed(grid.Record{
			Job: j, State: grid.Assigned, Submitted: 1_000_000, Run: grid.Run{Attempt: 1},
			Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}, Owner: me},
		})
		k := c.jobs[j.ID]
		k.weighed = true
		at := grid.AttemptID{Job: j.ID, Epoch: k.rec.Epoch, Attempt: 1}
		c.Step(1_000_001, Launched{ID: at, Err: errors.New(`"x" from https://host/x: 404`), Kind: grid.Permanent, Source: true})
		c.Step(1_000_002, Withdrawn{ID: at, Done: true})
		if k.rec.State != grid.Ready || !strings.Contains(k.rec.Reason, "404") || strings.Contains(k.rec.Reason, "batch system") {
			t.Fatalf("it is %s: %s", k.rec.State, k.rec.Reason)
		}
		offered, _ := answered(c, wire.Answer{Job: j.ID, Estimate: there})
		failed := k.rec.State == grid.Failed && strings.Contains(k.rec.Reason, "https://host/x: 404")
		if offered != (there.Refusal == nil) || failed == offered {
			t.Errorf("offered: %t; it is %s: %s", offered, k.rec.State, k.rec.Reason)
		}
	}
}

// The word of a candidate that had accepted the job is believed for a while; then it is asked again.
func TestACandidateWithoutASource(t *testing.T) {
	t.Parallel()
	j := sourceJob()
	c := signed(grid.Record{Job: j, State: grid.Ready, Submitted: 1_000_000, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}, Owner: me}})
	k := c.jobs[j.ID]
	c.now = 1_000_001
	k.rec.Handoff = grid.Handoff{Phase: grid.Offering, To: him, Epoch: grid.Epoch{Term: 1, Hop: 1}}
	k.rec.State = grid.Moving
	refuse := wire.Refuse{Handoff: c.ownership.handoffID(k), Estimate: grid.Estimate{Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: `"x" from https://host/x: 404`}}}
	k.heard = 0
	c.ownership.onRefuse(him, refuse)
	if c.refusedBy(k, him) != nil {
		t.Error("a refusal of the offer itself counts as one of the files")
	}
	k.rec.Handoff.Phase, k.rec.State, k.heard = grid.Offering, grid.Moving, c.now
	c.ownership.onRefuse(him, refuse)
	if r := c.refusedBy(k, him); r == nil || r.MayPass() || !strings.Contains(r.Reason, "404") {
		t.Errorf("it counts as %+v", r)
	}
	c.now += refusedFor
	if c.refusedBy(k, him) != nil {
		t.Error("it is believed for ever")
	}
}

// What goes elsewhere is brought there before the end; what cannot be makes the job fail.
func TestOutputsAreBroughtBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for _, failed := range [][]string{nil, {`"x" to https://host/x: 403`}} {
		j := jobOf(me, "a", "1")
		j.Outputs = []grid.Output{{Path: "x", URI: "https://host/x", Delete: true}, {Path: "stdout", Target: "stdout"}}
		c := signed(grid.Record{
			Job: j, State: grid.Finished, Submitted: 1_000_000, Run: grid.Run{Attempt: 1, End: grid.Completed, Finished: 1_000_000},
			Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}, Owner: me},
		})
		k := c.jobs[j.ID]
		left := grid.Manifest{{Path: grid.ElsewhereDir + "/x"}, {Path: "stdout"}}
		exports := 0
		for range 2 {
			for _, e := range c.Step(1_000_001, Collected{Job: j.ID, Epoch: k.rec.Epoch, Outputs: left}) {
				if _, is := e.(Export); is {
					exports++
				}
			}
		}
		if exports != 1 || k.rec.State.Terminal() {
			t.Fatalf("brought %d times at once; it is %s", exports, k.rec.State)
		}
		gone := []string{grid.ElsewhereDir + "/x"}
		if failed != nil {
			gone = nil
		}
		c.Step(1_000_002, Exported{Job: j.ID, Epoch: k.rec.Epoch, Failed: failed, Gone: gone})
		switch k := c.jobs[j.ID]; {
		case failed == nil && (k.rec.State != grid.Completed || len(k.rec.Outputs) != 1):
			t.Errorf("it is %s with %d files: %s", k.rec.State, len(k.rec.Outputs), k.rec.Reason)
		case failed != nil && (k.rec.State != grid.Failed || len(k.rec.Outputs) != 2 || !strings.Contains(k.rec.Reason, "403")):
			t.Errorf("it is %s with %d files: %s", k.rec.State, len(k.rec.Outputs), k.rec.Reason)
		}
	}
}

// leaving is a job whose output is at home and goes elsewhere.
func leaving(t *testing.T, r grid.Record) (*alone, *home, *job) {
	j := jobOf(me, "a", "1")
	j.Outputs = []grid.Output{{Path: "o", URI: "https://host/o"}}
	r.Job, r.Outputs, r.Epoch = j, grid.Manifest{{Path: j.Outputs[0].Stored(), Size: 1}, {Path: "stays", Size: 1}}, grid.Epoch{Term: 1}
	o := &others{}
	k := kernelOf(o, r)
	m := &home{kernel: k, budgets: o, estimator: o, execution: o, gates: o, ownership: o, recovery: o, search: o, terms: o}
	return steppedAlone(t, k, o, m), m, k.jobs[j.ID]
}

// Output that goes elsewhere is brought once at a time, and again where that fails; what cannot be brought stays, and the job has failed.
func TestOutputGoesElsewhere(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		r     grid.Record
		again concern
	}{
		{grid.Record{State: grid.Finished, Tenure: grid.Tenure{Role: grid.Owning, Owner: me}, Run: grid.Run{End: grid.Completed}}, onBatch},
		{grid.Record{State: grid.StageOut, Tenure: grid.Tenure{Role: grid.Watching, Owner: her}, Run: grid.Run{End: grid.Completed}}, onPull},
	} {
		a, m, j := leaving(t, k.r)
		id, at := j.rec.Job.ID, j.rec.Epoch
		a.want(ExportedAgain{Job: id, Epoch: at, Why: "busy"}, "") // nothing is being brought
		m.conclude(j)
		m.conclude(j)
		if !j.exporting {
			t.Fatal("it is not brought")
		}
		a.want(ExportedAgain{Job: id, Epoch: grid.Epoch{Term: 9}, Why: "busy"}, "")
		a.want(ExportedAgain{Job: id, Epoch: at, Why: "busy"}, "Show")
		a.want(Exported{Job: id, Epoch: grid.Epoch{Term: 9}}, "")
		if j.rec.State != k.r.State || j.exporting {
			t.Errorf("by a word of another epoch it is %s, and being brought: %t", j.rec.State, j.exporting)
		}
		a.want(Exported{Job: id, Epoch: at, Err: errors.New("no route")}, "Note")
		if j.due[k.again] == 0 || j.rec.State != k.r.State {
			t.Errorf("it is not tried again, and is %s", j.rec.State)
		}
		a.step(Exported{Job: id, Epoch: at, Failed: []string{"no room", "no right"}, Gone: []string{j.rec.Job.Outputs[0].Stored()}})
		if r := j.rec; r.End != grid.Failed || !strings.Contains(r.Reason, "no room, and 1 more") || len(r.Outputs) != 1 || r.Outputs[0].Path != "stays" {
			t.Errorf("it is %s, %q, and has left %v", r.End, r.Reason, r.Outputs)
		}
	}
}

// waitingEnd is the gate of an end that waits for the word of others.
type waitingEnd struct{ *others }

func (waitingEnd) beforeKilled(*job, grid.State) gate { return untilReported }

// That another may have the job can become known while its output is brought: then its end waits for his word. What was brought is not brought again.
func TestAnOutputThatWasBroughtEndsNoJobUnheard(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{false, true} {
		a, m, j := leaving(t, grid.Record{State: grid.Finished, Tenure: grid.Tenure{Role: grid.Owning, Owner: me}, Run: grid.Run{End: grid.Killed}})
		if m.conclude(j); waits {
			m.gates = waitingEnd{m.gates.(*others)}
		}
		a.step(Exported{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, Gone: []string{j.rec.Job.Outputs[0].Stored()}})
		if j.rec.State.Terminal() == waits || len(j.rec.Outputs) != 1 || j.exporting || waits != (j.due[onBatch] > 0) {
			t.Errorf("its end waits: %t, and it is %s, has left %v, and is tried again at %v", waits, j.rec.State, j.rec.Outputs, j.due[onBatch])
		}
	}
}

// A job that was killed stays killed, wherever its output is.
func TestOutputOfAKilledJobGoesElsewhere(t *testing.T) {
	t.Parallel()
	a, _, j := leaving(t, grid.Record{State: grid.Finished, Tenure: grid.Tenure{Role: grid.Owning, Owner: me}, Run: grid.Run{End: grid.Killed}})
	a.step(Exported{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, Failed: []string{"no room"}})
	if j.rec.End != grid.Killed || strings.Contains(j.rec.Reason, "more") {
		t.Errorf("it is %s: %s", j.rec.End, j.rec.Reason)
	}
}
