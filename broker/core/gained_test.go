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
