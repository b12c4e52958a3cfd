package core

import (
	"maps"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// tells lists what is written beside the journal.
func tells(effects []Effect) (list []grid.Record) {
	for _, e := range effects {
		if t, is := e.(KeepTold); is {
			list = append(list, t.Record)
		}
	}
	return list
}

// What users are told of an end, or of their wish for one, is written beside the journal, once,
// for jobs of this home alone.
func TestWhatUsersAreToldIsWrittenBeside(t *testing.T) {
	t.Parallel()
	mine, hers := jobOf(me, "a", "1"), jobOf(her, "b", "2")
	at := grid.Epoch{Term: 1, Hop: 1}
	c := signed(
		grid.Record{Job: mine, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at, Report: 2}},
		grid.Record{Job: hers, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at}})
	got := tells(c.Step(1_000_001, CancelRequest{Token: 1, Job: mine.ID, By: "alice"}))
	if len(got) != 1 || !got[0].CancelRequested || got[0].State.Terminal() || got[0].Job.ID != mine.ID || got[0].Job.Program.Executable != "" {
		t.Errorf("of a cancel %+v", got)
	}
	if got := tells(c.Step(1_000_002, CancelRequest{Token: 2, Job: mine.ID, By: "alice"})); len(got) != 0 {
		t.Errorf("said again %+v", got)
	}
	got = tells(c.Step(1_000_003, Message{her, wire.Report{Job: mine.ID, Epoch: at, Number: 3, State: grid.StageOut, End: grid.Killed, Started: wire.Ago{Span: 9, Known: true}}}))
	if len(got) != 1 || got[0].State != grid.Killed {
		t.Errorf("of the end %+v", got)
	}
	got = tells(c.Step(1_000_004, RemoveRequest{Token: 3, Job: mine.ID}))
	if len(got) != 1 || !got[0].Removed {
		t.Errorf("of the removal %+v", got)
	}
	if got := tells(c.Step(1_000_005, Message{her, wire.Cancel{Job: hers.ID, Epoch: at}})); len(got) != 0 {
		t.Errorf("of a job of another home %+v", got)
	}
}

// A journal that was put back learns at its start what users were told, of the jobs that it knows.
func TestWhatWasToldIsRecalled(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	before := grid.Record{Job: j, Key: "k", State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}
	there := before
	there.Role, there.Owner, there.State = grid.Watching, her, grid.Running
	cancelled := before
	cancelled.CancelRequested = true
	lost := there
	lost.State, lost.End = grid.Lost, grid.Lost
	other := there // of a branch whose machine was put back with these words, and told another end since
	other.State, other.End = grid.Completed, grid.Completed
	told := func(s grid.State, cancel, removed bool) grid.Record {
		return grid.Record{
			Job:             grid.Job{ID: j.ID},
			State:           s,
			Ended:           5,
			CancelRequested: cancel,
			Tenure:          grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 7}},
			Run:             grid.Run{End: s, ExitCode: 3},
			AtHome:          grid.AtHome{Removed: removed, Trail: []grid.PeerID{him}},
		}
	}
	for name, k := range map[string]struct {
		record, told grid.Record
		state        grid.State
		cancel       bool
		removed      bool
		closed       []grid.PeerID // who is told of the end
	}{
		"the end":                {before, told(grid.Completed, false, false), grid.Completed, false, false, []grid.PeerID{him}},
		"of one to be cancelled": {cancelled, told(grid.Killed, true, false), grid.Killed, true, false, []grid.PeerID{him}},
		"of one elsewhere":       {there, told(grid.Killed, true, false), grid.Killed, true, false, []grid.PeerID{him, her}},
		"gained after LOST":      {lost, told(grid.Completed, false, false), grid.Completed, false, false, []grid.PeerID{him, her}},
		"LOST, known as that":    {lost, told(grid.Lost, false, false), grid.Lost, false, false, nil},
		"another end":            {other, told(grid.Killed, true, false), grid.Killed, true, false, []grid.PeerID{him, her}},
		"another exit code":      {other, told(grid.Completed, false, false), grid.Completed, false, false, []grid.PeerID{him, her}},
		"no LOST after an end":   {other, told(grid.Lost, false, false), grid.Completed, false, false, nil},
		"removed":                {before, told(grid.Completed, false, true), grid.Completed, false, true, []grid.PeerID{him}},
		"a wish":                 {before, told(grid.Ready, true, false), grid.Ready, true, false, nil},
		"a wish of another's":    {before, grid.Record{Job: grid.Job{ID: "a.2"}, CancelRequested: true}, grid.Ready, false, false, nil},
	} {
		cfg := signer(me, "a")
		cfg.Told = []grid.Record{k.told}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him}}, []grid.Record{k.record})
		effects := c.Step(1_000_000, Boot{})
		for _, w := range tells(effects) {
			if w.Job.ID == j.ID && k.told.State.Terminal() && !w.State.Terminal() {
				t.Errorf("%s: the end is written over by %s", name, w.State)
			}
		}
		r := c.jobs[j.ID].rec
		if r.State != k.state || r.CancelRequested != k.cancel || r.Removed != k.removed || r.Key != "k" || r.Job.Home != me {
			t.Errorf("%s: %s, cancel %t, removed %t", name, r.State, r.CancelRequested, r.Removed)
		}
		if r.State.Terminal() && r.State == k.told.State && r.State != grid.Lost && r.ExitCode != 3 {
			t.Errorf("%s: exit code %d", name, r.ExitCode)
		}
		closed := map[grid.PeerID]bool{}
		for _, e := range effects {
			switch e := e.(type) {
			case Send:
				closed[e.To] = closed[e.To] || e.Message.Kind() == wire.KindClosed
			case Launch:
				t.Errorf("%s: it is started", name)
			}
		}
		for _, p := range k.closed {
			if !closed[p] {
				t.Errorf("%s: %s is not told that it has ended", name, p)
			}
		}
	}
}

// A journal that was made anew hears of a job from one that was to get it: its user was told the end.
func TestAnEndThatANewJournalWasNotTold(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	cfg := signer(me, "a")
	cfg.Journal, cfg.Lives = in(1, 0), []grid.Life{{Number: 1}}
	cfg.Witness.Position = grid.JournalID{Incarnation: 4, Life: 9, Sequence: 90}
	cfg.Told = []grid.Record{{Job: grid.Job{ID: j.ID}, State: grid.Completed, Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 7}}, Run: grid.Run{End: grid.Completed}}}
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, nil)
	begin(c)
	c.Step(1_000_001, Message{her, wire.Recalled{Job: j, Epoch: grid.Epoch{Term: 1, Hop: 3}}})
	if k := c.jobs[j.ID]; k == nil || k.rec.State != grid.Completed {
		t.Errorf("learnt as %+v", k)
	}
}

// A branch that is lost had made a job of a sweep, and its user was told the end: made again it has that end from the
// first word that readers see of it.
func TestASweptJobThatHasEndedIsMadeWithItsEnd(t *testing.T) {
	t.Parallel()
	group := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	like := jobOf(me, "a", "1")
	cfg := signer(me, "a")
	cfg.Journal, cfg.Lives = in(1, 0), []grid.Life{{Number: 1}}
	cfg.Groups = []grid.Group{{ID: group, User: like.User, Jobs: 2, Submitted: 5, Template: grid.Hash{1}}}
	cfg.Templates = []grid.Template{{Group: group, Document: "sweep"}}
	cfg.Window = 2
	cfg.Expand = func(grid.Template) (Expansion, error) { return func(int) (grid.Job, error) { return like, nil }, nil }
	cfg.Told = []grid.Record{{
		Job: grid.Job{ID: group.Job(1)}, State: grid.Completed, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
		Run: grid.Run{Attempt: 1, End: grid.Completed, ExitCode: 3, HasExit: true},
	}}
	c := New(cfg, nil, nil)
	effects := c.Step(1_000_000, Boot{})
	effects = append(effects, c.Step(1_000_000, Reconciled{All: true})...)
	for now := grid.Tick(1_001_000); now < 1_100_000; now += grid.Second {
		effects = append(effects, c.Step(now, Tick{})...)
	}
	shown := 0
	for _, e := range effects {
		save, is := e.(Save)
		if _, r, of := save.Change.Job(); is && of && r != nil && r.Job.ID == group.Job(1) {
			if shown++; r.State != grid.Completed || r.ExitCode != 3 {
				t.Errorf("readers see it %v, exit code %d", r.State, r.ExitCode)
			}
		}
	}
	if shown == 0 || c.jobs[group.Job(2)] == nil {
		t.Errorf("it was saved %d times; the other job: %+v", shown, c.jobs[group.Job(2)])
	}
}

// A clock that was set back leaves instants in the records that are still to come: what ended shortly
// before the start is discarded all the same.
func TestTheLastEndsAreKnownAfterAClockWasSetBack(t *testing.T) {
	t.Parallel()
	at := func(n string, ended grid.Tick) grid.Record {
		return grid.Record{Job: jobOf(me, "a", n), State: grid.Completed, Ended: ended, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{End: grid.Completed}}
	}
	c := New(signer(me, "a"), nil, []grid.Record{at("1", 999_000), at("2", 1_000_000-2*justEnded), at("3", 1_000_000+grid.Hour)})
	c.Step(1_000_000, Boot{})
	effects := c.Step(1_000_000, Reconciled{All: true})
	discards := 0
	for _, e := range effects {
		if _, is := e.(Discard); is {
			discards++
		}
	}
	if discards != 2 {
		t.Errorf("what %d jobs left is discarded", discards)
	}
}

// What may have been shown before a crash, and not been written beside, is written at the start: no clock tells which
// that is, as it may have been set back before, and more than one life may have ended since.
func TestTheLastEndsAreWrittenAgain(t *testing.T) {
	t.Parallel()
	at := func(n string, ended grid.Tick) grid.Record {
		return grid.Record{Job: jobOf(me, "a", n), State: grid.Completed, Ended: ended, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{End: grid.Completed}}
	}
	wish := grid.Record{Job: jobOf(me, "a", "4"), State: grid.Running, CancelRequested: true, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}
	journal := []grid.Record{at("1", 900_000), at("2", 900_000-2*justEnded), at("3", 1_000_000+grid.Hour), wish}
	cfg := signer(me, "a")
	u := NewUnwritten(me, 1_000_000)
	for i := range journal {
		u.Job(&journal[i])
	}
	for i, differs := range []bool{false, false, true} {
		word := []grid.LastWord{{Job: journal[0].Job.ID, State: grid.Completed}, {Job: "a.9", State: grid.Killed}, {Job: journal[2].Job.ID, State: grid.Running}}[i]
		if u.Heard(word) != differs {
			t.Errorf("%+v is another word: %t", word, !differs)
		}
	}
	cfg.Unwritten = u.Words()
	got := tells(New(cfg, nil, journal).Step(1_000_000, Boot{}))
	if len(got) != 3 || got[0].Job.ID != journal[1].Job.ID || got[1].Job.ID != journal[2].Job.ID || got[2].Job.ID != wish.Job.ID {
		t.Errorf("%d are written", len(got))
	}
}

// The file need not have ends of long ago, nor those of jobs of other homes; it is to have that a job was removed, and the
// cancel of a group that has ended.
func TestWhatTheFileBesideLacks(t *testing.T) {
	t.Parallel()
	const now = 1795000000000
	u := NewUnwritten(me, now)
	for _, r := range []grid.Record{
		{Job: jobOf(me, "a", "1"), State: grid.Killed, Ended: now - grid.ToldFor},
		{Job: jobOf(me, "a", "2"), State: grid.Killed, Ended: now - grid.ToldFor - 1},
		{Job: jobOf(me, "a", "3"), State: grid.Running},
		{Job: jobOf(me, "a", "6"), State: grid.Killed, Ended: now + 1000*grid.Day}, // the clock was ahead once
		{Job: jobOf(her, "b", "4"), State: grid.Killed, Ended: now},
		{Job: jobOf(me, "a", "5"), State: grid.Killed, Ended: now - grid.Hour, AtHome: grid.AtHome{Removed: true}},
	} {
		u.Job(&r)
	}
	cancelled := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	u.Group(&grid.Group{ID: cancelled, CancelRequested: true, Ended: now})
	u.Group(&grid.Group{ID: grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAW"), Ended: now})
	u.Group(&grid.Group{ID: grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAX"), CancelRequested: true})
	if !u.Heard(grid.LastWord{Job: jobOf(me, "a", "5").ID, State: grid.Killed}) {
		t.Error("that it was removed is no other word")
	}
	seven := grid.Record{Job: jobOf(me, "a", "7"), State: grid.Completed, Ended: now, Run: grid.Run{ExitCode: 1}}
	u.Job(&seven)
	if u.Heard(seven.Word()) || u.Words()[seven.Job.ID] {
		t.Error("what the file has is another word")
	}
	u.Job(&seven)
	if !u.Heard(grid.LastWord{Job: seven.Job.ID, State: grid.Completed, ExitCode: 2}) || !u.Heard(grid.LastWord{Job: seven.Job.ID, State: grid.Completed, ExitCode: 1, Signal: 9}) {
		t.Error("another exit code, or a signal, is no other word")
	}
	if u.Heard(seven.Word()) {
		t.Error("what the file has at last is another word")
	}
	want := map[grid.JobID]bool{jobOf(me, "a", "1").ID: true, jobOf(me, "a", "5").ID: true, jobOf(me, "a", "6").ID: true, cancelled.Template(): true}
	if got := u.Words(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if u.Heard(grid.LastWord{Job: cancelled.Template(), State: grid.Submitted}); u.Words()[cancelled.Template()] {
		t.Error("it was told")
	}
}

// A sweep was cancelled in a part of the journal that is lost: none of its jobs begins, and those that were never
// made have the end that their users were told.
func TestTheCancelOfASweepIsRecalled(t *testing.T) {
	t.Parallel()
	group := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	like := jobOf(me, "a", "1")
	sweep := func(told []grid.Record) *Core {
		cfg := signer(me, "a")
		cfg.Groups = []grid.Group{{ID: group, User: like.User, Jobs: 3, Submitted: 5, Template: grid.Hash{1}}}
		cfg.Templates = []grid.Template{{Group: group, Document: "sweep"}}
		cfg.Window = 1
		cfg.Expand = func(grid.Template) (Expansion, error) { return func(int) (grid.Job, error) { return like, nil }, nil }
		cfg.Told = told
		return New(cfg, nil, nil)
	}
	run := func(c *Core) (effects []Effect) {
		effects = append(c.Step(1_000_000, Boot{}), c.Step(1_000_000, Reconciled{All: true})...)
		for now := grid.Tick(1_001_000); now < 1_020_000; now += grid.Second {
			effects = append(effects, c.Step(now, Tick{})...)
		}
		return effects
	}
	c := sweep(nil)
	run(c)
	told := tells(c.Step(1_020_000, CancelRequest{Token: 1, Job: group.Job(3)}))
	told = append(told, tells(c.Step(1_020_001, CancelGroup{Token: 2, Group: group, By: "alice"}))...)
	if len(told) < 2 || told[0].Job.ID != group.Job(3) || told[0].State != grid.Killed || told[1].Job.ID != group.Template() || !told[1].CancelRequested {
		t.Fatalf("beside the journal are %d words", len(told))
	}
	if c = sweep(told[:1]); len(run(c)) == 0 || c.groups.all[group].of(3).State != grid.Killed || c.jobs[group.Job(1)] == nil || c.groups.all[group].rec.CancelRequested {
		t.Errorf("of the one job: %+v", c.groups.all[group].rec)
	}
	c = sweep(told[1:2])
	effects := run(c)
	g := c.groups.all[group]
	if g.rec.Ended == 0 || g.rec.Ends[grid.Killed] != 3 || len(c.jobs) != 0 {
		t.Errorf("%+v, %d jobs", g.rec, len(c.jobs))
	}
	if list := tells(effects); len(list) == 0 || list[0].Job.ID != group.Template() {
		t.Errorf("what the last life may not have written is not written again: %d words", len(list))
	}
}

// An owner of an older term comes back, who knows that the job's user wanted it gone, and was perhaps told so: this home has lost
// that. It is cancelled, wherever it is now. Who never had the job says nothing of it.
func TestTheWishThatAnOlderOwnerKnows(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	again := grid.Epoch{Term: 9}
	for name, k := range map[string]struct {
		tenure grid.Tenure
		state  grid.State
		from   grid.PeerID
		ends   bool
		wanted bool
	}{
		"it waits at home":      {grid.Tenure{Role: grid.Owning, Owner: me, Epoch: again}, grid.Ready, her, true, true},
		"another has it":        {grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 9, Hop: 4}}, grid.Assigned, her, false, true},
		"who says so never did": {grid.Tenure{Role: grid.Owning, Owner: me, Epoch: again}, grid.Ready, it, false, false},
	} {
		c := signed(grid.Record{Job: j, State: k.state, Tenure: k.tenure})
		c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
		old := wire.Report{
			Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: 4, State: grid.StageOut, End: grid.Killed, Cancel: true,
			Version: wire.JobDigest(j), Certificates: []grid.Certificate{certificate(j, me, 1, her)},
		}
		c.Step(1_000_002, Message{k.from, old})
		hear(c, her, him, it) // its term was raised: others may have it
		r := c.jobs[j.ID].rec
		if r.CancelRequested != k.wanted || (r.State == grid.Killed) != k.ends {
			t.Errorf("%s: cancel %t, it is %s", name, r.CancelRequested, r.State)
		}
	}
}

// The end of one job lets others go, of its group or that wait for it: of those whose end was told too nothing else is told
// first.
func TestEndsThatWereToldComeTogether(t *testing.T) {
	t.Parallel()
	group := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	cfg := signer(me, "a")
	cfg.Groups = []grid.Group{{ID: group, User: grid.User{Home: me, Name: "alice"}, Jobs: 3, Entered: 3, Coming: []int{1}, Submitted: 5}}
	var records []grid.Record
	for n := 1; n <= 3; n++ {
		j := jobOf(me, "a", "1")
		j.ID = group.Job(n)
		records = append(records, grid.Record{Job: j, State: grid.Submitted, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		told := grid.Record{Job: grid.Job{ID: j.ID}, State: grid.Completed, Ended: 5, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{End: grid.Completed}}
		if n == 3 {
			told.State, told.End, told.CancelRequested = grid.Submitted, 0, true
		}
		cfg.Told = append(cfg.Told, told)
	}
	c := New(cfg, nil, records)
	for _, e := range c.Step(1_000_000, Boot{}) {
		s, is := e.(Save)
		if r, job := s.Change.Record.(*grid.Record); is && job && !r.State.Terminal() && !r.CancelRequested {
			t.Errorf("%s is saved as %v", r.Job.ID, r.State)
		}
	}
	if r := c.jobs[group.Job(2)].rec; r.State != grid.Completed {
		t.Errorf("it is %v", r.State)
	}
}

// A job of a sweep that was learnt again is ahead of those that have entered. After a start too the cancel of the sweep is recorded with it, while what
// a lost branch may have made beside it is asked for.
func TestACancelOfASweepReachesWhatIsAhead(t *testing.T) {
	t.Parallel()
	group := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	like := jobOf(me, "a", "1")
	ahead := like
	ahead.ID = group.Job(3)
	cfg := signer(me, "a")
	cfg.State = grid.SiteState{RolledBack: 1, Behind: []grid.JournalID{in(1, 9)}}
	cfg.Groups = []grid.Group{{ID: group, User: like.User, Jobs: 4, Submitted: 5, Template: grid.Hash{1}}}
	cfg.Templates = []grid.Template{{Group: group, Document: "sweep"}}
	cfg.Window = 2
	cfg.Expand = func(grid.Template) (Expansion, error) { return func(int) (grid.Job, error) { return like, nil }, nil }
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{{
		Job: ahead, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}},
	}})
	begin(c)
	c.Step(c.now+1, CancelGroup{Token: 1, Group: group, By: "alice"})
	if r := c.jobs[ahead.ID].rec; !r.CancelRequested || !c.recovery.recounting() {
		t.Errorf("it is %s, to be cancelled %t", r.State, r.CancelRequested)
	}
}
