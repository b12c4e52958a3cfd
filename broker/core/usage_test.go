package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// What an attempt used goes with its end to the home, and is in the record there, as it is for
// whoever asks a third broker.
func TestUsageComesHome(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	epoch, used := grid.Epoch{Term: 1, Hop: 1}, grid.Usage{CPU: 90_500, Memory: 1 << 30, Nodes: "n1,n2"}
	owner := bare(grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: epoch}, Run: grid.Run{Attempt: 1, Local: "7", Started: 999_000}})
	owner.Step(1_000_001, Progressed{Progress: grid.Progress{
		ID: grid.AttemptID{Job: j.ID, Epoch: epoch, Attempt: 1}, Local: "7", Phase: grid.Ended, Started: 999_000, Finished: 1_000_000, Usage: used}})
	report, told := wire.Report{}, false
	for _, e := range owner.Step(1_000_002, Collected{Job: j.ID, Epoch: epoch}) {
		if s, ok := e.(Send); ok {
			if m, ok := s.Message.(wire.Report); ok {
				report, told = m, true
			}
		}
	}
	if !told || report.State != grid.StageOut || report.Usage != used || owner.jobs[j.ID].rec.Usage != used {
		t.Fatalf("the owner reports %+v", report)
	}

	report.Job, j = jobOf(me, "a", "1").ID, jobOf(me, "a", "1")
	home := bare(grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch}, Run: grid.Run{Attempt: 1}})
	home.Step(1_000_003, Message{her, report})
	r := home.jobs[j.ID].rec
	if r.Usage != used || r.Local != "7" {
		t.Errorf("the home has %+v", r)
	}
	if told := home.relay.recordOf(j.ID, home.relay.statusOf(&r)); told.Usage != used || told.Local != "7" {
		t.Errorf("who asks elsewhere is told %+v", told)
	}
}
