package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// The files of a job have come, and it has started elsewhere, in a branch of the journal that is lost. In this one they do not come in time: its user
// is not told that it has failed before all were asked.
func TestFilesThatALostBranchHad(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Inputs = grid.Manifest{{Path: "in", Size: 5}}
	c := signed(grid.Record{Job: j, State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	c.Step(c.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	if !c.recovery.recounting() {
		t.Fatal("no rollback is found")
	}
	late := func(span grid.Tick) grid.State {
		for end := c.now + span; c.now < end; {
			at, _ := c.Next()
			c.Step(at, Tick{})
		}
		return c.jobs[j.ID].rec.State
	}
	if s := late(2 * c.cfg.UploadLimit); s != grid.StageIn {
		t.Errorf("while others are asked it is %s", s)
	}
	for _, p := range []grid.PeerID{her, him, it} {
		c.Step(c.now+1, Message{p, wire.Recounted{}})
	}
	if s := late(2 * c.cfg.RetryMax); s != grid.Failed {
		t.Errorf("when all have answered it is %s", s)
	}
}

// The files of one job of a group do not come in time. Another, that would end with it, is in doubt: all wait, and end together.
func TestFilesOfAGroupOfWhichOneIsInDoubt(t *testing.T) {
	t.Parallel()
	c := signed()
	group := groupOf(2, "G", true)
	c.Step(c.now+1, group)
	one, other := c.jobs[group.Group.ID.Job(1)], c.jobs[group.Group.ID.Job(2)]
	other.rec.Uncertain, c.recovery.rolled = true, &rollback{waiting: map[grid.PeerID]bool{her: true}}
	past := func(span grid.Tick) {
		for end := c.now + span; c.now < end; {
			at, _ := c.Next()
			c.Step(at, Tick{})
		}
	}
	if past(2 * c.cfg.UploadLimit); one.rec.State.Terminal() || other.rec.State.Terminal() {
		t.Fatalf("while others are asked they are %s and %s", one.rec.State, other.rec.State)
	}
	other.rec.Uncertain, c.recovery.rolled = false, nil
	if past(2 * c.cfg.RetryMax); one.rec.State != grid.Failed || other.rec.State != grid.Failed {
		t.Errorf("when all have answered they are %s and %s", one.rec.State, other.rec.State)
	}
}

// So it is with the files of a sweep, whose jobs such a branch may have made.
func TestFilesOfASweepThatALostBranchHad(t *testing.T) {
	t.Parallel()
	c, e := sweeping(3)
	c.Step(c.now+1, e)
	g := c.groups.all[e.Group.ID]
	g.recovered, c.recovery.rolled = true, &rollback{waiting: map[grid.PeerID]bool{her: true}}
	for end := c.now + 2*c.cfg.UploadLimit; c.now < end; {
		at, _ := c.Next()
		c.Step(at, Tick{})
	}
	if !g.open() {
		t.Fatal("while others are asked its jobs are FAILED")
	}
	c.recovery.rolled = nil
	for end := c.now + grid.Minute; c.now < end; {
		at, _ := c.Next()
		c.Step(at, Tick{})
	}
	if g.open() || g.of(1).State != grid.Failed {
		t.Errorf("when all have answered it is open %t", g.open())
	}
}

// The same of the files of a job of a sweep, which cannot be laid down here.
func TestFilesThatCannotBeLaidDownAfterARollback(t *testing.T) {
	t.Parallel()
	c, e := sweeping(1)
	one := e.Group.ID.Job(1)
	c.Step(c.now+1, e)
	c.Step(c.now+1, Uploaded{Token: 2, Job: e.Group.ID.Template(), Inputs: e.Template.Inputs})
	j := c.jobs[one]
	cannot := func(times int) {
		for range times {
			c.Step(c.now+1, Furnished{Job: one, Err: errors.New("no such file"), Final: true})
		}
	}
	for name, hold := range map[string]struct{ close, open func() }{
		"others are asked": {
			func() { j.rec.Uncertain, c.recovery.rolled = true, &rollback{waiting: map[grid.PeerID]bool{her: true}} },
			func() { j.rec.Uncertain, c.recovery.rolled = false, nil },
		},
		"one may have got it from a site that was forgotten": {
			func() { c.recovery.awaitSuccessors(j, "") },
			func() { j.successors, j.raised = nil, 1 },
		},
	} {
		hold.close()
		if cannot(2 * maxFinal); j.rec.State != grid.StageIn || j.due[onUpload] == 0 {
			t.Fatalf("while %s it is %s, looked after at %d", name, j.rec.State, j.due[onUpload])
		}
		hold.open()
	}
	if cannot(1); j.rec.State != grid.Failed {
		t.Errorf("when all have answered it is %s", j.rec.State)
	}
}

// The same of what a job waits for, and can never come true.
func TestADependencyThatIsNeverMetAfterARollback(t *testing.T) {
	t.Parallel()
	c := signed()
	first := jobOf(me, "a", "1")
	c.handIn(t, first)
	c.handIn(t, withTerms("2", grid.Terms{After: []grid.Dependency{{Kind: grid.AfterOK, On: string(first.ID)}}}))
	j := c.jobs[jobOf(me, "a", "2").ID]
	j.rec.Uncertain, c.recovery.rolled = true, &rollback{waiting: map[grid.PeerID]bool{her: true}}
	c.execution.end(c.jobs[first.ID], grid.Failed, "it had no luck")
	for end := c.now + grid.Minute; c.now < end; {
		at, _ := c.Next()
		c.Step(at, Tick{})
	}
	if j.rec.State != grid.Ready {
		t.Fatalf("while others are asked it is %s", j.rec.State)
	}
	j.rec.Uncertain, c.recovery.rolled = false, nil
	c.home.runAgain(j, "at a new term, as who may have got it was not heard")
	for end := c.now + 2*c.cfg.RetryMax; c.now < end && j.rec.State == grid.Ready; {
		at, _ := c.Next()
		c.Step(at, Tick{})
	}
	if j.rec.State != grid.Failed {
		t.Errorf("when all have answered it is %s", j.rec.State)
	}
}

// The same of attempts that failed too often.
func TestTooManyAttemptsBeforeARollbackIsFound(t *testing.T) {
	t.Parallel()
	c := signed(runningHere(func(r *grid.Record) { r.State, r.Started, r.Local = grid.Assigned, 0, "" }))
	j := c.sorted()[0]
	j.fails, j.rec.Uncertain, c.recovery.rolled = maxFails, true, &rollback{waiting: map[grid.PeerID]bool{her: true}}
	if c.execution.launch(j, "again"); j.rec.End != 0 {
		t.Errorf("while others are asked it has ended %s", j.rec.End)
	}
}

// The owner of a run that its home has kept against another's claim says that he has given the job away since that run began: he was put back to before
// it. A run is never handed on, so nothing is left of it, and the job may not run twice.
func TestARunThatItsOwnerHasForgotten(t *testing.T) {
	t.Parallel()
	began, given := grid.Epoch{Term: 1, Hop: 5}, grid.Epoch{Term: 1, Hop: 7}
	for name, c := range map[string]struct {
		change func(r *grid.Record)
		from   grid.PeerID
		last   grid.Certificate
		state  grid.State
	}{
		"given away since":             {nil, her, grid.Certificate{To: him, Epoch: given}, grid.Lost},
		"given away before it began":   {nil, her, grid.Certificate{To: him, Epoch: grid.Epoch{Term: 1, Hop: 4}}, grid.Running},
		"another says that":            {nil, him, grid.Certificate{To: him, Epoch: given}, grid.Running},
		"it came to him":               {nil, her, grid.Certificate{To: her, Epoch: given}, grid.Running},
		"no other claimed it":          {func(r *grid.Record) { r.Adopted = grid.Epoch{} }, her, grid.Certificate{To: him, Epoch: given}, grid.Running},
		"it may run a second time":     {func(r *grid.Record) { r.Job.Rerunnable = true }, her, grid.Certificate{To: him, Epoch: given}, grid.Running},
		"its home has it back already": {func(r *grid.Record) { r.Role, r.Owner, r.State = grid.Owning, me, grid.Ready }, her, grid.Certificate{To: him, Epoch: given}, grid.Ready},
	} {
		r := grid.Record{
			Job: jobOf(me, "a", "1"), State: grid.Running, Run: grid.Run{Attempt: 1, Started: 5},
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1000}},
		}
		r.Adopted = began
		if c.change != nil {
			c.change(&r)
		}
		core := signed(r)
		core.Step(core.now+1, Message{c.from, wire.Moved{Job: r.Job.ID, Certificates: []grid.Certificate{c.last}}})
		if s := core.jobs[r.Job.ID].rec.State; s != c.state {
			t.Errorf("%s: it is %s, not %s", name, s, c.state)
		}
	}
}

// While all are asked after a rollback, what the batch system holds of a job whose end was told is withdrawn at once; of others, and of one that was
// given up for lost, a lost branch may know more.
func TestStraysOfWhatHasEndedGoDuringARollback(t *testing.T) {
	t.Parallel()
	for state, goes := range map[grid.State]bool{grid.Completed: true, grid.Killed: true, grid.Lost: false, grid.Running: false} {
		r := grid.Record{Job: jobOf(me, "a", "1"), State: state, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 7}}}
		c := signed(r)
		c.recovery.rolled = &rollback{waiting: map[grid.PeerID]bool{her: true}}
		at := grid.AttemptID{Job: r.Job.ID, Epoch: grid.Epoch{Term: 1}, Attempt: 2}
		if w, is := only[Withdraw](c.Step(c.now+1, Attempts{[]grid.AttemptID{at}})); is != goes || is && w.ID != at {
			t.Errorf("%s: withdrawn %t", state, is)
		}
	}
}

// All who may have got a job were heard before an attempt of it was made, in a branch that is lost; that was withdrawn. Nobody is asked, or waited for, a second time.
func TestSuccessorsThatWereHeardBefore(t *testing.T) {
	t.Parallel()
	for attempt, waits := range map[uint32]bool{0: true, 2: false} {
		c := signed(grid.Record{
			Job: jobOf(me, "a", "1"), State: grid.Ready, Run: grid.Run{Attempt: attempt},
			Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1000}}, AtHome: grid.AtHome{Trail: []grid.PeerID{her}},
		})
		j := c.sorted()[0]
		j.reconciled = true
		c.recovery.awaitSuccessors(j, her)
		if hold := c.gates.beforeStart(j); (hold == untilReported) != waits {
			t.Errorf("attempt %d: %v", attempt, hold)
		}
	}
}

// The files of a job had come in a part of the journal that is lost: its control directory, or its owner, tells of it. Its group waits for
// them no more.
func TestFilesThatHadComeBeforeARollback(t *testing.T) {
	t.Parallel()
	for name, found := range map[string]func(*Core, *job){
		"by its control directory": func(c *Core, j *job) {
			c.recovery.behind(j, grid.AttemptID{Job: j.rec.Job.ID, Epoch: j.rec.Epoch, Attempt: 1})
		},
		"by its owner": func(c *Core, j *job) {
			at := j.rec.Epoch
			at.Hop++
			k := grid.Certificate{Epoch: at, To: her, Signature: signature(me, wire.CertificateText(j.rec.Job.ID, j.sum(), at, her))}
			c.Step(c.now+1, Message{her, wire.Report{Job: j.rec.Job.ID, Epoch: at, Number: 1, State: grid.Assigned, Version: j.sum(), Certificates: []grid.Certificate{k}}})
		},
	} {
		c := signed()
		group := groupOf(2, "G", true)
		c.Step(c.now+1, group)
		id := group.Group.ID
		if r := c.jobs[id.Job(2)].rec; r.State != grid.Submitted {
			t.Fatalf("the other is %s", r.State)
		}
		found(c, c.jobs[id.Job(1)])
		one, other := c.jobs[id.Job(1)].rec, c.jobs[id.Job(2)].rec
		if one.State != grid.Assigned || other.State == grid.Submitted || len(c.groups.all[id].rec.Coming) > 0 {
			t.Errorf("%s: they are %s and %s, coming are %v", name, one.State, other.State, c.groups.all[id].rec.Coming)
		}
	}
}
