package core

import (
	"errors"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
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
		c.Step(1_000_003, PeerChanged{him, grid.Alive})
		hear(c, him) // it may have been given to him before
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
		if held := j.rec.State == grid.StageIn; held == harmful {
			t.Errorf("she may run it: %t; it is %s before they were heard", harmful, j.rec.State)
		}
		c.Step(1_000_003, PeerChanged{her, grid.Alive})
		c.Step(1_000_003, PeerChanged{him, grid.Alive})
		hear(c, her, him)
		pass(c, c.cfg.RetryMax)
		if j.rec.State != want {
			t.Errorf("she may run it: %t; it is told to be %s, want %s", harmful, j.rec.State, want)
		}
	}
}

// Nor is its user told FAILED, as if nothing of it had run, where it cannot begin here.
func TestWhatCannotBeginHereAndMayRunElsewhere(t *testing.T) {
	t.Parallel()
	for _, harmful := range []bool{true, false} {
		for name, k := range map[string]struct {
			state  grid.State
			cannot func(*Core, *job)
		}{
			"its files do not come": {grid.StageIn, func(c *Core, _ *job) { pass(c, 2*c.cfg.UploadLimit) }},
			"an input is not there": {grid.Ready, func(c *Core, j *job) {
				c.Step(c.now+1, Checked{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, Missing: errors.New("in")})
			}},
			"its start always fails": {grid.Ready, func(c *Core, j *job) { j.fails = maxFails; c.execution.launch(j, "again") }},
			"no site could run it":   {grid.Ready, func(c *Core, j *job) { c.search.nobody(j, grid.Decision{}) }},
		} {
			job := jobOf(me, "a", "1")
			job.Rerunnable = true
			c := bare(grid.Record{Job: job, State: k.state, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
			j := c.jobs[job.ID]
			c.Step(1_000_000, Reconciled{All: true, Jobs: []grid.JobID{job.ID}})
			j.recovered = false // its neighbours have spoken
			c.recovery.unknownFate(j, "she", harmful)
			c.Step(1_000_001, PeerChanged{her, grid.Alive})
			c.Step(1_000_001, PeerChanged{him, grid.Alive})
			hear(c, her, him)
			k.cannot(c, j)
			want := grid.Failed
			if harmful {
				want = grid.Lost
			}
			if r := j.rec; r.State != want || r.End != want || harmful && !strings.Contains(r.Reason, "may go on") {
				t.Errorf("she may run it: %t; %s: it is told to be %s (%s), want %s", harmful, name, r.State, r.Reason, want)
			}
		}
	}
}

// What its administrator says to be dead is FAILED by his word, not by what this broker can prove.
func TestWhatIsSaidToBeDead(t *testing.T) {
	t.Parallel()
	for state, attempt := range map[grid.State]uint32{grid.Ready: 0, grid.Assigned: 1} {
		for _, dead := range []bool{false, true} {
			job := jobOf(me, "a", "1")
			job.Rerunnable = true
			c := signed(grid.Record{
				Job: job, State: state, Run: grid.Run{Attempt: attempt}, AtHome: grid.AtHome{Unfenced: true},
				Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 2}},
			})
			j := c.jobs[job.ID]
			c.Step(c.now+1, EndJob{Token: 1, Job: job.ID, Dead: dead, By: "root"})
			c.Step(c.now+1, Collected{Job: job.ID, Epoch: j.rec.Epoch})
			if j.rec.State != map[bool]grid.State{false: grid.Lost, true: grid.Failed}[dead] {
				t.Errorf("%v, dead %t: it is %v (%s)", state, dead, j.rec.State, j.rec.Reason)
			}
		}
	}
}

// Likewise of what both the home and one that had it later have forgotten: it may have run there.
func TestACancelOfWhatLeftATraceElsewhere(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		state grid.State
		role  grid.Role
		owner grid.PeerID
		again bool
	}{
		"owned here, may run once":       {grid.Ready, grid.Owning, me, false},
		"owned here, may run again":      {grid.Ready, grid.Owning, me, true},
		"owned elsewhere, may run once":  {grid.Assigned, grid.Watching, him, false},
		"owned elsewhere, may run again": {grid.Assigned, grid.Watching, him, true},
	} {
		job := jobOf(me, "a", "1")
		job.Rerunnable = k.again
		c := rolledBackWith(grid.Record{Job: job, State: k.state, CancelRequested: true, Tenure: grid.Tenure{Role: k.role, Owner: k.owner, Epoch: grid.Epoch{Term: 1}}})
		c.Step(1_000_002, Message{her, wire.Recounted{Traces: []wire.Trace{{Job: job.ID, Epoch: grid.Epoch{Term: 1, Hop: 9}}}}})
		for _, p := range []grid.PeerID{him, it} {
			c.Step(1_000_003, Message{p, wire.Recounted{}})
		}
		if !settled(c, 1_000_004) {
			t.Fatalf("%s: it asks for ever", name)
		}
		for end := c.now + grid.Minute; c.now < end && !c.jobs[job.ID].rec.State.Terminal(); {
			c.Step(c.now+500, Tick{})
		}
		if r := c.jobs[job.ID].rec; r.State != grid.Lost {
			t.Errorf("%s: %s at %s, %q", name, r.State, r.Epoch, r.Reason)
		}
	}
}
