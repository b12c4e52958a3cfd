package core

import (
	"errors"
	"strings"
	"testing"

	"gbroker/grid"
)

// A job whose output cannot be collected is told no end, however often it was tried: it says why,
// and once the output is there the end is told as it was.
func TestNoEndIsToldBeforeTheOutputIsCollected(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1}
	c := bare(grid.Record{
		Job:    j,
		State:  grid.Finished,
		Reason: "ended on request",
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: epoch},
		Run:    grid.Run{End: grid.Killed, Attempt: 1, Started: 990_000, Finished: 1_000_000},
	})
	now := grid.Tick(1_000_000)
	for range 3 * maxFails {
		now += 1000
		c.Step(now, Collected{Job: j.ID, Epoch: epoch, Err: errors.New("the account may not read out")})
		if r := c.jobs[j.ID].rec; r.State != grid.Finished || !strings.Contains(r.Why(), "may not read out") {
			t.Fatalf("at %d: %s, %q", now, r.State, r.Why())
		}
		asked := false
		for !asked {
			if now += 1000; now > 5_000_000_000 {
				t.Fatal("it is not tried again")
			}
			_, asked = only[Collect](c.Step(now, Tick{}))
		}
	}
	c.Step(now+1, Collected{Job: j.ID, Epoch: epoch, Outputs: grid.Manifest{{Path: "out", Size: 1, Ranges: make([]grid.Hash, 1)}}})
	if r := c.jobs[j.ID].rec; r.State != grid.Killed || r.Why() != "ended on request" || len(r.Outputs) != 1 {
		t.Errorf("%s, %q, %v", r.State, r.Reason, r.Outputs)
	}
}

// Output that nobody can collect for as long as ended jobs are kept makes the job FAILED, never COMPLETED.
func TestLostOutputIsNotTheOutputOfASuccess(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1}
	c := bare(grid.Record{
		Job:    j,
		State:  grid.Finished,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: epoch},
		Run:    grid.Run{End: grid.Completed, Attempt: 1, Started: 990_000, Finished: 1_000_000},
	})
	c.Step(1_000_000+leastTries+1000, Collected{Job: j.ID, Epoch: epoch, Err: errors.New("the account may not read out")})
	if r := c.jobs[j.ID].rec; r.State != grid.Failed || !strings.Contains(r.Reason, "may not read out") {
		t.Errorf("%s, %q", r.State, r.Reason)
	}
}
