package core

import (
	"errors"
	"testing"

	"gbroker/grid"
)

// A job that was altered, and came home just before its broker was stopped, gets its new version in the next life.
func TestAnAlteredJobOfTheLastLifeGoesOn(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	priority := 4
	c := signed(grid.Record{
		Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 9}},
		AtHome: grid.AtHome{Altered: &grid.Alteration{Priority: &priority}},
	})
	k := c.jobs[j.ID]
	if c.Step(1_000_001, Tick{}); k.rec.Altered == nil {
		t.Error("altered before its control directory has spoken: it may be elsewhere as it was")
	}
	c.Step(1_000_002, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
	c.Step(1_000_000+5*grid.Minute, Tick{})
	if r := k.rec; r.Altered != nil || r.Job.Terms.Priority != priority {
		t.Errorf("it waits for ever: %+v, %s", r.Altered, r.Reason)
	}
}

// The same, where the site is drained meanwhile, or was, or is no more: another site is to get the new version.
func TestAnAlteredJobOfADrainedSiteGoesOn(t *testing.T) {
	t.Parallel()
	for name, orders := range map[string][]bool{"it was drained before": nil, "it is drained": {true}, "it was drained for a while": {true, false}} {
		j := jobOf(me, "a", "1")
		priority := 4
		c := signed(grid.Record{
			Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 9}},
			AtHome: grid.AtHome{Altered: &grid.Alteration{Priority: &priority}},
		})
		c.draining = orders == nil
		c.Step(1_000_002, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
		for _, on := range orders {
			c.Step(1_000_003, DrainRequest{On: on})
		}
		c.Step(1_000_000+5*grid.Minute, Tick{})
		if r := c.jobs[j.ID].rec; r.Altered != nil || r.Job.Terms.Priority != priority {
			t.Errorf("%s: it waits for ever: %+v, %s", name, r.Altered, r.Reason)
		}
	}
}

// A job that is altered takes no more processes than the limits leave its user: those count from when it is altered on.
func TestAnAlteredJobCountsForItsUser(t *testing.T) {
	t.Parallel()
	cfg := signer(me, "a")
	cfg.User.Processes = 6
	c := New(cfg, nil, nil)
	begin(c)
	var jobs []grid.Job
	for _, n := range []string{"1", "2"} {
		j := jobOf(me, "a", n)
		j.Terms.Held = true
		c.Step(1_000_001, Submit{Token: 1, Job: j, Key: n})
		jobs = append(jobs, j)
	}
	alter := func(k, processes int) error {
		a, _ := only[Answer](c.Step(c.now+1, Alter{Token: 2, Job: jobs[k].ID, To: grid.Alteration{Processes: &processes}, By: "alice"}))
		return a.Err
	}
	for _, k := range []struct {
		job, processes int
		want           error
	}{{0, 6, grid.ErrNotYet}, {0, 5, nil}, {1, 2, grid.ErrNotYet}, {0, 4, nil}, {1, 2, nil}, {1, 3, grid.ErrNotYet}} {
		if err := alter(k.job, k.processes); !errors.Is(err, k.want) {
			t.Errorf("job %d to %d processes: %v", k.job+1, k.processes, err)
		}
		if n := c.users["alice"].processes; n > cfg.User.Processes {
			t.Errorf("job %d to %d processes: its user has %d", k.job+1, k.processes, n)
		}
	}
}
