package core

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// A cancel of what runs again tells KILLED only where nothing of it can run at the site that was given up.
func TestACancelOfWhatMayStillRunElsewhere(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		name string
		lose func(*Core, *job)
		want grid.State
	}{
		{"forgotten", func(c *Core, _ *job) { c.Step(1_000_001, Forget{Token: 1, Site: her, By: "root"}) }, grid.Lost},
		{"fenced off", func(c *Core, _ *job) { c.Step(1_000_001, Forget{Token: 1, Site: her, Fenced: true, By: "root"}) }, grid.Killed},
		{"its home was set back, and she was not heard", func(c *Core, j *job) { c.recovery.unknownFate(j, "she", true) }, grid.Lost},
		{"likewise, and she was fenced off", func(c *Core, j *job) { c.recovery.unknownFate(j, "she", false) }, grid.Killed},
	} {
		record := watching(her, func(r *grid.Record) { r.Job.Rerunnable = true })
		c := bare(record)
		j := c.jobs[record.Job.ID]
		c.Step(1_000_000, Reconciled{All: true})
		c.Step(1_000_000, shot(1_000_000))
		j.recovered = false // its neighbours have spoken
		k.lose(c, j)
		effects := c.Step(1_000_002, CancelRequest{Token: 2, Job: j.rec.Job.ID, By: record.Job.User.Name})
		if r := j.rec; r.State != k.want || r.End != k.want || k.want == grid.Lost && !strings.Contains(r.Reason, "may go on") {
			t.Errorf("%s: %s, %s, %q; want %s (%v)", k.name, r.State, r.End, r.Reason, k.want, effects)
		}
	}
}

// Likewise of what waits for its files at a home that was set back: she may have it, files and all.
func TestACancelOfWhatWaitsForItsFilesAndMayRunElsewhere(t *testing.T) {
	t.Parallel()
	for harmful, want := range map[bool]grid.State{true: grid.Lost, false: grid.Killed} {
		job := jobOf(me, "a", "1")
		job.Rerunnable = true
		c := bare(grid.Record{Job: job, State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		j := c.jobs[job.ID]
		c.Step(1_000_000, Reconciled{All: true, Jobs: []grid.JobID{job.ID}})
		j.recovered = false // its neighbours have spoken
		c.recovery.unknownFate(j, "she", harmful)
		c.Step(1_000_002, CancelRequest{Token: 2, Job: job.ID, By: job.User.Name})
		if j.rec.State != want {
			t.Errorf("she may run it: %t; it is told to be %s, want %s", harmful, j.rec.State, want)
		}
	}
}
