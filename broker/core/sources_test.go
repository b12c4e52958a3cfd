package core

import (
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
		c.Step(1_000_001, Launched{ID: at, Err: `"x" from https://host/x: 404`, Kind: grid.Permanent, Source: true})
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
