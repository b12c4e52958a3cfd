package core

import (
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A site that was forgotten, fenced off, had given the job to another, of whom the home had not heard. The job
// does not start again before he had time to report it; what he has of it, and proves, is the job's run.
func TestWhoGotItFromAForgottenSiteIsHeard(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		state      grid.State
		end        grid.State
		rerunnable bool
		forged     bool
		adopted    bool
	}{
		"it has ended there":             {state: grid.StageOut, end: grid.Completed, adopted: true},
		"it runs there":                  {state: grid.Running, adopted: true},
		"it runs, and may run again":     {state: grid.Running, rerunnable: true},
		"it waits there":                 {state: grid.Assigned},
		"he shows another's word for it": {state: grid.Running, forged: true},
	} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = k.rerunnable
		c := signed(grid.Record{
			Job: j, State: grid.Assigned,
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 1, Certificates: []grid.Certificate{certificate(j, me, 1, her)}},
			AtHome: grid.AtHome{Trail: []grid.PeerID{her}},
		})
		c.Step(1_000_001, Forget{Site: her, Fenced: true})
		r := &c.jobs[j.ID].rec
		m := wire.Report{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}, Number: 1, State: k.state, End: k.end,
			Certificates: []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, 2, him)}}
		if k.state >= grid.Running {
			m.Started = wire.Ago{Span: 10, Known: true}
		}
		if k.forged {
			m.Certificates[1] = certificate(j, him, 2, him)
		}
		c.Step(1_000_002, Message{him, m})
		if adopted := r.Adopted == m.Epoch && r.Owner == him; adopted != k.adopted || !adopted && r.Role != grid.Owning {
			t.Errorf("%s: %s of %s, adopted %t", name, r.Role, r.Owner, adopted)
		}
	}
}

// It is cancelled: its user is not told KILLED before he had that time. What he has of it waits no more, or ends by the cancel.
func TestACancelledJobOfAForgottenSiteIsNotKilledUnheard(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		rerunnable bool
		overdue    bool
		report     grid.State // of him who got it; 0: he did not
		role       grid.Role
		end        grid.State
	}{
		"nobody has it":              {end: grid.Killed},
		"its deadline has passed":    {overdue: true, end: grid.CancelledDeadline},
		"and it may run again":       {rerunnable: true, end: grid.Killed},
		"it waits there":             {report: grid.Assigned, end: grid.Killed},
		"it runs there":              {report: grid.Running, role: grid.Watching},
		"it has ended there":         {report: grid.StageOut, role: grid.Watching, end: grid.Completed},
		"it runs, and may run again": {rerunnable: true, report: grid.Running, end: grid.Killed},
	} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = k.rerunnable
		c := signed(grid.Record{
			Job: j, State: grid.Assigned, CancelRequested: true, Overdue: k.overdue,
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 1, Certificates: []grid.Certificate{certificate(j, me, 1, her)}},
			AtHome: grid.AtHome{Trail: []grid.PeerID{her}},
		})
		c.Step(1_000_001, Forget{Site: her, Fenced: true})
		r := &c.jobs[j.ID].rec
		if r.State.Terminal() {
			t.Fatalf("%s: told %s at once", name, r.State)
		}
		m := wire.Report{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}, Number: 1, State: k.report,
			Certificates: []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, 2, him)}}
		if k.report >= grid.Running {
			m.Started = wire.Ago{Span: 10, Known: true}
		}
		if k.report == grid.StageOut {
			m.End = grid.Completed
		}
		if k.report != 0 {
			effects := c.Step(1_000_002, Message{him, m})
			over := slices.ContainsFunc(sentTo(effects, him), func(m wire.Message) bool { _, is := m.(wire.Superseded); return is })
			if over == (k.role == grid.Watching) {
				t.Errorf("%s: he is told that it is over: %t", name, over)
			}
		}
		if asked := hear(c, him); asked != 0 && asked < 1_000_001+silence*c.cfg.Digest {
			t.Errorf("%s: he is asked while he may still submit what he gets", name)
		}
		if k.role != grid.Watching && (r.State.Terminal() || !strings.Contains(r.Why(), "gbroker forget d")) {
			t.Errorf("%s: told %s, and d was not heard: %s", name, r.State, r.Why())
		}
		hear(c, it)
		if r.Role == grid.Watching != (k.role == grid.Watching) || k.end != 0 != r.State.Terminal() || k.end != 0 && r.State != k.end {
			t.Errorf("%s: %s, %s of %s; want %s", name, r.State, r.Role, r.Owner, k.end)
		}
	}
}

// It starts when that time is over, and all were heard.
func TestAForgottenSitesJobStartsAgainAtLast(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed()
	k := &job{rec: grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}}}
	c.jobs[j.ID], c.live[j.ID] = k, k
	c.Step(1_000_001, Forget{Site: her, Fenced: true})
	if hold := c.gates.beforeStart(k); hold != untilReported {
		t.Errorf("at once: %s", hold)
	}
	c.now += silence*c.cfg.Digest + 1
	if hold := c.gates.beforeStart(k); hold != untilReported {
		t.Errorf("later: %s", hold)
	}
	c.Step(c.now, Message{him, wire.Error{Of: wire.KindRecall, Job: j.ID, At: k.rec.Epoch}})
	c.Step(c.now, Message{it, wire.Error{Of: wire.KindRecall, Job: j.ID, At: k.rec.Epoch}})
	if hold := c.gates.beforeStart(k); hold != open {
		t.Errorf("all were heard: %s", hold)
	}
}
