package core

import (
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// An attempt at home was lost after it had started, and the job ran elsewhere then: its start is
// that of the run that ended.
func TestAStartIsOfTheRunThatIsTold(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{
		Job: j, State: grid.Moving, Submitted: 1,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
		Run:    grid.Run{Attempt: 1, Started: 500_000, Queued: 400_000},
	})
	k := c.jobs[j.ID]
	k.rec.Handoff = grid.Handoff{Phase: grid.Withdrawing, To: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}
	c.ownership.commit(k)
	if k.rec.Run.Started != 0 || k.rec.Queued != 0 || k.rec.Role != grid.Watching {
		t.Errorf("handed over it is %+v, %+v", k.rec.Tenure, k.rec.Run)
	}
	k.rec.Started = 500_000 // as a journal of before has it
	c.Step(2_000_000, Message{her, wire.Report{
		Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: 1, State: grid.StageOut, Attempt: 1,
		Started: wire.Ago{Span: 60_000, Known: true}, Finished: wire.Ago{Span: 10_000, Known: true}, End: grid.Completed, HasExit: true,
	}})
	if r := k.rec; r.State != grid.Completed || r.Started != 1_940_000 || r.Finished != 1_990_000 {
		t.Errorf("%s: it started at %d and ended at %d", r.State, r.Started, r.Finished)
	}
}

// Who gives a job away keeps its way, and nothing of a run of his own.
func TestWhoGivesAJobAwayKeepsItsWay(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	c := signed(grid.Record{
		Job: j, State: grid.Moving, Submitted: 1,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at, Certificates: []grid.Certificate{certificate(j, her, 1, me)}, Report: 4, Hops: 3, HopsAt: 7, HomeForgotten: true},
		Run:    grid.Run{Attempt: 1, Local: "7.pbs", Started: 500_000, Missing: 600_000},
	})
	k := c.jobs[j.ID]
	k.rec.Handoff = grid.Handoff{Phase: grid.Withdrawing, To: him, Epoch: grid.Epoch{Term: 1, Hop: 2}}
	c.ownership.commit(k)
	if k.rec.Started != 0 || k.rec.Attempt != 0 || k.rec.Local != "" || k.rec.Missing != 0 {
		t.Errorf("the run is %+v", k.rec.Run)
	}
	n := k.rec.Tenure
	if n.Role != grid.Tombstone || n.Owner != him || n.Report != 0 || !n.Telling || n.Hops != 3 || n.HopsAt != 7 || !n.HomeForgotten || len(n.Certificates) != 2 {
		t.Errorf("the tenure is %+v", n)
	}
}

// A broker whose journal was put back to before it owned a job again reports it: that an earlier
// tenure was closed, and superseded, is over.
func TestATenureThatIsFoundAgainIsNew(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	second, third := grid.Epoch{Term: 2, Hop: 1}, grid.Epoch{Term: 3}
	for name, test := range map[string]struct {
		superseded, left grid.Epoch
	}{
		"by an older one": {grid.Epoch{Term: 2}, grid.Epoch{}},
		"by a later one":  {third, third},
	} {
		c, jobs := reconciling(t, grid.Record{
			Job: j, State: grid.Moving, Submitted: 1,
			Tenure: grid.Tenure{
				Role: grid.Prepared, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}, Handoff: grid.Handoff{To: me, Epoch: second},
				Closed: true, Kept: true, Superseded: test.superseded, Certificates: []grid.Certificate{certificate(j, her, 1, me)},
			},
			Run: grid.Run{Attempt: 1, Started: 10, Finished: 20, End: grid.Completed, HasExit: true, ExitCode: 3},
		})
		effects := c.Step(1_000_001, Reconciled{Jobs: jobs, Attempts: []grid.AttemptID{{Job: j.ID, Epoch: second, Attempt: 2}}})
		r := c.jobs[j.ID].rec
		if r.Role != grid.Owning || r.State != grid.Assigned || r.Closed || r.Kept || r.Superseded != test.left || r.Attempt != 2 || r.HasExit || r.Started != 0 {
			t.Errorf("%s: %s, %+v, %+v", name, r.State, r.Tenure, r.Run)
		}
		if m, told := reportIn(sentTo(effects, her)); !told || m.State != grid.Assigned || m.Attempt != 2 {
			t.Errorf("%s: its home is told %+v", name, m)
		}
	}
}

// A move that the table of the states lacks ends this Core: nothing of its step is done.
func TestAMoveThatIsNotInTheTableFails(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Completed, Ended: 5, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	c.become(c.jobs[j.ID], grid.Running)
	effects := c.Step(1_000_001, CancelRequest{Token: 7, Job: j.ID})
	f, failed := only[Fail](effects)
	a, answered := only[Answer](effects)
	if !failed || len(effects) != 2 || !strings.Contains(f.Err.Error(), "is COMPLETED at owning, and cannot become RUNNING: its own") || !answered || a.Err == nil {
		t.Errorf("it goes on: %+v", effects)
	}
}
