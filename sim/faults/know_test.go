package faults

import (
	"testing"

	"gbroker/grid"
)

// The machine of a home was put back to before the end of a job was told, and then its journal to a
// backup that has that end: from its start on its user reads it again.
func TestAnEndThatABackupHasIsTold(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.f.told = grid.Killed
	x.w.truth.setBack(x.a, lapse{since: at(100), files: true, words: true})
	if x.f.told != 0 || !x.f.unknown {
		t.Fatalf("told %s, unknown %t", x.f.told, x.f.unknown)
	}
	x.f.wished = true
	x.a.disk.records["job"] = &grid.Record{Job: grid.Job{ID: "job"}, State: grid.Killed, Run: grid.Run{End: grid.Killed}}
	x.w.truth.setBack(x.a, lapse{since: at(200)})
	x.w.truth.loaded(x.a)
	if x.f.told != grid.Killed || x.f.stale {
		t.Errorf("told %q, stale %t", x.f.told, x.f.stale)
	}
}

// What was told stands beside the journal alone: it counts when it has been read, not before.
func TestAnEndBesideTheJournalIsReadFirst(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.f.told = grid.Killed
	x.a.disk.records["job"] = &grid.Record{Job: grid.Job{ID: "job"}, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}
	x.w.truth.setBack(x.a, lapse{since: at(200)})
	if x.w.truth.loaded(x.a); x.w.result.Violation != nil || !x.f.stale {
		t.Errorf("stale %t: %+v", x.f.stale, x.w.result.Violation)
	}
}

// A wish that a duplicate alone has recorded is no promise of the first one.
func TestAWishThatATwinHasRecorded(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.a.disk.records["job"] = &grid.Record{}
	if !x.a.recorded("job", at(900)) {
		t.Error("a site that never had a duplicate is not held to it")
	}
	x.a.copied = at(50)
	if x.a.recorded("job", at(900)) {
		t.Error("its duplicate has recorded it, and it is held to that")
	}
	x.a.disk.records["job"].CancelRequested = true
	if !x.a.recorded("job", at(900)) {
		t.Error("it has recorded it, and is not held to it")
	}
}

// An administrator reads that another does not know a job that it should have: not only where it has
// no record at all, also where that is of an older epoch.
func TestAnAdministratorSeesWhoMissesAJob(t *testing.T) {
	t.Parallel()
	now, before := grid.Epoch{Term: 1, Hop: 9}, grid.Epoch{Term: 1, Hop: 3}
	for name, c := range map[string]struct {
		theirs *grid.Record
		misses bool
	}{
		"no record":          {nil, true},
		"it had it before":   {&grid.Record{Tenure: grid.Tenure{Role: grid.Tombstone, Epoch: before}}, true},
		"it owns it":         {&grid.Record{Tenure: grid.Tenure{Role: grid.Owning, Epoch: now}}, false},
		"it has let it go":   {&grid.Record{Tenure: grid.Tenure{Role: grid.Tombstone, Epoch: now, Owner: "peer-b"}}, true},
		"it ended there":     {&grid.Record{Tenure: grid.Tenure{Role: grid.Tombstone, Epoch: now, Owner: "peer-b", Closed: true}}, false},
		"it is about to own": {&grid.Record{Tenure: grid.Tenure{Role: grid.Prepared, Epoch: before}}, false},
	} {
		x := newScene(t)
		x.b.lost(50, 400, false)
		x.a.disk.records["job"] = &grid.Record{State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: x.b.peer, Epoch: now}}
		if c.theirs != nil {
			x.b.disk.records["job"] = c.theirs
		}
		if got := x.a.misses(x.b); got != c.misses {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// What an attempt wrote at its end tells that there was one, as in pbs/control: a control directory that
// was put back with its machine may have nothing else of it.
func TestAnEndIsATraceOfAnAttempt(t *testing.T) {
	t.Parallel()
	d := newDisk()
	e := grid.Epoch{Term: 1, Hop: 2}
	d.folder("job").ends[token{e, 2}] = grid.Progress{}
	if list := d.attempts("job"); len(list) != 1 || list[0] != (grid.AttemptID{Job: "job", Epoch: e, Attempt: 2}) {
		t.Errorf("%v", list)
	}
}

// An end that was told before the home lost that counts if somebody knows it whose word the home waits for.
func TestAnEndThatThoseKnowWhoAreAsked(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.b.disk.records["job"] = &grid.Record{Tenure: grid.Tenure{Role: grid.Tombstone, Closed: true}, Run: grid.Run{End: grid.Failed}}
	x.a.lost(100, 400, true)
	x.f.toldAt = at(200)
	if !x.f.askedKnow(grid.Failed) || x.f.askedKnow(grid.Completed) {
		t.Error("b has its tombstone")
	}
	x.a.dropped[x.b.peer] = at(500)
	if x.f.askedKnow(grid.Failed) {
		t.Error("b was removed since, and need not be waited for")
	}
}

// A home has lost that it told KILLED, and all that is beside its journal. Others know of it only where another had the job then.
func TestWhoKnowsOfAKill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last  func(x *scene) *site
		known bool
	}{
		"its home had it then, after another": {func(x *scene) *site { return x.a }, false},
		"another had it then":                 {func(x *scene) *site { return x.b }, true},
	} {
		x := newScene(t)
		x.f.told, x.f.toldAt = grid.Killed, at(150)
		x.f.owners[grid.Epoch{Term: 1, Hop: 1}] = x.b
		x.f.owners[grid.Epoch{Term: 1, Hop: 2}] = c.last(x)
		x.w.truth.setBack(x.a, lapse{since: at(100), files: true, words: true})
		if x.f.killed != c.known {
			t.Errorf("%s: known %t", name, x.f.killed)
		}
	}
}

// A job of a sweep whose turn has not come is in no queue, while those before it are under way.
func TestAJobWhoseTurnHasNotCome(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	g := &grid.Group{ID: "a.G1.all", Jobs: 4, Entered: 2}
	x.a.disk.groups[g.ID] = g
	for n, state := range []grid.State{grid.Completed, grid.Assigned} {
		x.a.disk.records[g.ID.Job(n+1)] = &grid.Record{State: state}
	}
	turn := func(n int) bool { return newFact(g.ID.Job(n), x.a, &grid.Job{Demand: cores(1)}).turnToCome() }
	if !turn(3) || turn(2) {
		t.Errorf("the third waits for its turn %t, the second %t", turn(3), turn(2))
	}
	x.a.disk.records[g.ID.Job(2)].State = grid.Completed
	if turn(3) {
		t.Error("it waits for its turn, and nothing is under way")
	}
}

// A part of which its home has lost all is learnt from who was to get it, as LOST; one that its home knows is not.
func TestAPartThatItsHomeHasLostIsLearnt(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		x := newScene(t)
		x.f.whole, x.f.accepted = &fact{}, false
		if known {
			x.a.disk.records["job"] = &grid.Record{Job: grid.Job{ID: "job"}, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}
		}
		x.w.truth.setBack(x.a, lapse{since: at(100)})
		lost := &grid.Record{Job: grid.Job{ID: "job"}, State: grid.Lost, Tenure: grid.Tenure{Role: grid.Watching}}
		x.w.truth.saved(x.a, []grid.Change{grid.Saved(lost)})
		x.w.truth.shown(x.a, "job", lost)
		if bad := x.w.result.Violation != nil; bad != known {
			t.Errorf("its home knew it: %t, a violation: %t", known, bad)
		}
		if x.w.excused(x.f) {
			t.Error("it may stay for ever")
		}
	}
}

// A job whose user was not told yet that it is accepted may be learnt as LOST too, where its home has lost it.
func TestAJobThatWasNotAcceptedYetIsLearnt(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.f.accepted = false
	x.w.truth.setBack(x.a, lapse{since: forEver})
	x.learn()
	x.w.truth.judge(x.a, x.f, &grid.Record{State: grid.Lost})
	if v := x.w.result.Violation; v != nil {
		t.Errorf("the violation is %+v", v)
	}
}

// An end is told while the program runs: the machine that runs it has lost its start, or its home that it ran elsewhere, and nobody knows of it.
func TestAnEndWhileItsProgramRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does func(x *scene)
		lost bool
	}{
		"nothing is lost":          {func(*scene) {}, false},
		"its machine was put back": {func(x *scene) { x.b.lost(50, 400, true) }, true},
		"a machine was put back on which it had run, and ended": {func(x *scene) {
			ended := began(60, x.c, 1)
			ended.ended = 300
			x.f.starts = []start{ended, began(400, x.b, 1)}
			x.c.lost(50, 400, true)
		}, false},
		"its home started it again, and had lost unnoticed that it gave it away": {func(x *scene) {
			first, again := x.cutOff(60, 0, 900)
			x.f.starts = []start{first, again}
		}, true},
		"its home had lost unnoticed that it gave it to where it runs": {func(x *scene) { x.cutOff(60, 0, 900) }, true},
		"the same, and had just heard one who had seen that":           {func(x *scene) { x.cutOff(60, 900, 900) }, true},
		"the same, and had heard him for long":                         {func(x *scene) { x.cutOff(60, 800, 900) }, false},
		"the same, and it had ended there": {func(x *scene) {
			x.cutOff(60, 0, 900)
			x.f.starts[0].ended = 300
		}, true},
		"it has started twice, and of the second one all know": {func(x *scene) {
			x.b.lost(50, 400, true)
			x.f.starts = append(x.f.starts, began(90, x.c, 1))
		}, false},
		"the batch system has lost it":      {func(x *scene) { x.f.starts[0].lost = true }, true},
		"its home had lost what came after": {func(x *scene) { x.cutOff(40, 0, 900) }, false},
	} {
		x := newScene(t)
		x.f.starts, x.f.refusal.epoch = []start{began(100, x.b, 1)}, grid.Epoch{Term: 1}
		c.does(x)
		x.w.truth.shown(x.a, "job", &grid.Record{State: grid.Failed, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}}})
		if v := x.w.result.Violation; (v == nil) != c.lost {
			t.Errorf("%s: the violation is %+v", name, v)
		}
	}
}

// A start after KILLED: its home had lost that it gave the job away, and nobody who knew was heard before it told that.
func TestAStartAfterKilledTakesAnExcuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given, heard, told int
		violated           bool
	}{
		"nobody was heard who had seen that": {60, 0, 900, false},
		"one was heard only since":           {60, 940, 900, false},
		"one had just been heard":            {60, 800, 900, false},
		"one had been heard for long":        {60, 700, 900, true},
		"it lost what came after":            {40, 0, 900, true},
		"it was told before the loss":        {60, 0, 70, true},
	} {
		x := newScene(t)
		now, _ := x.cutOff(c.given, c.heard, 900)
		x.f.told, x.f.toldAt = grid.Killed, at(c.told)
		x.f.mayStart(x.w, now)
		if v := x.w.result.Violation; (v != nil) != c.violated {
			t.Errorf("%s: the violation is %+v", name, v)
		}
	}
}

// A job over several sites is FAILED without a start where its home's administrator has removed sites so that the rest have no room for it.
func TestAWholeThatIsStranded(t *testing.T) {
	t.Parallel()
	for removed, stranded := range []bool{false, false, true} {
		x := newScene(t)
		x.w.wide = 1
		whole := &grid.Job{ID: "whole", Demand: cores(8), Coallocation: &grid.Coallocation{Sites: 2}}
		f := newFact("whole", x.a, whole)
		x.w.truth.facts["whole"] = f
		for range removed {
			x.a.unknow(x.a.members[0])
		}
		f.rounds = []*round{{of: f}}
		x.w.truth.shown(x.a, "whole", &grid.Record{State: grid.Failed})
		if v := x.w.result.Violation; (v == nil) != stranded {
			t.Errorf("%d removed: the violation is %+v", removed, v)
		}
	}
}

// What a program left may be swept where its site, or its home, has lost something of the job since it began; not where they
// have lost something else.
func TestAnEndWithoutOutputTakesAnExcuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		since, wrote int
		hop          uint32 // of the end that is told
		violated     bool
	}{
		"its site has lost its end":              {150, 180, 0, false},
		"its site has lost what came after that": {190, 180, 0, true},
		"its site had lost something before":     {50, 60, 0, true},
		"its site has lost something of before":  {80, 90, 0, true},
		"another site than where it ended":       {150, 180, 1, true},
	} {
		x := newScene(t)
		x.f.starts, x.f.wrote[x.b] = []start{began(100, x.b, 1)}, []grid.Tick{at(c.wrote)}
		x.b.lost(c.since, max(c.since, c.wrote)+20, false)
		x.w.truth.hasOutput(x.a, x.f, &grid.Record{State: grid.Completed, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1, Hop: c.hop}}})
		if v := x.w.result.Violation; (v != nil) != c.violated {
			t.Errorf("%s: the violation is %+v", name, v)
		}
	}
}

// Of two brokers under one name the first tells the end of a job of a sweep that has no record yet, and the other makes it.
func TestAnEndThatOneOfTwoHasTold(t *testing.T) {
	t.Parallel()
	for _, two := range []bool{false, true} {
		x := newScene(t)
		if x.f.wished = true; two {
			x.a.duplicate = &site{}
		}
		x.w.truth.shown(x.a, "job", &grid.Record{State: grid.Killed})
		x.f.acted(false)
		if x.f.torn() != two {
			t.Errorf("two brokers: %t, both have acted: %t", two, x.f.torn())
		}
	}
}

// A submission that comes late starts what was withdrawn, if the machine with the start token was put back to before that, and nothing else.
func TestALateSubmissionFindsNoToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		withdrawn []int // seconds
		files     bool
		violated  bool
	}{
		"its token is gone with the machine":             {[]int{200}, true, false},
		"the journal alone was put back":                 {[]int{200}, false, true},
		"the machine was put back to after that":         {[]int{90}, true, true},
		"it was never withdrawn":                         {nil, true, true},
		"it was withdrawn again since":                   {[]int{200, 500}, true, true},
		"it was withdrawn twice before that machine was": {[]int{90, 200}, true, false},
	} {
		x := newScene(t)
		id := grid.AttemptID{Job: "job", Epoch: grid.Epoch{Term: 1}, Attempt: 1}
		for _, s := range c.withdrawn {
			x.w.now = at(s)
			x.w.truth.withdrawn(x.b, id)
		}
		x.b.lost(100, 400, c.files)
		x.w.now = at(900)
		x.f.starts, x.f.told = []start{began(150, x.b, 1)}, grid.Completed
		x.w.truth.started(x.b, &local{queued: at(890), sub: grid.Submission{ID: id, Job: grid.Job{ID: "job", Program: grid.Program{Arguments: arguments}}}})
		if v := x.w.result.Violation; (v != nil) != c.violated {
			t.Errorf("%s: the violation is %+v", name, v)
		}
	}
}

// That a job is released was told while its home had not lost it, or it does not count.
func TestReleasedOnTheWayOverASetBack(t *testing.T) {
	t.Parallel()
	for asked, violated := range map[int]bool{500: true, 300: false} {
		x := newScene(t)
		x.a.lost(100, 400, false)
		x.f.releasedTold(at(asked))
		x.w.truth.releasedSaved(x.a, x.f, &grid.Record{Job: grid.Job{Terms: grid.Terms{Held: true}}})
		if v := x.w.result.Violation; (v != nil) != violated {
			t.Errorf("asked for at %d s: the violation is %+v", asked, v)
		}
	}
}

// A wish of before the release may come again when its home has lost both, also where the job was not held yet in what it has.
func TestAHoldThatComesAgainAfterASetBack(t *testing.T) {
	t.Parallel()
	for since, violated := range map[int]bool{900: false, 960: true} {
		x := newScene(t)
		x.w.now = at(950)
		x.f.releasedTold(at(940))
		x.w.now = at(1000)
		x.a.disk.records["job"] = &grid.Record{}
		x.w.truth.setBack(x.a, lapse{since: at(since)})
		x.w.truth.releasedSaved(x.a, x.f, &grid.Record{Job: grid.Job{Terms: grid.Terms{Held: true}}})
		if v := x.w.result.Violation; (v != nil) != violated {
			t.Errorf("put back to %d s: the violation is %+v", since, v)
		}
	}
}
