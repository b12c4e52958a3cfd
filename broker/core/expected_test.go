package core

import (
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// A job that waits here has an expected start, or a reason why nobody can say: never an old one.
func TestAnExpectedStartDoesNotGoStale(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1") // its home is told too
	c := signed(grid.Record{
		Job:    j,
		State:  grid.Assigned,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
		Run:    grid.Run{Attempt: 1, Local: "7.pbs"},
	})
	waits := plan.Waiting{Job: j.ID, Demand: j.Demand, Limit: grid.Minute}
	now := grid.Tick(1_000_000)
	for _, step := range []struct {
		change func(*plan.Snapshot)
		says   string
	}{
		{func(*plan.Snapshot) {}, ""},
		{func(s *plan.Snapshot) { s.Waiting[0].Ineligible, s.Waiting[0].Why = true, "Job held by root" }, "held in the batch system: Job held by root"},
		{func(s *plan.Snapshot) { s.Stopped, s.Why = true, "scheduling is False" }, "which starts no jobs now: scheduling is False"},
		{func(s *plan.Snapshot) {
			s.Waiting[0].Queue, s.Queues = "q", []plan.Queue{{Name: "q", Stopped: true, Why: "it is not started"}}
		}, "queue q, of which no jobs are started now: it is not started"},
		{func(s *plan.Snapshot) { s.Nodes[0].Down = true }, "cannot start as the site is now"},
		{func(*plan.Snapshot) {}, ""},
	} {
		now += grid.Hour
		look := shot(now)
		look.Snapshot.Waiting = []plan.Waiting{waits}
		step.change(&look.Snapshot)
		effects := c.Step(now, look)
		r := c.jobs[j.ID].rec
		if (r.EstimateNow != 0) != (step.says == "") || (r.Why() == "") != (step.says == "") || !strings.Contains(r.Why(), step.says) {
			t.Errorf("it is expected at %d, for %q; the reason should be %q", r.EstimateNow, r.Why(), step.says)
		}
		told := false
		for _, m := range sentTo(effects, her) {
			if m, is := m.(wire.Report); is {
				told = m.Estimate.Known == (step.says == "") && m.Reason == r.Why()
			}
		}
		if !told {
			t.Errorf("of %q the home is told %+v", r.Reason, sentTo(effects, her))
		}
	}
}

// The home of a job that waits elsewhere does not keep an expected start that is gone.
func TestAHomeForgetsAnExpectedStart(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{
		Job:         j,
		State:       grid.Assigned,
		EstimateNow: 2_000_000,
		Tenure:      grid.Tenure{Role: grid.Watching, Owner: her, Report: 3, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: []grid.Certificate{certificate(j, me, 1, her)}},
	})
	report := wire.Report{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: 3, State: grid.Assigned, Reason: "held"}
	c.Step(1_000_001, Message{her, report})
	if r := c.jobs[j.ID].rec; r.EstimateNow != 0 || r.Reason != "held" {
		t.Errorf("it is expected at %d, for %q", r.EstimateNow, r.Reason)
	}
	report.Number, report.Reason, report.Estimate = 2, "old", wire.In{Span: 5, Known: true}
	c.Step(1_000_002, Message{her, report})
	if r := c.jobs[j.ID].rec; r.EstimateNow != 0 || r.Reason != "held" {
		t.Errorf("an older report counts: %d, %q", r.EstimateNow, r.Reason)
	}
}

// Where no site starts jobs now the job waits, and is not given up.
func TestARefusalThatPassesIsNoEnd(t *testing.T) {
	t.Parallel()
	for kind, passes := range map[grid.RefusalKind]bool{grid.Temporary: true, grid.UnknownRefusal: true, grid.Permanent: false} {
		j := jobOf(me, "a", "1")
		c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		row := grid.Candidate{Site: "a", Peer: me, Refusal: &grid.Refusal{Kind: kind, Reason: "words that nobody knows"}}
		c.search.decide(c.jobs[j.ID], []grid.Candidate{row})
		if ended := c.jobs[j.ID].rec.State == grid.Failed; ended == passes {
			t.Errorf("%v: the job is %v", kind, c.jobs[j.ID].rec.State)
		}
	}
}

// Where all that may take a job have said when to ask again, it is asked again then, and no later
// than jobs that wait are searched a place for; one that has not said is asked soon.
func TestAskedAgainWhenItIsWorthIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		again []grid.Tick
		after grid.Tick
	}{
		"both say":     {[]grid.Tick{40 * grid.Second, 20 * grid.Second}, 20 * grid.Second},
		"one does not": {[]grid.Tick{40 * grid.Second, 0}, 0},
		"in a year":    {[]grid.Tick{365 * grid.Day, 366 * grid.Day}, grid.Minute},
	} {
		j := jobOf(me, "a", "1")
		c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		rows := []grid.Candidate{{Site: "z", Refusal: &grid.Refusal{Kind: grid.Permanent}}}
		for _, again := range test.again {
			rows = append(rows, grid.Candidate{Site: "a", Peer: me, Refusal: &grid.Refusal{Kind: grid.Temporary, Again: again}})
		}
		c.search.decide(c.jobs[j.ID], rows)
		if after := c.jobs[j.ID].due[onHandoff] - c.now; after != test.after && (test.after > 0 || after > 2*c.cfg.Retry) {
			t.Errorf("%s: it is asked again after %d ms", name, after)
		}
	}
}

// What held a job up before this broker was started again is not told when it does no more, and
// the reason of its state stays beside it while it does.
func TestAnObstacleGoesWithTheLifeThatFoundIt(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{
		Job: j, State: grid.Assigned, Reason: "its control files are damaged", Obstacle: "held in the batch system",
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: 1, Local: "7.pbs"},
	})
	if why := c.jobs[j.ID].rec.Why(); why != "its control files are damaged [held in the batch system]" {
		t.Errorf("it waits for %q", why)
	}
	c.jobs[j.ID].rec.Reason = ""
	look := shot(1_000_001)
	look.Snapshot.Waiting = []plan.Waiting{{Job: j.ID, Demand: j.Demand, Limit: grid.Minute}}
	c.Step(1_000_001, look)
	if why := c.jobs[j.ID].rec.Why(); why != "" {
		t.Errorf("it has a start, and waits for %q", why)
	}
}

// A job that is accepted, and has no record yet, keeps the start that it was expected at while the site cannot run it.
func TestAnAcceptedJobThatCannotStartNow(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	j.Inputs = grid.Manifest{{Path: "in", Size: 5, Ranges: make([]grid.Hash, 1)}}
	c := signed()
	c.Step(c.now+1, Message{her, offerOf(j, 1, grid.Hour)})
	c.Step(c.now+1, shot(c.now+1))
	a := c.accepted[j.ID]
	if a == nil || c.job(j.ID) != nil {
		t.Fatalf("accepted %+v, known %t", a, c.job(j.ID) != nil)
	}
	first := a.start
	down := shot(c.now + grid.Minute)
	down.Snapshot.Nodes[0].Down = true
	if c.Step(c.now+grid.Minute, down); a.start != first || c.accepted[j.ID] != a {
		t.Errorf("while no node is up it is expected at %d, before at %d", a.start, first)
	}
	if c.Step(c.now+grid.Minute, shot(c.now+grid.Minute)); a.start <= first {
		t.Errorf("then it is expected at %d, as before", a.start)
	}
}
