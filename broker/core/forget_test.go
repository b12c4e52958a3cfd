package core

import (
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// watching is the record of a job of this home that another site owns.
func watching(owner grid.PeerID, change func(*grid.Record)) grid.Record {
	r := grid.Record{Job: jobOf(me, "a", "1"), State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: owner, Epoch: grid.Epoch{Term: 1, Hop: 2}, Report: 3}}
	if change != nil {
		change(&r)
	}
	return r
}

func TestFates(t *testing.T) {
	t.Parallel()
	rerunnable := func(r *grid.Record) { r.Job.Rerunnable = true }
	for _, k := range []struct {
		name          string
		record        grid.Record
		plain, fenced Verdict
	}{
		{"waits", watching(her, nil), GiveUp, RunAgain},
		{"waits, rerunnable", watching(her, rerunnable), RunAgain, RunAgain},
		{"runs", watching(her, func(r *grid.Record) { r.State, r.Started = grid.Running, 5 }), GiveUp, RunAgain},
		{"runs, rerunnable", watching(her, func(r *grid.Record) { r.State, r.Started = grid.Running, 5; rerunnable(r) }), RunAgain, RunAgain},
		{"has ended", watching(her, func(r *grid.Record) {
			r.State, r.End, r.Outputs = grid.StageOut, grid.Completed, grid.Manifest{{Path: "out"}}
		}), GiveUp, GiveUp},
		{"has ended, rerunnable", watching(her, func(r *grid.Record) {
			r.State, r.End, r.Outputs = grid.StageOut, grid.Completed, grid.Manifest{{Path: "out"}}
			rerunnable(r)
		}), RunAgain, RunAgain},
		{"cancelled", watching(her, func(r *grid.Record) { r.CancelRequested = true }), GiveUp, EndKilled},
		{"overdue", watching(her, func(r *grid.Record) { r.CancelRequested, r.Overdue = true, true }), GiveUp, EndKilled},
		{"cancelled, rerunnable", watching(her, func(r *grid.Record) { r.CancelRequested = true; rerunnable(r) }), GiveUp, EndKilled},
		{"committed, not yet owned", watching(her, func(r *grid.Record) {
			r.State, r.Handoff = grid.Moving, grid.Handoff{Phase: grid.Committed, To: her, Epoch: r.Epoch}
		}), GiveUp, RunAgain},
		{"elsewhere", watching(him, nil), 0, 0},
		{"ended for good", watching(her, func(r *grid.Record) { r.State, r.End = grid.Completed, grid.Completed }), 0, 0},
		{"of that home, here", grid.Record{Job: jobOf(her, "b", "1"), State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me}, Run: grid.Run{Attempt: 1}}, GoOn, GoOn},
		{"offered here by it", grid.Record{Job: jobOf(him, "c", "1"), State: grid.Moving, Tenure: grid.Tenure{Role: grid.Prepared, Owner: her, Handoff: grid.Handoff{To: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}}}, Decline, Decline},
		{"of this home, here", grid.Record{Job: jobOf(me, "a", "1"), State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me}, Run: grid.Run{Attempt: 1}}, 0, 0},
	} {
		for fenced, want := range map[bool]Verdict{false: k.plain, true: k.fenced} {
			dry, _ := only[Answer](bare(k.record).Step(1_000_001, Forget{Token: 1, Site: her, Fenced: fenced, DryRun: true, By: "root"}))
			c := bare(k.record)
			effects := c.Step(1_000_001, Forget{Token: 1, Site: her, Fenced: fenced, By: "root"})
			a, _ := only[Answer](effects)
			got := Verdict(0)
			if len(a.Fates) > 0 {
				got = a.Fates[0].Verdict
			}
			if got != want || len(dry.Fates) != len(a.Fates) {
				t.Errorf("%s, fenced %t: %s (dry run %v), want %s", k.name, fenced, got, dry.Fates, want)
			}
			checkFate(t, k.name, c, k.record, want)
			if seen := k.name == "runs"; want == GiveUp && seen != strings.Contains(a.Fates[0].Why, "has started there") {
				t.Errorf("%s is given up as %q", k.name, a.Fates[0].Why)
			}
		}
	}
}

// checkFate compares what became of the record with the verdict.
func checkFate(t *testing.T, name string, c *Core, before grid.Record, v Verdict) {
	t.Helper()
	r := c.jobs[before.Job.ID].rec
	ok := true
	switch v {
	case 0:
		ok = r.State == before.State && r.Epoch == before.Epoch
	case RunAgain, EndKilled: // when others were heard
		ok = r.CancelRequested == (v == EndKilled) && r.Role == grid.Owning && r.Owner == me && r.Epoch == grid.Epoch{Term: 2} && r.State == grid.Ready &&
			r.Handoff.Phase == grid.NoHandoff && r.End == 0 && r.Started == 0 && r.Report == 0 && len(r.Trail) == 1 && r.Trail[0] == her
	case GiveUp:
		ok = r.State == grid.Lost && r.Epoch == before.Epoch && r.Handoff.Phase == grid.NoHandoff && r.Reason != ""
	case Decline:
		ok = r.Role == grid.Declined
	case GoOn:
		ok = r.HomeForgotten && r.State == before.State
	}
	if !ok {
		t.Errorf("%s, %s: %+v", name, v, r)
	}
}

// Loss of contact alone decides nothing; only where it is configured, and for jobs
// that may run twice.
func TestSilenceAloneDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		after      grid.Tick
		rerunnable bool
		again      bool
	}{{0, true, false}, {grid.Hour, true, true}, {grid.Hour, false, false}} {
		r := watching(her, func(r *grid.Record) { r.Job.Rerunnable = k.rerunnable })
		c := New(Config{Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 1}, AutoForget: k.after}, []grid.Member{{Name: "b", Peer: her}}, []grid.Record{r})
		c.Step(1_000_000, Boot{})
		for now := grid.Tick(1_000_000); now < 1_000_000+50*grid.Minute; {
			now, _ = c.Next()
			c.Step(now, Tick{})
		}
		if got := c.jobs[r.Job.ID].rec; got.Epoch != r.Epoch || got.ContactLost == 0 {
			t.Errorf("after 50 minutes: epoch %s, contact lost %d", got.Epoch, got.ContactLost)
		}
		for now := grid.Tick(1_000_000); now < 1_000_000+2*grid.Hour; {
			now, _ = c.Next()
			c.Step(now, Tick{})
		}
		if got := c.jobs[r.Job.ID].rec.Epoch.Term == 2; got != k.again {
			t.Errorf("forget after %d, rerunnable %t: started again %t", k.after, k.rerunnable, got)
		}
	}
}

// A candidate that has lost its journal after the commit: the job is shown as out of
// reach, and is not taken back.
func TestUnknownIsShownAndNotDecided(t *testing.T) {
	t.Parallel()
	r := watching(her, func(r *grid.Record) {
		r.State, r.Job.Rerunnable = grid.Moving, true
		r.Handoff = grid.Handoff{Phase: grid.Committed, To: her, Epoch: r.Epoch}
	})
	c := bare(r)
	handoff := wire.HandoffID{Job: r.Job.ID, Epoch: r.Epoch, To: her, Digest: wire.JobDigest(r.Job)}
	c.Step(1_000_001, Message{him, wire.Unknown{Handoff: handoff}})
	if got := c.jobs[r.Job.ID].rec; got.Handoff.Phase != grid.Committed {
		t.Error("a stranger's word was taken")
	}
	c.Step(1_000_001, Message{her, wire.Unknown{Handoff: handoff}})
	got := c.jobs[r.Job.ID].rec
	if got.State.Terminal() || got.ContactLost == 0 || got.Reason == "" || got.Role != grid.Watching || got.Handoff.Phase != grid.NoHandoff {
		t.Errorf("%+v", got)
	}
	c.Step(1_000_002, Forget{Site: her})
	if got := c.jobs[r.Job.ID].rec; got.Epoch.Term != 2 {
		t.Errorf("forgotten: epoch %s", got.Epoch)
	}
}

// The word that a candidate will never own counts only from the journal that was
// ready: one that was lost or put back has forgotten whether it owned.
func TestDeclinedCountsOnlyFromTheSameJournal(t *testing.T) {
	t.Parallel()
	ready := grid.JournalID{Incarnation: 4, Sequence: 10}
	for _, k := range []struct {
		journal grid.JournalID
		back    bool
	}{
		{grid.JournalID{Incarnation: 4, Sequence: 12}, true},
		{grid.JournalID{Incarnation: 4, Sequence: 9}, false},
		{grid.JournalID{Incarnation: 5, Sequence: 12}, false},
	} {
		j := jobOf(me, "a", "1")
		c := bare(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		c.ownership.makeOffer(c.jobs[j.ID], her, 0, 0)
		handoff := wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, To: her, Digest: wire.JobDigest(j)}
		c.Step(1_100_001, Message{her, wire.Ready{Handoff: handoff, Journal: ready}})
		c.Step(1_100_002, Message{her, wire.Declined{Handoff: handoff, Journal: k.journal}})
		if got := c.jobs[j.ID].rec.Role == grid.Owning; got != k.back {
			t.Errorf("%+v: taken back %t", k.journal, got)
		}
	}
}

// A PREPARED candidate of an owner that is gone asks the home, and goes by its word.
func TestTheHomeMayEndAnOfferOfALostOwner(t *testing.T) {
	t.Parallel()
	j := jobOf(him, "c", "1")
	c := bare(grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Prepared, Owner: her, Handoff: grid.Handoff{To: me, Epoch: grid.Epoch{Term: 1, Hop: 3}}}})
	handoff := wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 3}, To: me, Digest: wire.JobDigest(j)}
	c.Step(1_000_001, Message{him, wire.InquireReply{Handoff: handoff, Verdict: wire.VerdictUnknown}})
	if c.jobs[j.ID] == nil {
		t.Fatal("dropped, and the home did not know")
	}
	c.Step(1_000_002, Message{him, wire.InquireReply{Handoff: handoff, Verdict: wire.VerdictAborted}})
	if c.jobs[j.ID] != nil {
		t.Error("still prepared, and the home has raised the term")
	}
}

// What the home of a job has given to another is ended here: what waits never starts.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	of, by := grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{Term: 2}
	record := func(s grid.State) grid.Record {
		return grid.Record{Job: jobOf(her, "b", "1"), State: s, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: of, Report: 2}, Run: grid.Run{Attempt: 1, Local: "l"}}
	}
	word := func(epoch grid.Epoch) Message {
		return Message{her, wire.Superseded{Job: record(0).Job.ID, Of: of, Epoch: epoch}}
	}
	at := grid.AttemptID{Job: record(0).Job.ID, Epoch: of, Attempt: 1}

	c := bare(record(grid.Assigned))
	if w, ok := only[Withdraw](c.Step(1_000_001, word(by))); !ok || w.ID != at {
		t.Error("what waits is not withdrawn")
	}
	again := bare(c.jobs[at.Job].rec) // restarted meanwhile
	if _, ok := only[Withdraw](again.Step(1_000_002, word(by))); ok {
		t.Error("asked for twice at once: the first is under way")
	}
	c.Step(1_000_002, Withdrawn{ID: at, Done: true})
	if r := c.jobs[at.Job].rec; r.Role != grid.Tombstone {
		t.Errorf("withdrawn: %s %s", r.Role, r.State)
	}

	rerunnable := record(grid.Running)
	rerunnable.Job.Rerunnable = true // of what may run once the home is told the end
	c = bare(rerunnable)
	if _, ok := only[Kill](c.Step(1_000_001, word(by))); !ok {
		t.Error("what runs goes on")
	}
	effects := c.Step(1_000_002, Progressed{Progress: grid.Progress{ID: at, Phase: grid.Ended, Cause: grid.ByRequest}})
	if r := c.jobs[at.Job].rec; r.Role != grid.Tombstone {
		t.Errorf("killed for that: %s %s", r.Role, r.State)
	}
	if _, told := only[Collect](effects); told {
		t.Error("what was cut off is no result")
	}

	c = bare(record(grid.Running)) // given up for lost: nobody else has it
	if _, ok := only[Kill](c.Step(1_000_001, word(of))); ok {
		t.Error("killed, and nobody else has it")
	}

	for _, strange := range []wire.Superseded{{Job: at.Job, Of: grid.Epoch{Term: 1}, Epoch: by}, {Job: at.Job, Of: of, Epoch: grid.Epoch{Term: 1}}} {
		c = bare(record(grid.Assigned))
		c.Step(1_000_001, Message{her, strange})
		if c.jobs[at.Job].isSuperseded() {
			t.Errorf("believed: %+v", strange)
		}
	}
	c = bare(record(grid.Assigned))
	c.Step(1_000_001, Message{him, word(by).Message})
	if c.jobs[at.Job].isSuperseded() {
		t.Error("believed a site that is not the home")
	}
}

// A site that was away asks the homes before it gives anything to its batch system.
func TestAnAttemptWaitsForTheHome(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	r := grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 2}, Run: grid.Run{Attempt: 1}}
	at := grid.AttemptID{Job: j.ID, Epoch: r.Epoch, Attempt: 1}
	c := signed(r)
	if l, ok := only[Launch](c.Step(1_000_001, Withdrawn{ID: at, Done: true})); ok {
		t.Fatalf("launched %v", l.Submission.ID)
	}
	if got := c.jobs[j.ID].rec; got.State != grid.Ready || got.Reason == "" {
		t.Errorf("%s: %s", got.State, got.Reason)
	}
	launched := func(c *Core) bool {
		for n := 0; n < 20; n++ {
			at, _ := c.Next()
			if _, ok := only[Launch](c.Step(at, Tick{})); ok {
				return true
			}
		}
		return false
	}
	if launched(c) {
		t.Error("launched, and its home was not heard")
	}
	now, _ := c.Next()
	if _, ok := only[Launch](c.Step(now, Message{her, wire.ReportAck{Job: j.ID, Epoch: r.Epoch, Number: c.jobs[j.ID].rec.Report}})); !ok {
		t.Error("its home was heard, and it is not launched")
	}

	c = signed(r)
	c.Step(1_000_001, Forget{Site: her})
	if c.gates.beforeStart(c.jobs[j.ID]) == open {
		t.Error("its home is forgotten, and lives: it is not asked")
	}
	c.Step(1_000_001, PeerChanged{her, grid.Dead})
	if _, ok := only[Launch](c.Step(1_000_002, Withdrawn{ID: at, Done: true})); !ok {
		t.Error("its home is forgotten, and it waits for it")
	}
}

// The home's word that a job is superseded answers an older report, and it has adopted since what has started here: it
// acknowledges what was reported after that word. The end is told as ever, where the job may run once.
func TestSupersededAndAdopted(t *testing.T) {
	t.Parallel()
	of, by := grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{Term: 2}
	for name, k := range map[string]struct {
		state      grid.State
		epoch      grid.Epoch
		rerunnable bool
		late       uint64 // how much older the report is that is acknowledged
		adopted    bool
	}{
		"it runs":                    {state: grid.Running, epoch: by, adopted: true},
		"an older report":            {state: grid.Running, epoch: by, late: 1},
		"it waits":                   {state: grid.Assigned, epoch: by},
		"it may run again":           {state: grid.Running, epoch: by, rerunnable: true},
		"it was given up, not moved": {state: grid.Running, epoch: of},
	} {
		j := jobOf(her, "b", "1")
		j.Rerunnable = k.rerunnable
		c := bare(grid.Record{Job: j, State: k.state, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: of, Report: 2}, Run: grid.Run{Attempt: 1, Local: "l"}})
		c.Step(1_000_001, Message{her, wire.Superseded{Job: j.ID, Of: of, Epoch: k.epoch}})
		c.Step(1_000_002, Message{her, wire.ReportAck{Job: j.ID, Epoch: of, Number: c.jobs[j.ID].rec.Report - k.late}})
		if is := c.jobs[j.ID].isSuperseded(); is == k.adopted {
			t.Errorf("%s: superseded %t", name, is)
			continue
		}
		at := grid.AttemptID{Job: j.ID, Epoch: of, Attempt: 1}
		c.Step(1_000_003, Progressed{Progress: grid.Progress{ID: at, Phase: grid.Ended, Cause: grid.Disappeared}})
		if r := c.jobs[j.ID].rec; k.adopted && (r.Role != grid.Owning || r.End != grid.Failed) {
			t.Errorf("%s: at its end it is %s, %s", name, r.Role, r.End)
		}
	}
}

// The home's word answers a report of before the start, and comes when the end is being reported of what may run once: the home may have adopted
// it since, and would wait for one that knows nothing.
func TestSupersededWhileItsEndIsReported(t *testing.T) {
	t.Parallel()
	of, by := grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{Term: 2}
	for name, k := range map[string]struct {
		epoch      grid.Epoch
		rerunnable bool
		started    grid.Tick
		keep       bool
		reported   bool
	}{
		"it has started":             {epoch: by, started: 900_000, reported: true},
		"it has never started":       {epoch: by},
		"it may run again":           {epoch: by, started: 900_000, rerunnable: true},
		"it was given up, not moved": {epoch: of, started: 900_000},
		"another keeps the job":      {epoch: by, started: 900_000, keep: true},
		"given up before its start":  {epoch: of, reported: true},
	} {
		j := jobOf(her, "b", "1")
		j.Rerunnable = k.rerunnable
		run := grid.Run{Attempt: 1, Local: "l", Started: k.started, End: grid.Failed}
		c := bare(grid.Record{Job: j, State: grid.StageOut, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: of, Report: 5}, Run: run})
		c.Step(1_000_001, Message{her, wire.Superseded{Job: j.ID, Of: of, Epoch: k.epoch, Keep: k.keep}})
		if r := c.jobs[j.ID].rec; (r.Role == grid.Owning) != k.reported {
			t.Errorf("%s: it is %s, %s", name, r.Role, r.End)
			continue
		}
		if !k.reported {
			continue
		}
		c.Step(1_000_002, Message{her, wire.ReportAck{Job: j.ID, Epoch: of, Number: c.jobs[j.ID].rec.Report}})
		if c.jobs[j.ID].isSuperseded() && k.epoch != of {
			t.Errorf("%s: the home has taken its end, and it is superseded still", name)
		}
	}
}

// What may run once has started, and its end is seen before its home has said anything of that start: the home, which may have
// adopted it, is told the end and says what becomes of it. All else that is superseded is let go.
func TestSupersededAndEnded(t *testing.T) {
	t.Parallel()
	of, by := grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{Term: 2}
	for name, k := range map[string]struct {
		epoch      grid.Epoch
		rerunnable bool
		cause      grid.Cause
		told       bool
	}{
		"it has started":             {epoch: by, cause: grid.Alone, told: true},
		"it has never started":       {epoch: by, cause: grid.NeverRan},
		"it may run again":           {epoch: by, cause: grid.Alone, rerunnable: true},
		"it was given up, not moved": {epoch: of, cause: grid.Alone},
	} {
		j := jobOf(her, "b", "1")
		j.Rerunnable = k.rerunnable
		c := bare(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: of, Report: 2}, Run: grid.Run{Attempt: 1, Local: "l"}})
		c.Step(1_000_001, Message{her, wire.Superseded{Job: j.ID, Of: of, Epoch: k.epoch}})
		at := grid.AttemptID{Job: j.ID, Epoch: of, Attempt: 1}
		c.Step(1_000_002, Progressed{Progress: grid.Progress{ID: at, Phase: grid.Ended, Cause: k.cause}})
		if r := c.jobs[j.ID].rec; (r.Role == grid.Owning && r.End == grid.Failed) != k.told {
			t.Errorf("%s: at its end it is %s, %s", name, r.Role, r.End)
		}
	}
}
