package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// What its user, or its home, wants no more is killed as soon as it is known to run, however that becomes known.
func TestWhatIsNotWantedIsKilledWhenItRuns(t *testing.T) {
	t.Parallel()
	wishes := map[string]func(*grid.Record){
		"wanted":     func(*grid.Record) {},
		"cancelled":  func(r *grid.Record) { r.CancelRequested = true },
		"superseded": func(r *grid.Record) { r.Superseded = grid.Epoch{Term: 9} },
		"given up":   func(r *grid.Record) { r.Superseded = r.Epoch },
	}
	for how, hear := range map[string]func(*execution, *job){
		"its files are damaged, and it is listed": func(m *execution, j *job) { m.runsUnseen(j) },
		"its token cannot be taken":               func(m *execution, j *job) { m.untaken(j, "torn") },
		"its token was taken":                     func(m *execution, j *job) { m.startedAfterAll(j) },
		"it is hidden, and its token was taken":   func(m *execution, j *job) { j.rec.Missing = 5; m.startedAfterAll(j) },
		"it says so":                              func(m *execution, j *job) { m.running(j, grid.Progress{Phase: grid.Started, Started: 7}) },
	} {
		for wish, change := range wishes {
			o := &others{}
			r := runningHere(func(r *grid.Record) { r.State, r.Started = grid.Assigned, 0 })
			change(&r)
			k := kernelOf(o, r)
			m := &execution{kernel: k, estimator: o, gates: o, home: o, ownership: o, recovery: o, search: o, terms: o, strays: map[grid.AttemptID]int{}}
			hear(m, k.jobs[r.Job.ID])
			_, killed := only[Kill](k.out)
			want := wish == "cancelled" || wish == "superseded" && how != "it is hidden, and its token was taken"
			if killed != want {
				t.Errorf("%s, %s: killed %t", how, wish, killed)
			}
		}
	}
}

// A directory that cannot be read says nothing new of an attempt that is asked after, nor of what another site has.
func TestAnUnreadableDirectoryOfWhatIsKnown(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		change func(*grid.Record)
		doubts bool
	}{
		"it waits for its start": {func(r *grid.Record) { r.State, r.Started, r.Attempt = grid.Ready, 0, 0 }, true},
		"it is submitted":        {func(r *grid.Record) { r.State, r.Started = grid.Assigned, 0 }, false},
		"it runs":                {func(*grid.Record) {}, false},
		"another has it":         {func(r *grid.Record) { r.State, r.Role, r.Owner = grid.Ready, grid.Watching, her }, false},
	} {
		r := runningHere(k.change)
		o := &others{}
		kernel := kernelOf(o, r)
		m := &execution{kernel: kernel, estimator: o, gates: o, home: o, ownership: o, recovery: o, search: o, terms: o}
		j := kernel.jobs[r.Job.ID]
		m.unreadable(j)
		if doubts := j.damaged != 0 && j.rec.Reason != ""; doubts != k.doubts {
			t.Errorf("%s: damaged since %d: %q", name, j.damaged, j.rec.Reason)
		}
		kernel.now += patience
		if m.unreadable(j); (j.rec.End == grid.Lost) != k.doubts {
			t.Errorf("%s: in the end it is %v", name, j.rec.End)
		}
	}
}

// What was collected of an epoch that is over, or twice, changes nothing.
func TestOutputOfBefore(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		state grid.State
		epoch grid.Epoch
		ends  bool
	}{
		"its own":          {grid.Finished, grid.Epoch{Term: 1}, true},
		"of another epoch": {grid.Finished, grid.Epoch{Term: 1, Hop: 1}, false},
		"of a new run":     {grid.Running, grid.Epoch{Term: 1}, false},
	} {
		r := runningHere(func(r *grid.Record) { r.State, r.End = k.state, grid.Completed })
		c := signed(r)
		j := c.job(r.Job.ID)
		j.reading = true
		c.Step(c.now+1, Collected{Job: r.Job.ID, Epoch: k.epoch, Outputs: grid.Manifest{{Path: "out"}}})
		if j = c.job(r.Job.ID); j.rec.State.Terminal() != k.ends || (len(j.rec.Outputs) > 0) != k.ends || !k.ends && j.reading {
			t.Errorf("%s: it is %v with %v", name, j.rec.State, j.rec.Outputs)
		}
	}
	j := jobOf(me, "a", "1")
	at := grid.Epoch{Term: 1, Hop: 2}
	for name, k := range map[string]struct {
		state grid.State
		epoch grid.Epoch
		ends  bool
	}{
		"its own":          {grid.StageOut, at, true},
		"of another epoch": {grid.StageOut, grid.Epoch{Term: 1, Hop: 1}, false},
		"of a new run":     {grid.Running, at, false},
	} {
		r := grid.Record{Job: j, State: k.state, Run: grid.Run{Started: 5, Outputs: grid.Manifest{{Path: "out", Size: 1}}}, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at}}
		if k.state == grid.StageOut {
			r.End = grid.Completed
		}
		c := signed(r)
		c.Step(c.now+1, Fetched{Job: j.ID, Epoch: k.epoch, From: c.jobs[j.ID].rec.Owner, Set: OutputFiles})
		if got := c.job(j.ID).rec.State; got.Terminal() != k.ends {
			t.Errorf("fetched, %s: it is %v", name, got)
		}
	}
}

// Output that can never be fetched is given up after some tries, and the job ends without it; what may mend is tried on.
func TestOutputThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	for _, final := range []bool{true, false} {
		j := jobOf(me, "a", "1")
		at := grid.Epoch{Term: 1, Hop: 2}
		c := signed(grid.Record{
			Job: j, State: grid.StageOut, Run: grid.Run{End: grid.Completed, Started: 5, Outputs: grid.Manifest{{Path: "out", Size: 1}}},
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at},
		})
		for n := 1; n <= maxFinal; n++ {
			if c.job(j.ID).rec.State.Terminal() {
				t.Fatalf("final %t: given up after %d tries", final, n-1)
			}
			c.Step(c.now+1, Fetched{Job: j.ID, Epoch: at, From: c.jobs[j.ID].rec.Owner, Set: OutputFiles, Err: errors.New("it has none"), Final: final})
		}
		r := c.job(j.ID).rec
		if r.State.Terminal() != final || final && (r.State != grid.Completed || len(r.Outputs) > 0 || r.Reason != "its output could not be fetched: it has none") {
			t.Errorf("final %t: it is %v with %v: %q", final, r.State, r.Outputs, r.Reason)
		}
	}
}

// The owner of a job was put back, with its machine, to before the end that it has told, and would start it again: it has no output any
// more, and says so at each fetch. What it may tell of that moment late, and an owner that reads its output anew, are waited for.
func TestOutputThatIsGoneWithItsMachine(t *testing.T) {
	t.Parallel()
	at, j := grid.Epoch{Term: 1, Hop: 2}, jobOf(me, "a", "1")
	said := func(s grid.State, n uint64) Event {
		m := wire.Report{Job: j.ID, Epoch: at, Number: n, State: s}
		if s >= grid.Finished {
			m.End, m.Started = grid.Completed, wire.Ago{Span: 9, Known: true}
		}
		return Message{her, m}
	}
	for name, k := range map[string]struct {
		said    Event
		unended bool
		gone    bool
	}{
		"it would start it, and counts on": {said(grid.Ready, 12), true, true},
		"it would start it":                {said(grid.Ready, 5), true, true},
		"that was said before it ran":      {said(grid.Ready, 5), false, false},
		"its end is read anew":             {said(grid.Assigned, 5), true, false},
		"it does not know of that yet":     {Tick{}, true, false},
		"it has ended there once more":     {said(grid.StageOut, 9), true, false},
		"its journal has lost some of it":  {said(grid.Finished, 9), true, false},
	} {
		c := signed(grid.Record{
			Job: j, State: grid.StageOut, Run: grid.Run{End: grid.Completed, Started: 5, Outputs: grid.Manifest{{Path: "out", Size: 1}}},
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at, Report: 8},
		})
		c.Step(c.now+1, k.said)
		for range 2 * maxFinal {
			c.Step(c.now+1, Fetched{Job: j.ID, Epoch: at, From: c.jobs[j.ID].rec.Owner, Set: OutputFiles, Err: errors.New("not yet"), Unended: k.unended})
		}
		if r := c.job(j.ID).rec; r.State.Terminal() != k.gone || k.gone && (r.State != grid.Completed || len(r.Outputs) > 0 || r.Reason != "its output is gone: b was put back to before the end of the job") {
			t.Errorf("%s: it is %v with %v: %q", name, r.State, r.Outputs, r.Reason)
		}
	}
}

// An administrator says that nothing of a job runs which was never seen to start: it has a time of start all the same, as it has one of its
// end, and what is known of a start stays.
func TestADeadJobHasATimeOfStart(t *testing.T) {
	t.Parallel()
	for _, started := range []grid.Tick{0, 900_000} {
		r := runningHere(func(r *grid.Record) {
			if r.Started = started; started == 0 {
				r.State = grid.Assigned
			}
		})
		c := signed(r)
		c.Step(1_000_007, EndJob{Token: 1, Job: r.Job.ID, Dead: true, By: "root"})
		if j := c.job(r.Job.ID).rec; j.Finished != 1_000_007 || started == 0 && j.Started != 1_000_007 || started != 0 && j.Started != started {
			t.Errorf("started at %d: it has run from %d to %d", started, j.Started, j.Finished)
		}
	}
}

// A launch that fails again and again ends the job, with the last reason; what passes by itself does not count.
func TestALaunchThatAlwaysFails(t *testing.T) {
	t.Parallel()
	o := &others{}
	r := runningHere(func(r *grid.Record) {
		r.State, r.Started, r.Reason = grid.Assigned, 0, "submission failed: no such queue"
	})
	k := kernelOf(o, r)
	m := &execution{kernel: k, estimator: o, gates: o, home: o, ownership: o, recovery: o, search: o, terms: o}
	j := k.jobs[r.Job.ID]
	j.fails = maxFails - 1
	if m.launch(j, "again"); j.rec.Attempt != 2 {
		t.Fatalf("attempt %d", j.rec.Attempt)
	}
	j.fails = maxFails
	if m.launch(j, "again"); j.rec.Attempt != 2 || j.rec.End != grid.Failed || j.rec.Reason == "" {
		t.Errorf("attempt %d, it has ended %v: %q", j.rec.Attempt, j.rec.End, j.rec.Reason)
	}
	for kind, counts := range map[grid.RefusalKind]bool{grid.Temporary: false, grid.Permanent: true, 0: true} {
		c := signed(runningHere(func(r *grid.Record) { r.State, r.Started = grid.Assigned, 0 }))
		j := c.job(r.Job.ID)
		c.Step(c.now+1, Launched{ID: c.attempt(j), Err: errors.New("no"), Kind: kind})
		if (j.fails > 0) != counts {
			t.Errorf("kind %d: %d failures", kind, j.fails)
		}
	}
}

// A timer of the batch system that fires for a job which has gone on to another site asks nothing.
func TestABatchTimerOfBefore(t *testing.T) {
	t.Parallel()
	for role, asks := range map[grid.Role]bool{grid.Owning: true, grid.Tombstone: false} {
		o := &others{}
		r := runningHere(func(r *grid.Record) { r.Role = role })
		k := kernelOf(o, r)
		m := &execution{kernel: k, estimator: o, gates: o, home: o, ownership: o, recovery: o, search: o, terms: o}
		m.batchDue(k.jobs[r.Job.ID])
		if _, probes := only[Probe](k.out); probes != asks {
			t.Errorf("%s: asked %t", role, probes)
		}
	}
}

// A job of this home is not reported, nor one whose home has it all.
func TestWhatIsNotReported(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		home    grid.PeerID
		change  func(*grid.Record)
		reports bool
	}{
		"owned here":          {her, func(*grid.Record) {}, true},
		"of this home":        {me, func(*grid.Record) {}, false},
		"its home has it all": {her, func(r *grid.Record) { r.Closed = true }, false},
		"only offered":        {her, func(r *grid.Record) { r.Role = grid.Prepared }, false},
	} {
		r := runningHere(func(r *grid.Record) { r.Job.Home = k.home })
		k.change(&r)
		o := &others{}
		kernel := kernelOf(o, r)
		m := &home{kernel: kernel, budgets: o, estimator: o, execution: o, gates: o, ownership: o, recovery: o, search: o, terms: o}
		m.report(kernel.jobs[r.Job.ID])
		if s, said := only[Send](kernel.out); said != k.reports || said && s.Message.Kind() != wire.KindReport {
			t.Errorf("%s: reported %t", name, said)
		}
	}
}

// An owner that was put back to before the start of a job reports first that it waits, until it has looked. Of what may run once, its user is not told
// so, nor that it has begun a second time. What may run again may wait for that.
func TestAStartIsNotUnsaid(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 1}
	for _, again := range []bool{false, true} {
		j := jobOf(me, "a", "1")
		j.Rerunnable, j.Terms.Notify = again, nil
		c := signed(grid.Record{
			Job: j, State: grid.Running, Run: grid.Run{Attempt: 1, Started: 5}, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at, Report: 3},
		})
		said := func(n uint64, s grid.State) {
			m := wire.Report{Job: j.ID, Epoch: at, Number: n, State: s, Attempt: 1}
			if s == grid.Running {
				m.Started = wire.Ago{Span: c.now - 5, Known: true}
			}
			c.Step(c.now+1, Message{her, m})
		}
		for n, s := range []grid.State{grid.Ready, grid.Assigned} {
			said(uint64(10+n), s)
			if r := c.jobs[j.ID].rec; (r.State != grid.Running || r.Started != 5) != again {
				t.Errorf("may run again %t: told %s it is %s, begun at %d", again, s, r.State, r.Started)
			}
		}
		said(12, grid.Running)
		if r := c.jobs[j.ID].rec; r.State != grid.Running || r.Started == 0 || r.Report != 12 {
			t.Errorf("it runs, and is %+v", r)
		}
	}
}

// An administrator ends a job that waits to be submitted again, as its last attempt was withdrawn: nothing was left by that.
func TestAnAdministratorEndsAJobBetweenAttempts(t *testing.T) {
	t.Parallel()
	for home, name := range map[grid.PeerID]grid.SiteName{me: "a", her: "b"} {
		r := runningHere(func(r *grid.Record) {
			r.State, r.Started, r.Local = grid.Ready, 0, ""
			if r.Job = jobOf(home, name, "1"); home == her {
				r.Epoch.Hop = 1
			}
		})
		c := signed(r)
		effects := c.Step(1_000_007, EndJob{Token: 1, Job: r.Job.ID, Dead: true, By: "root"})
		if f, failed := only[Fail](effects); failed {
			t.Fatalf("home %s: this broker ends: %v", home, f.Err)
		}
		_, kills := only[Kill](effects)
		if j := c.job(r.Job.ID).rec; j.End != grid.Failed || !kills || j.State.Terminal() != (home == me) {
			t.Errorf("home %s: it is %v, ends %v, killed %t", home, j.State, j.End, kills)
		}
	}
}

// The output of a job is the only copy. That it cannot be fetched for a while, as after a break of the network, makes the first word that it is gone count no
// more than that word does: the site may just have been started anew.
func TestOutputAfterABreak(t *testing.T) {
	t.Parallel()
	at, j := grid.Epoch{Term: 1, Hop: 2}, jobOf(me, "a", "1")
	r := grid.Record{Job: j, State: grid.Running, Run: grid.Run{Started: 5}, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at, Report: 8}}
	c := signed(r)
	c.job(j.ID).fails = 2 * maxFinal // launches here, before it was given away
	c.Step(c.now+1, Message{her, wire.Report{
		Job: j.ID, Epoch: at, Number: 9, State: grid.StageOut, End: grid.Completed, Started: wire.Ago{Span: 9, Known: true}, Outputs: grid.Manifest{{Path: "out", Size: 1}},
	}})
	fetched := func(final bool) bool {
		c.Step(c.now+1, Fetched{Job: j.ID, Epoch: at, From: c.jobs[j.ID].rec.Owner, Set: OutputFiles, Err: errors.New("no"), Final: final})
		return c.job(j.ID).rec.State.Terminal()
	}
	for range 2 * maxFinal {
		if fetched(false) {
			t.Fatal("it ends without its output during the break")
		}
	}
	for n := 1; n <= maxFinal; n++ {
		if ends := fetched(true); ends != (n == maxFinal) {
			t.Fatalf("told %d times that it is gone, it ends: %t", n, ends)
		}
	}
}

// A fetch from a former owner, whose result was taken for that of the job until another's was adopted, ends nothing: what it brings is not
// the output of that end. The fetch from the owner goes on.
func TestAFetchFromAFormerOwnerEndsNothing(t *testing.T) {
	t.Parallel()
	at, j := grid.Epoch{Term: 1, Hop: 1}, jobOf(me, "a", "1")
	c := signed(grid.Record{
		Job: j, State: grid.StageOut, Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: at},
		Run: grid.Run{Attempt: 1, End: grid.Completed, Outputs: grid.Manifest{{Path: "out", Size: 1}}},
	})
	k := c.jobs[j.ID]
	k.pulling = true
	c.Step(c.now+1, Fetched{Job: j.ID, Epoch: at, From: her, Set: OutputFiles})
	if k.rec.State != grid.StageOut || !k.pulling {
		t.Errorf("it is %s, its output is fetched: %t", k.rec.State, k.pulling)
	}
	c.Step(c.now+1, Fetched{Job: j.ID, Epoch: at, From: him, Set: OutputFiles})
	if k.rec.State != grid.Completed {
		t.Errorf("it is %s", k.rec.State)
	}
}
