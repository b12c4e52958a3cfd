package core

import (
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

// It starts when that time is over.
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
	if hold := c.gates.beforeStart(k); hold != open {
		t.Errorf("later: %s", hold)
	}
}
