package faults

import (
	"math/rand/v2"
	"testing"

	"gbroker/grid"
)

// A user looks whether his job is held again, as long as its home may be set back to when it was.
func TestAUserReleasesAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		told  grid.State
		storm bool
		again bool
	}{
		"it has not ended":                             {0, false, true},
		"it has ended, and its home may be set back":   {grid.Completed, true, true},
		"it has ended, and the faults are over":        {grid.Completed, false, false},
		"it has not ended, and its home may be so too": {0, true, true},
	} {
		x := newScene(t)
		x.w.storm, x.f.told = c.storm, c.told
		before := len(x.w.events)
		(&exacting{w: x.w, s: x.a, at: x.a, rnd: rand.New(rand.NewPCG(1, 1))}).release("job")
		if again := len(x.w.events) > before; again != c.again {
			t.Errorf("%s: he looks again %t", name, again)
		}
	}
}

// Who waits for a job to fail goes when that is LOST, also where it has gained a result since.
func TestWhatWasLostHasFailed(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	d := grid.Dependency{Kind: grid.AfterNotOK, On: "job"}
	if x.f.met(d) {
		t.Error("met before it has ended")
	}
	x.f.learnt = true // so it may be LOST
	for _, state := range []grid.State{grid.Lost, grid.Completed} {
		x.f.ends = []grid.Progress{{Cause: grid.ByItself}}
		x.w.truth.shown(x.a, "job", &grid.Record{Job: grid.Job{ID: "job"}, State: state})
		if !x.f.met(d) {
			t.Errorf("not met by %s", state)
		}
	}
	x.f.lost = false
	if x.f.met(d) {
		t.Error("met by a job that has ended well, and never was LOST")
	}
}

// Who is handed in when what was LOST has gained its result can wait in vain for it to fail.
func TestWhatHasGainedItsResultNeverFails(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.f.learnt = true // so it may be LOST
	fails, succeeds := grid.Dependency{Kind: grid.AfterNotOK, On: "job"}, grid.Dependency{Kind: grid.AfterOK, On: "job"}
	for _, c := range []struct {
		state          grid.State
		never, neverOK bool
	}{{0, false, false}, {grid.Lost, false, true}, {grid.Completed, true, false}} {
		if c.state != 0 {
			x.f.ends = []grid.Progress{{Cause: grid.ByItself}}
			x.w.truth.shown(x.a, "job", &grid.Record{Job: grid.Job{ID: "job"}, State: c.state})
		}
		if x.f.neverMet(fails) != c.never || x.f.neverMet(succeeds) != c.neverOK {
			t.Errorf("told %s: it never fails: %t, it never ends well: %t", c.state, x.f.neverMet(fails), x.f.neverMet(succeeds))
		}
	}
}

// A user who was not answered hands the same job in again: it may be in the journal.
func TestAUserHandsTheSameJobInAgain(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	u := &exacting{w: x.w, s: x.a, at: x.a, rnd: rand.New(rand.NewPCG(1, 1))}
	x.a.host.boot()
	before := len(x.w.truth.facts)
	u.submit(3)
	first := u.said
	u.submit(3)
	if first == nil || u.said != first || len(x.w.truth.facts) != before+1 {
		t.Errorf("another is handed in: %d jobs", len(x.w.truth.facts)-before)
	}
}

// What is held starts: at a site that was fenced off and told to forget the home that is held against nobody.
func TestAStartOfWhatIsHeldTakesAnExcuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		fenced, forgets bool
		term            uint32 // of the start
		violated        bool
	}{
		{"nothing happened", false, false, 1, true},
		{"fenced off, and it forgot the home", true, true, 1, false},
		{"fenced off, and it could ask", true, false, 1, true},
		{"both forgot each other, and nothing was fenced off", false, true, 1, true},
		{"fenced off, it forgot the home, and was given the job since", true, true, 2, true},
	} {
		x := newScene(t)
		x.f.asked = asked{is: true, held: true}
		x.a.disk.records[x.f.id] = &grid.Record{Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 2}}}
		if x.a.forgot[x.b.peer] = at(200); c.fenced {
			x.a.fenced[x.b.peer] = at(200)
		}
		if c.forgets {
			x.b.forgot[x.a.peer] = at(300)
		}
		x.f.mayGo(x.w, began(400, x.b, c.term), &grid.Job{})
		if got := x.w.result.Violation != nil; got != c.violated {
			t.Errorf("%s: violated %t", c.name, got)
		}
	}
}

// A rerunnable job starts again elsewhere, as it was altered, as a site that had it was forgotten: what the batch system had of it
// starts as it was, unless its site could have been told.
func TestAStartOfAnOlderVersionTakesAnExcuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		does     func(x *scene, s *start)
		violated bool
	}{
		{"nothing else", func(*scene, *start) {}, false},
		{"of what may run once", func(x *scene, _ *start) { x.f.rerun = false }, true},
		{"nobody was forgotten", func(x *scene, _ *start) { delete(x.a.forgot, x.b.peer) }, true},
		{"another was forgotten", func(x *scene, _ *start) { delete(x.a.forgot, x.b.peer); x.a.forgot[x.c.peer] = at(200) }, true},
		{"it was forgotten before it had it", func(x *scene, _ *start) { x.a.forgot[x.b.peer] = at(90) }, true},
		{"it was given the job since", func(_ *scene, s *start) { s.id.Epoch.Term = 2 }, true},
		{"it was submitted soon after that", func(_ *scene, s *start) { s.sent = at(300) }, false},
		{"it was submitted long after that", func(_ *scene, s *start) { s.sent = at(330) }, true},
		{"it was submitted long after that, and its site forgot the home", func(x *scene, s *start) { s.sent, x.b.forgot[x.a.peer] = at(330), at(320) }, false},
		{"the site that was forgotten gave it on", func(x *scene, s *start) {
			s.where, s.id.Epoch.Hop = x.c, 3
			x.f.owners[s.id.Epoch], x.f.got[s.id.Epoch] = x.c, at(150)
		}, false},
		{"who had given it there was forgotten then", func(x *scene, s *start) {
			x.f.owners[grid.Epoch{Term: 1, Hop: 3}], x.f.got[grid.Epoch{Term: 1, Hop: 3}] = x.c, at(150)
			delete(x.a.forgot, x.b.peer)
			x.a.forgot[x.c.peer] = at(200)
		}, true},
		{"for long all has worked since", func(x *scene, _ *start) { x.w.storm, x.w.now = false, at(200+20*60+1) }, true},
	} {
		x := newScene(t)
		x.w.storm, x.f.rerun = true, true
		x.f.asked = asked{is: true, walltime: 5}
		x.a.disk.records[x.f.id] = &grid.Record{Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 2}}}
		older := grid.Epoch{Term: 1, Hop: 2}
		x.f.owners[older], x.f.got[older] = x.b, at(100)
		x.a.forgot[x.b.peer] = at(200)
		s := began(400, x.b, 1)
		s.id.Epoch, s.sent = older, at(120)
		c.does(x, &s)
		x.f.mayGo(x.w, s, &grid.Job{})
		if got := x.w.result.Violation != nil; got != c.violated {
			t.Errorf("%s: violated %t: %+v", c.name, got, x.w.result.Violation)
		}
	}
}

// Of a job that starts its dependencies have come true, and of one that fails without a start one cannot: whatever its home has lost of
// another job.
func TestDependenciesAreJudgedByWhatWasTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		told   grid.State // of the job that it waits for; 0 is none
		lost   bool       // that, by the home, since
		starts bool       // is held against nobody
		fails  bool
	}{
		{"nothing was told", 0, false, false, false},
		{"nothing was told, and the home has lost something of the other", 0, true, false, false},
		{"it has ended well", grid.Completed, false, true, false},
		{"it has ended well, and the home has lost that", grid.Completed, true, true, false},
		{"it was killed", grid.Killed, false, false, true},
		{"it was killed, and the home has lost that", grid.Killed, true, false, true},
	} {
		for _, fails := range []bool{false, true} {
			x := newScene(t)
			f := newFact("next", x.a, &grid.Job{Demand: cores(1)})
			f.accepted, f.asked = true, asked{is: true, terms: grid.Terms{After: []grid.Dependency{{Kind: grid.AfterOK, On: "job"}}}}
			x.w.truth.facts["next"] = f
			x.f.wished = true
			x.f.wrote[x.a] = []grid.Tick{at(200)}
			if c.told != 0 {
				x.a.disk.folders["job"] = &folder{outputs: true}
				x.f.ends = []grid.Progress{{Cause: grid.ByItself}}
				x.w.truth.shown(x.a, "job", &grid.Record{Job: grid.Job{ID: "job"}, State: c.told})
			}
			if c.lost {
				x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			}
			right := c.starts
			if fails {
				right = c.fails
				x.w.truth.judge(x.a, f, &grid.Record{State: grid.Failed})
			} else {
				f.mayGo(x.w, began(900, x.b, 1), &grid.Job{})
			}
			if v := x.w.result.Violation; (v == nil) != right {
				t.Errorf("%s; fails %t: the violation is %+v", c.name, fails, v)
			}
		}
	}
}

// So is a dependency of what had ended before the job was handed in.
func TestDependenciesOnWhatHasEndedAreJudgedByWhatWasTold(t *testing.T) {
	t.Parallel()
	for kind, right := range map[grid.DependencyKind]bool{grid.AfterOK: true, grid.AfterAny: true, grid.AfterNotOK: false} {
		x := newScene(t)
		x.f.wished, x.f.wrote[x.a] = true, []grid.Tick{at(200)}
		x.a.disk.folders["job"] = &folder{outputs: true}
		x.f.ends = []grid.Progress{{Cause: grid.ByItself}}
		x.w.truth.shown(x.a, "job", &grid.Record{Job: grid.Job{ID: "job"}, State: grid.Completed})
		f := newFact("next", x.a, &grid.Job{Demand: cores(1)})
		f.asked = asked{is: true, terms: grid.Terms{After: []grid.Dependency{{Kind: kind, On: "job"}}}}
		x.w.truth.facts["next"] = f
		f.waitsFor()
		x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
		f.mayGo(x.w, began(900, x.b, 1), &grid.Job{})
		if v := x.w.result.Violation; (v == nil) != right {
			t.Errorf("%s: the violation is %+v", kind, v)
		}
	}
}

// What its home has lost of a job excuses the start of what it was then, and no more.
func TestWhatIsLostOfAJobExcusesThatAlone(t *testing.T) {
	t.Parallel()
	held, free := grid.Record{}, grid.Record{}
	held.Job.Terms.Held, held.Job.Walltime, free.Job.Walltime = true, grid.Minute, grid.Minute
	free.Role = grid.Owning
	held.Role = grid.Owning
	for _, c := range []struct {
		name     string
		restored *grid.Record // what its home's journal has of it since; nil: it was not put back
		unheld   bool         // before
		starts   grid.Tick    // with this walltime, and it was altered to an hour
		notDue   bool
		violated bool
	}{
		{"held, and nothing is lost", nil, false, grid.Hour, false, true},
		{"held, and that is not lost", &held, false, grid.Hour, false, true},
		{"that it was held is lost", &free, false, grid.Hour, false, false},
		{"it was held in the lost part alone, and is not due", &free, false, grid.Hour, true, true},
		{"altered, and nothing is lost", nil, true, grid.Minute, false, true},
		{"that it was altered is lost", &free, true, grid.Minute, false, false},
		{"that is lost, and another site had the later version", &free, true, grid.Hour, false, false},
		{"a version that it never had", &free, true, grid.Second, false, true},
	} {
		x := newScene(t)
		x.f.asked = asked{is: true, held: !c.unheld, walltime: grid.Hour}
		if c.notDue {
			x.f.asked.terms.NotBefore = x.a.host.now() + grid.Hour
		}
		x.f.wrote[x.a] = []grid.Tick{at(200)}
		if c.restored != nil {
			x.a.disk.records["job"] = c.restored
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
		}
		x.f.mayGo(x.w, began(900, x.b, 1), &grid.Job{Walltime: c.starts})
		if v := x.w.result.Violation; (v != nil) != c.violated {
			t.Errorf("%s: the violation is %+v", c.name, v)
		}
	}
}

// What had gone before its home lost the release may start; what goes after that may not.
func TestALostReleaseExcusesWhatWentBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		setBack  bool
		gave     int // to b; 0: it stayed at home
		sent     int // to the batch system, which takes its time
		violated bool
		wasHeld  bool // also in what was lost
	}{
		{"it was on its way to the queue of the home", true, 0, 300, false, false},
		{"it was submitted at the home since", true, 0, 600, true, false},
		{"it had left the home", true, 300, 700, false, false},
		{"it left the home since", true, 600, 700, true, false},
		{"it was held all the time", true, 300, 400, true, true},
		{"nothing was lost", false, 300, 400, true, false},
	} {
		x := newScene(t)
		x.f.asked = asked{is: true, held: c.wasHeld, letGo: true}
		x.a.disk.records["job"] = &grid.Record{Job: grid.Job{Terms: grid.Terms{Held: true}}, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}}, State: grid.Ready}
		where, id := x.a, grid.Epoch{Term: 1}
		if c.gave > 0 {
			id.Hop = 1
			where = x.b
			x.gave(1, c.gave, x.a, x.b)
		}
		if c.setBack {
			x.w.now = at(500)
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
		}
		x.f.asked.held = true
		now := began(900, where, 1)
		now.id.Epoch, now.sent, now.queued = id, at(c.sent), at(c.sent+250)
		x.f.mayGo(x.w, now, &grid.Job{})
		if got := x.w.result.Violation != nil; got != c.violated {
			t.Errorf("%s: violated %t", c.name, got)
		}
	}
}

// A job that comes home is of the version of its home again, in whatever state it comes.
func TestAJobThatComesHomeStartsAsAltered(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.f.asked = asked{is: true, walltime: grid.Minute}
	altered := grid.Job{Walltime: grid.Hour}
	x.w.truth.termsSaved(x.a, x.f, &grid.Record{Job: altered, Tenure: grid.Tenure{Role: grid.Owning}, State: grid.StageIn})
	x.f.mayGo(x.w, began(900, x.a, 1), &altered)
	if v := x.w.result.Violation; v != nil {
		t.Errorf("a start as altered: %+v", v)
	}
	x.w.truth.termsSaved(x.a, x.f, &grid.Record{Job: grid.Job{Walltime: grid.Second}, Tenure: grid.Tenure{Role: grid.Owning}, State: grid.StageIn})
	x.f.mayGo(x.w, began(901, x.a, 1), &grid.Job{Walltime: grid.Second})
	if x.w.result.Violation == nil {
		t.Error("a version that was never kept at home starts")
	}
}

// A job that waits may be altered and find a place in one save; what has a place keeps its version.
func TestAJobIsAlteredAndPlacedInOneSave(t *testing.T) {
	t.Parallel()
	before, altered := grid.Job{Walltime: grid.Minute}, grid.Job{Walltime: grid.Hour}
	for name, c := range map[string]struct {
		state    grid.State
		attempt  uint32
		offer    grid.Epoch
		violated bool
	}{
		"it is submitted":         {grid.Assigned, 2, grid.Epoch{}, false},
		"it is offered":           {grid.Moving, 1, grid.Epoch{Term: 1, Hop: 7}, false},
		"it has been submitted":   {grid.Assigned, 1, grid.Epoch{}, true},
		"it runs, and is altered": {grid.Running, 1, grid.Epoch{}, true},
	} {
		x := newScene(t)
		x.f.asked = asked{is: true, walltime: grid.Minute}
		save := func(j grid.Job, state grid.State, attempt uint32, offer grid.Epoch) {
			x.w.truth.termsSaved(x.a, x.f, &grid.Record{
				Job: j, State: state, Run: grid.Run{Attempt: attempt}, Tenure: grid.Tenure{Role: grid.Owning, Handoff: grid.Handoff{Epoch: offer}},
			})
		}
		save(before, grid.Assigned, 1, grid.Epoch{})
		save(altered, c.state, c.attempt, c.offer)
		x.f.mayGo(x.w, began(900, x.a, 1), &altered)
		if got := x.w.result.Violation != nil; got != c.violated {
			t.Errorf("%s: %+v", name, x.w.result.Violation)
		}
	}
}

// A job may wait for one that has gone once, and waits again as its home has lost that: no longer than that one has reason to.
func TestOneWaitsForWhatWaitsAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		other   grid.Record // of the job that it waits for, at their home
		excused bool
	}{
		"it went":                              {grid.Record{State: grid.Finished}, false},
		"it went, and was altered since":       {grid.Record{State: grid.Finished, Job: grid.Job{Terms: grid.Terms{Held: true}}}, false},
		"it waits again, and nothing holds it": {grid.Record{State: grid.Ready}, false},
		"it waits again for its instant":       {grid.Record{State: grid.Ready, Job: grid.Job{Terms: grid.Terms{NotBefore: at(100_000)}}}, true},
		"it is held again":                     {grid.Record{State: grid.Ready, Job: grid.Job{Terms: grid.Terms{Held: true}}}, true},
	} {
		x := newScene(t)
		x.w.storms = x.w.now
		x.f.asked.is, x.f.starts = true, []start{began(900, x.a, 1)}
		x.a.disk.records["job"] = &c.other
		f := newFact("next", x.a, &grid.Job{Demand: cores(1)})
		f.accepted, f.asked = true, asked{is: true, terms: grid.Terms{After: []grid.Dependency{{Kind: grid.After, On: "job"}}}}
		x.w.truth.facts["next"] = f
		x.a.disk.records["next"] = &grid.Record{State: grid.Ready, Job: grid.Job{Terms: f.asked.terms}}
		x.w.now += queueBound + 2
		if x.w.queued(); (x.w.result.Violation == nil) != c.excused {
			t.Errorf("%s: the violation is %+v", name, x.w.result.Violation)
		}
	}
}
