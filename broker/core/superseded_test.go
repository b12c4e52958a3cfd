package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A site whose job was superseded has let go of it, and knows no owner but itself: a cancel that comes late ends there. (It
// was passed on to that owner, which is the site itself, in the same step, for ever.)
func TestACancelEndsWhereTheJobWasSuperseded(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	c := signed(grid.Record{
		Job: j, State: grid.Ready,
		Tenure: grid.Tenure{Role: grid.Tombstone, Owner: me, Epoch: at, Superseded: at, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
	})
	for _, e := range c.Step(1_000_001, Message{her, wire.Cancel{Job: j.ID, Epoch: at}}) {
		if s, is := e.(Send); is && s.To == me {
			t.Errorf("it is sent on to %s: %+v", s.To, s.Message)
		}
	}
	if !c.jobs[j.ID].rec.CancelRequested {
		t.Error("the cancel is not noted")
	}
}

// A site that is forgotten by mistake is told at once, not when it reports next: what waits there of a job that starts again may be an
// older version, and is withdrawn. What may run once and has started there is the job's run, which its report has to tell first.
func TestAForgottenSiteIsTold(t *testing.T) {
	t.Parallel()
	longer := 2 * grid.Hour
	for _, rerunnable := range []bool{true, false} {
		r := watching(her, func(r *grid.Record) { r.Job.Rerunnable = rerunnable })
		c := bare(r)
		c.Step(1_000_001, Alter{Token: 1, Job: r.Job.ID, To: grid.Alteration{Walltime: &longer}, By: "alice"})
		effects := c.Step(1_000_002, Forget{Token: 2, Site: her, Fenced: true, By: "root"})
		now := c.jobs[r.Job.ID].rec
		if now.Role != grid.Owning || now.Job.Walltime != longer {
			t.Fatalf("rerunnable %t: it is %+v", rerunnable, now)
		}
		told := slices.Contains(sentTo(effects, her), wire.Message(wire.Superseded{Job: r.Job.ID, Of: r.Epoch, Epoch: now.Epoch, Owner: me}))
		if told != rerunnable {
			t.Errorf("rerunnable %t: she is told %+v", rerunnable, sentTo(effects, her))
		}
	}
}

// A late copy of the report that a job waits comes to the home that was told since that it ended before it started. Its word that it has
// given the job up takes nothing from what its owner knows: a home that is set back is told that end.
func TestWhatEndedBeforeItsStartIsKeptForItsHome(t *testing.T) {
	t.Parallel()
	epoch := grid.Epoch{Term: 1, Hop: 1}
	j := jobOf(me, "a", "1")
	home := signed(grid.Record{Job: j, State: grid.Assigned, CancelRequested: true, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch, Report: 4}, Run: grid.Run{Attempt: 1}})
	home.Step(home.now+1, Message{her, wire.Report{Job: j.ID, Epoch: epoch, Number: 6, State: grid.StageOut, End: grid.Killed, Attempt: 1}})
	if r := home.jobs[j.ID].rec; r.State != grid.Killed {
		t.Fatalf("its home tells %s", r.State)
	}
	late := sentTo(home.Step(home.now+1, Message{her, wire.Report{Job: j.ID, Epoch: epoch, Number: 5, State: grid.Assigned, Attempt: 1}}), her)
	again := sentTo(home.Step(home.now+1, Message{her, wire.Report{Job: j.ID, Epoch: epoch, Number: 7, State: grid.StageOut, End: grid.Killed, Attempt: 1}}), her)

	j.Home = her // the same, as its owner has it
	owner := bare(grid.Record{Job: j, State: grid.StageOut, CancelRequested: true, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: epoch, Report: 7}, Run: grid.Run{Attempt: 1, End: grid.Killed}})
	for _, m := range slices.Concat(late, []wire.Message{wire.Closed{Job: j.ID, Term: 1}}, again) {
		owner.Step(owner.now+1, Message{her, m})
	}
	if k := owner.jobs[j.ID]; k == nil || !k.ended() || k.rec.End != grid.Killed {
		t.Errorf("its owner has %+v", k)
	}
}

// A home answers that a job waits by Superseded, hears then that it has started, and adopts that run, as the job may run once. A copy of that answer
// comes late: it ends nothing. Nor does the answer itself, if it comes after the acknowledgement. What answers the report that the job runs does.
func TestALateSupersededEndsNoRun(t *testing.T) {
	t.Parallel()
	epoch, later := grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{Term: 2}
	for _, rerunnable := range []bool{false, true} {
		for name, k := range map[string]struct {
			answers func(waits, runs uint64) uint64
			ends    bool
		}{
			"what answers that it waits":   {func(waits, _ uint64) uint64 { return waits }, rerunnable},
			"what answers that it runs":    {func(_, runs uint64) uint64 { return runs }, true},
			"what answers none":            {func(_, _ uint64) uint64 { return 0 }, true},
			"what answers a later life":    {func(_, runs uint64) uint64 { return runs + 9 }, true},
			"what answers one before that": {func(waits, _ uint64) uint64 { return waits - 1 }, rerunnable},
		} {
			j := jobOf(her, "b", "1")
			j.Rerunnable = rerunnable
			c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: epoch, Report: 7}, Run: grid.Run{Attempt: 1, Local: "17"}})
			waits := c.jobs[j.ID].rec.Report
			c.Step(c.now+1, Progressed{Progress: grid.Progress{ID: c.execution.attempt(c.jobs[j.ID]), Phase: grid.Started, Started: c.now, Local: "17"}})
			runs := c.jobs[j.ID].rec.Report
			if c.jobs[j.ID].rec.State != grid.Running || runs <= waits {
				t.Fatalf("it is %s, reported by %d and %d", c.jobs[j.ID].rec.State, waits, runs)
			}
			c.Step(c.now+1, Message{her, wire.ReportAck{Job: j.ID, Epoch: epoch, Number: runs}})
			_, killed := only[Kill](c.Step(c.now+1, Message{her, wire.Superseded{Job: j.ID, Of: epoch, Epoch: later, Answers: k.answers(waits, runs)}}))
			if killed != k.ends {
				t.Errorf("rerunnable %t: %s ends it: %t", rerunnable, name, killed)
			}
		}
	}
}

// A home says which report its Superseded answers.
func TestSupersededAnswersAReport(t *testing.T) {
	t.Parallel()
	r := watching(her, func(r *grid.Record) { r.Epoch = grid.Epoch{Term: 3} })
	c := bare(r)
	m := wire.Report{Job: r.Job.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: 5, State: grid.Assigned, Attempt: 1}
	for _, m := range sentTo(c.Step(c.now+1, Message{her, m}), her) {
		if s, is := m.(wire.Superseded); is && s.Answers == 5 {
			return
		}
	}
	t.Error("it is not said")
}
