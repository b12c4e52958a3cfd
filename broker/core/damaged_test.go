package core

import (
	"errors"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// running is a job of this home whose attempt was last heard to run.
func runningHere(change func(*grid.Record)) grid.Record {
	r := grid.Record{Job: jobOf(me, "a", "1"), State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: 1, Local: "l", Started: 900_000}}
	if change != nil {
		change(&r)
	}
	return r
}

// probedUntil answers each probe with what is known without control files, until the job has ended
// or an hour is over; it gives when it ended, and the kills.
func probedUntil(t *testing.T, c *Core, id grid.JobID, answer func(grid.AttemptID) Progressed) (ended grid.Tick, kills int) {
	t.Helper()
	now := grid.Tick(1_000_001)
	events := []Event{answer(c.attempt(c.jobs[id]))}
	for now < 1_000_000+grid.Hour {
		var effects []Effect
		for len(events) > 0 {
			ev := events[0]
			events = events[1:]
			effects = append(effects, c.Step(now, ev)...)
		}
		for _, e := range effects {
			switch e := e.(type) {
			case Probe:
				events = append(events, answer(e.ID))
			case Withdraw:
				events = append(events, Withdrawn{ID: e.ID, Err: errors.New("torn"), Damaged: true})
			case Kill:
				kills++
			case Collect:
				events = append(events, Collected{Job: id, Epoch: e.Epoch, Outputs: grid.Manifest{{Path: "stdout"}}})
			}
		}
		if c.jobs[id].rec.State.Terminal() {
			return now, kills
		}
		if len(events) == 0 {
			at, ok := c.Next()
			if !ok {
				t.Fatal("it waits for nothing")
			}
			now = max(now, at)
			events = []Event{Tick{}}
		}
	}
	return 0, kills
}

func phase(p grid.Phase, cause grid.Cause) func(grid.AttemptID) Progressed {
	return func(id grid.AttemptID) Progressed {
		return Progressed{Progress: grid.Progress{ID: id, Phase: p, Cause: cause, Detail: "nothing of it runs"}, Err: errors.New("torn"), Damaged: true}
	}
}

// A job whose control files are damaged has an end in bounded time: FAILED only where its program
// is proven dead, KILLED where that was wanted, else LOST.
func TestDamagedControlFilesGetAnEnd(t *testing.T) {
	t.Parallel()
	cancelled := func(r *grid.Record) { r.CancelRequested = true }
	waiting := func(r *grid.Record) { r.State, r.Started = grid.Assigned, 0 }
	for _, k := range []struct {
		name   string
		change func(*grid.Record)
		known  func(grid.AttemptID) Progressed
		want   grid.State
		says   string
	}{
		{"proven dead", nil, phase(grid.Ended, grid.Disappeared), grid.Failed, "nothing of it runs"},
		{"proven dead, cancelled", cancelled, phase(grid.Ended, grid.Disappeared), grid.Killed, "nothing of it runs"},
		{"proven dead, waited", waiting, phase(grid.Ended, grid.Disappeared), grid.Failed, "nothing of it runs"},
		{"never ran", waiting, phase(grid.Ended, grid.NeverRan), grid.Failed, "nothing of it runs"},
		{"unknown", nil, phase(grid.Unknown, 0), grid.Lost, "it may still run"},
		{"unknown, cancelled", cancelled, phase(grid.Unknown, 0), grid.Lost, "it may still run"},
		{"unknown, waited", waiting, phase(grid.Unknown, 0), grid.Lost, "it may still run"},
		{"runs", nil, phase(grid.Started, 0), 0, ""},
		{"runs, waited", waiting, phase(grid.Started, 0), 0, ""},
		{"waits", waiting, phase(grid.Waiting, 0), 0, ""},
		{"the batch system does not answer", nil, func(id grid.AttemptID) Progressed {
			return Progressed{Progress: grid.Progress{ID: id}, Err: errors.New("no answer")}
		}, 0, ""},
	} {
		r := runningHere(k.change)
		c := bare(r)
		at, kills := probedUntil(t, c, r.Job.ID, k.known)
		got := c.jobs[r.Job.ID].rec
		if at == 0 != (k.want == 0) || at != 0 && (got.State != k.want || at < 1_000_000+patience || at > 1_000_000+patience+grid.Minute) || !strings.Contains(got.Reason, k.says) {
			t.Errorf("%s: at %d it is %s: %s", k.name, at, got.State, got.Reason)
		}
		if k.name == "runs, waited" && got.State != grid.Running {
			t.Errorf("%s: it is %s", k.name, got.State)
		}
		if kills == 0 && (k.want == grid.Lost || k.name == "waits" || got.CancelRequested) {
			t.Errorf("%s: nothing is killed", k.name)
		}
	}
}

// Files that are put back in time change nothing.
func TestControlFilesThatArePutBack(t *testing.T) {
	t.Parallel()
	r := runningHere(nil)
	c := bare(r)
	id := c.attempt(c.jobs[r.Job.ID])
	c.Step(1_000_001, phase(grid.Ended, grid.Disappeared)(id))
	if got := c.jobs[r.Job.ID].rec; !strings.Contains(got.Reason, "damaged") {
		t.Errorf("nothing tells of it: %+v", got)
	}
	if effects := c.Step(1_000_000+patience, Progressed{Progress: grid.Progress{ID: id, Phase: grid.Started, Started: 900_000}}); len(savesOf(effects, r.Job.ID)) == 0 {
		t.Error("that they can be read again is not saved")
	}
	c.Step(1_000_001+patience, phase(grid.Ended, grid.Disappeared)(id))
	if got := c.jobs[r.Job.ID].rec; got.State != grid.Running {
		t.Errorf("it is %s", got.State)
	}
}

// A rerunnable job whose program is proven dead is started again.
func TestADamagedJobRunsAgain(t *testing.T) {
	t.Parallel()
	r := runningHere(func(r *grid.Record) { r.Job.Rerunnable = true })
	c := bare(r)
	id := c.attempt(c.jobs[r.Job.ID])
	c.Step(1_000_001, phase(grid.Ended, grid.Disappeared)(id))
	l, ok := only[Launch](c.Step(1_000_001+patience, phase(grid.Ended, grid.Disappeared)(id)))
	if !ok || l.Submission.ID.Attempt != 2 || !l.Fresh {
		t.Errorf("%+v, %t", l, ok)
	}
}

// An offer whose attempt cannot be withdrawn dies.
func TestADamagedTokenEndsAnOffer(t *testing.T) {
	t.Parallel()
	r := runningHere(func(r *grid.Record) {
		r.State, r.Started = grid.Moving, 0
		r.Handoff = grid.Handoff{Phase: grid.Withdrawing, To: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}
	})
	c := signed()
	c.jobs[r.Job.ID] = &job{rec: r}
	c.keepLive(c.jobs[r.Job.ID])
	effects := c.Step(1_000_001, Withdrawn{ID: c.attempt(c.jobs[r.Job.ID]), Err: errors.New("torn"), Damaged: true})
	if got := c.jobs[r.Job.ID].rec; got.State != grid.Assigned || got.Handoff.Phase != grid.NoHandoff {
		t.Errorf("%s, %d", got.State, got.Handoff.Phase)
	}
	if _, ok := only[Probe](effects); !ok {
		t.Error("nobody asks after it")
	}
	if s := sentTo(effects, her); len(s) != 1 {
		t.Errorf("the candidate hears %v", s)
	}
}

// Where a control directory cannot even be listed after a start, nobody knows whether the job has
// run: it is not started, and does not wait for ever; nor does its cancel.
func TestAnUnreadableControlDirectoryGetsAnEnd(t *testing.T) {
	t.Parallel()
	for _, cancel := range []bool{false, true} {
		r := runningHere(func(r *grid.Record) {
			r.State, r.Started, r.Attempt, r.Local, r.CancelRequested = grid.Ready, 0, 0, "", cancel
		})
		c := New(Config{Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 1}}, nil, []grid.Record{r})
		now := grid.Tick(1_000_000)
		effects := c.Step(now, Boot{})
		for ; now < 1_000_000+grid.Hour && !c.jobs[r.Job.ID].rec.State.Terminal(); now, _ = c.Next() {
			effects = append(effects, c.Step(now, Tick{})...)
			if _, launched := only[Launch](effects); launched {
				t.Fatal("it is started")
			}
			if e, asked := only[Reconcile](effects); asked {
				c.Step(now, Reconciled{Damaged: e.Jobs})
			}
			effects = nil
		}
		if got := c.jobs[r.Job.ID].rec; got.State != grid.Lost || now < 1_000_000+patience || now > 1_000_000+2*patience {
			t.Errorf("cancel %t: it is %s at %d: %s", cancel, got.State, now, got.Reason)
		}
	}
}

// What may still run keeps its folder, at its home and elsewhere.
func TestALostJobKeepsItsFolder(t *testing.T) {
	t.Parallel()
	for _, home := range []grid.PeerID{me, her} {
		r := runningHere(func(r *grid.Record) { r.Job = jobOf(home, map[grid.PeerID]grid.SiteName{me: "a", her: "b"}[home], "1") })
		c := bare(r)
		var effects []Effect
		effects = append(effects, c.Step(1_000_001, EndJob{Token: 1, Job: r.Job.ID, By: "root"})...)
		if home == her {
			m := c.jobs[r.Job.ID].rec
			if m.State != grid.StageOut || m.End != grid.Lost {
				t.Fatalf("it is %s, end %s", m.State, m.End)
			}
			effects = append(effects, c.Step(1_000_002, Message{her, wire.ReportAck{Job: m.Job.ID, Epoch: m.Epoch, Number: m.Report, Closed: true}})...)
		}
		if d, any := only[Discard](effects); any {
			t.Errorf("home %s: %+v", home, d)
		}
		if got := c.jobs[r.Job.ID]; got.rec.State != grid.Lost || got.gone() {
			t.Errorf("home %s: %s, gone %t", home, got.rec.State, got.gone())
		}
	}
}

func TestAnAdministratorEndsAJob(t *testing.T) {
	t.Parallel()
	cancelled := func(r *grid.Record) { r.CancelRequested = true }
	ready := func(r *grid.Record) { r.State, r.Started, r.Attempt, r.Local = grid.Ready, 0, 0, "" }
	for _, k := range []struct {
		name   string
		record grid.Record
		dead   bool
		want   grid.State
		err    error
	}{
		{"runs", runningHere(nil), true, grid.Failed, nil},
		{"runs, cancelled", runningHere(cancelled), true, grid.Killed, nil},
		{"runs, lost", runningHere(nil), false, grid.Lost, nil},
		{"ready", runningHere(ready), true, grid.Failed, nil},
		{"ready, lost", runningHere(ready), false, grid.Lost, nil},
		{"rerunnable", runningHere(func(r *grid.Record) { r.Job.Rerunnable = true }), true, grid.Failed, nil},
		{"has ended", runningHere(func(r *grid.Record) { r.State, r.End = grid.Completed, grid.Completed }), true, 0, grid.ErrInvalid},
		{"brings its output", runningHere(func(r *grid.Record) { r.State, r.End = grid.Finished, grid.Completed }), true, 0, grid.ErrInvalid},
		{"is elsewhere", watching(her, nil), true, 0, grid.ErrInvalid},
	} {
		for _, dry := range []bool{true, false} {
			c := bare(k.record)
			id := k.record.Job.ID
			effects := c.Step(1_000_001, EndJob{Token: 1, Job: id, Dead: k.dead, DryRun: dry, By: "root"})
			a, _ := only[Answer](effects)
			if !errors.Is(a.Err, k.err) || k.err == nil && a.Err != nil {
				t.Errorf("%s: %v", k.name, a.Err)
			}
			if _, collects := only[Collect](effects); collects {
				c.Step(1_000_002, Collected{Job: id, Epoch: k.record.Epoch, Outputs: grid.Manifest{{Path: "stdout"}}})
			}
			got := c.jobs[id].rec
			if dry || k.err != nil {
				if got.State != k.record.State {
					t.Errorf("%s, dry %t: it is %s", k.name, dry, got.State)
				}
				continue
			}
			if got.State != k.want || !strings.Contains(got.Reason, "root") || k.want == grid.Lost && !strings.Contains(got.Reason, "may still run") {
				t.Errorf("%s: it is %s: %s", k.name, got.State, got.Reason)
			}
			if _, kills := only[Kill](effects); kills != (k.record.Attempt > 0) {
				t.Errorf("%s: killed %t", k.name, kills)
			}
			if k.record.Attempt > 0 && k.dead && len(got.Outputs) == 0 {
				t.Errorf("%s: what it left is not collected", k.name)
			}
		}
	}
	if a, _ := only[Answer](bare().Step(1_000_001, EndJob{Token: 1, Job: "a.00000000000000000000000009"})); !errors.Is(a.Err, grid.ErrNotFound) {
		t.Errorf("an unknown job: %v", a.Err)
	}
}

// A job was taken to run, as its control files were damaged and the batch system showed it; they come back, and tell that its attempt is withdrawn. Nothing of it runs, or will.
func TestWhatWasTakenToRunIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		change   func(*grid.Record)
		want     grid.State
		launched bool
	}{
		"may run once":      {nil, grid.Failed, false},
		"is cancelled":      {func(r *grid.Record) { r.CancelRequested = true }, grid.Killed, false},
		"may run once more": {func(r *grid.Record) { r.Job.Rerunnable = true }, grid.Assigned, true},
	} {
		r := runningHere(k.change)
		c := signed(r)
		c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
		j := c.jobs[r.Job.ID]
		j.recovered = false // its neighbours have spoken
		at := c.attempt(j)
		effects := c.Step(c.now+1, Progressed{Progress: grid.Progress{ID: at, Phase: grid.Withdrawn}})
		if e, collects := only[Collect](effects); collects {
			c.Step(c.now+1, Collected{Job: r.Job.ID, Epoch: e.Epoch})
		}
		if _, launched := only[Launch](effects); launched != k.launched || j.rec.State != k.want {
			t.Errorf("what %s: it is %s (%s), and starts again: %t", name, j.rec.State, j.rec.Reason, launched)
		}
	}
}
