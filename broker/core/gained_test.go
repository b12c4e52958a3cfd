package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A home has given a job up for LOST, and one who has had it says first that its program has ended, and then what it left. It is
// not COMPLETED before that is at home.
func TestALostJobIsCompletedWithItsOutput(t *testing.T) {
	t.Parallel()
	for _, rerunnable := range []bool{false, true} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = rerunnable
		c := signed(grid.Record{Job: j, State: grid.Lost, Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 2}}, Run: grid.Run{End: grid.Lost}})
		m := wire.Report{
			Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: 4, State: grid.Finished, Attempt: 1, End: grid.Completed, HasExit: true,
			Started: wire.Ago{Span: 10, Known: true}, Finished: wire.Ago{Span: 5, Known: true}, Certificates: []grid.Certificate{certificate(j, me, 1, her)},
		}
		c.Step(1_000_001, Message{her, m})
		if r := c.jobs[j.ID].rec; r.State != grid.Lost {
			t.Fatalf("rerunnable %t: it is %s before what it left is known", rerunnable, r.State)
		}
		m.Number, m.State, m.Outputs = 5, grid.StageOut, grid.Manifest{{Path: "result", Size: 3}}
		effects := c.Step(1_000_002, Message{her, m})
		if _, fetches := only[Fetch](effects); !fetches || c.jobs[j.ID].rec.State != grid.Lost {
			t.Errorf("rerunnable %t: it is %s, fetched %t", rerunnable, c.jobs[j.ID].rec.State, fetches)
		}
		c.Step(1_000_003, Fetched{Job: j.ID, Epoch: c.jobs[j.ID].rec.Epoch, From: c.jobs[j.ID].rec.Owner, Set: OutputFiles})
		if r := c.jobs[j.ID].rec; r.State != grid.Completed || len(r.Outputs) != 1 {
			t.Errorf("rerunnable %t: it is %s with %d files", rerunnable, r.State, len(r.Outputs))
		}
	}
}

// A home has adopted the result of a former owner, when what it had submitted since at the epoch of its own was withdrawn. That its control directory has
// more attempts than that owner tells of no part of the journal that is lost.
func TestWithdrawnAttemptsBesideAnAdoptedResult(t *testing.T) {
	t.Parallel()
	j, at := jobOf(me, "a", "1"), grid.Epoch{Term: 5}
	for adopted, behind := range map[grid.Epoch]bool{{Term: 1, Hop: 2}: false, {}: true} {
		for later, beyond := range map[grid.Epoch]bool{at: false, {Term: 6}: true} {
			c := signed(grid.Record{
				Job: j, State: grid.StageOut, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at},
				Run: grid.Run{Attempt: 1, End: grid.Completed, Adopted: adopted, Outputs: grid.Manifest{{Path: "out", Size: 1}}},
			})
			c.jobs[j.ID].reconciled = false
			c.Step(c.now+1, Reconciled{Jobs: []grid.JobID{j.ID}, All: true, Attempts: []grid.AttemptID{{Job: j.ID, Epoch: later, Attempt: 2}}})
			want := behind || beyond
			if r := c.jobs[j.ID].rec; c.recovery.recounting() != want || (r.State == grid.Assigned) != want {
				t.Errorf("adopted at %s, an attempt at %s: it is %s, all are asked: %t", adopted, later, r.State, c.recovery.recounting())
			}
		}
	}
}
