package faults

import (
	"math/rand/v2"
	"testing"

	"gbroker/grid"
)

// doubts has a site that was set back, and noticed that at 200 s, save that it cannot know whether it gave away the job that it got at
// some time; a third one, c, need not be asked.
func (x *scene) doubts(s *site, got grid.Tick, had bool) {
	r := &grid.Record{Job: grid.Job{ID: "job"}, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Uncertain: true}}
	if had {
		s.disk.records["job"] = r
	}
	s.lost(100, 120, false)
	x.w.truth.loaded(s)
	s.asks = at(200)
	x.f.got[r.Epoch] = got
	s.forgot[x.c.peer] = x.w.now
	x.w.truth.saved(s, []grid.Change{grid.Saved(r)})
}

// raises has the home begin a term of the job, twice saved, and hand it on.
func (x *scene) raises() {
	save := func(role grid.Role, hop uint32) {
		r := &grid.Record{Job: grid.Job{ID: "job"}, State: grid.Ready, Tenure: grid.Tenure{Role: role, Owner: x.b.peer, Epoch: grid.Epoch{Term: 2, Hop: hop}}}
		x.w.truth.saved(x.a, []grid.Change{grid.Saved(r)})
	}
	save(grid.Owning, 0)
	save(grid.Owning, 0)
	save(grid.Watching, 1)
}

// learn has the home save the job as one of which it does not know who owns it.
func (x *scene) learn() {
	x.w.truth.saved(x.a, []grid.Change{grid.Saved(&grid.Record{Job: grid.Job{ID: "job"}, State: grid.Lost, Tenure: grid.Tenure{Role: grid.Watching}})})
}

// Which jobs need not end, once their home was set back?
func TestASetBackHomeEndsWhatItKnows(t *testing.T) {
	t.Parallel()
	record := func(s grid.State) *grid.Record {
		return &grid.Record{State: s, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}}}
	}
	for _, c := range []struct {
		name    string
		does    func(x *scene)
		excused bool
	}{
		{"its journal has it", func(x *scene) { x.a.disk.records["job"] = record(grid.Ready) }, false},
		{"its journal has not", func(*scene) {}, true},
		{"its journal has not, and its owner tells", func(x *scene) { x.b.disk.records["job"] = record(grid.Running) }, false},
		{"its journal has not, and its owner is gone", func(x *scene) { x.b.disk.records["job"] = record(grid.Running); x.b.gone = true }, true},
		{"its journal has it without the files that came", func(x *scene) { x.f.uploaded, x.f.files = true, true; x.a.disk.records["job"] = record(grid.Submitted) }, true},
		{"its journal has not, nor its disk the files, and its owner tells", func(x *scene) { x.f.uploaded, x.f.files = true, true; x.b.disk.records["job"] = record(grid.Running) }, false},
		{"its journal has it, and not its end, and it needs no files", func(x *scene) { x.f.told = grid.Failed; x.a.disk.records["job"] = record(grid.Submitted) }, false},
		{"its journal has it, and no files came", func(x *scene) { x.a.disk.records["job"] = record(grid.Submitted) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newScene(t)
			c.does(x)
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			if open := len(x.w.open()) == 0; open != c.excused {
				t.Errorf("excused: %v", open)
			}
			x.w.storms = x.w.now
			x.w.now += queueBound + 2
			if x.w.queued(); (x.w.result.Violation == nil) != c.excused {
				t.Errorf("out of every queue: %+v", x.w.result.Violation)
			}
		})
	}
}

// What is told after a home was set back counts, and what others know of before too.
func TestWordsAfterASetBackCount(t *testing.T) {
	t.Parallel()
	ended := func(s grid.State) *grid.Record {
		return &grid.Record{State: s, CancelRequested: true, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}}}
	}
	for _, c := range []struct {
		name     string
		does     func(x *scene)
		violated bool
	}{
		{"told COMPLETED that never ran", func(x *scene) { x.w.truth.shown(x.a, "job", ended(grid.Completed)) }, true},
		{"told FAILED, then KILLED", func(x *scene) {
			x.f.refusal.epoch, x.f.wished = grid.Epoch{Term: 1}, true
			x.w.truth.shown(x.a, "job", ended(grid.Failed))
			x.w.truth.shown(x.a, "job", ended(grid.Killed))
		}, true},
		{"told KILLED that nobody cancelled", func(x *scene) { x.w.truth.shown(x.a, "job", ended(grid.Killed)) }, true},
		{"told FAILED before, and KILLED now: only its home knew", func(x *scene) {
			x.f.wished, x.f.told = true, grid.Failed
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.w.truth.shown(x.a, "job", ended(grid.Killed))
		}, false},
		{"the same, and nobody was told that it is accepted", func(x *scene) {
			x.f.wished, x.f.told, x.f.accepted = true, grid.Failed, false
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.w.truth.shown(x.a, "job", ended(grid.Killed))
		}, false},
		{"told FAILED before, and KILLED now: its owner's tombstone knew", func(x *scene) {
			x.f.wished, x.f.told = true, grid.Failed
			x.b.disk.records["job"] = &grid.Record{Tenure: grid.Tenure{Role: grid.Tombstone, Closed: true}, Run: grid.Run{End: grid.Failed}}
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.w.truth.shown(x.a, "job", ended(grid.Killed))
		}, true},
		{"the same, whose home has lost that with its machine and heard nobody who had seen it", func(x *scene) {
			x.f.wished, x.f.told, x.f.toldAt = true, grid.Failed, at(200)
			x.b.disk.records["job"] = &grid.Record{Tenure: grid.Tenure{Role: grid.Tombstone, Closed: true}, Run: grid.Run{End: grid.Failed}}
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true, unnoticed: true})
			x.w.truth.shown(x.a, "job", ended(grid.Killed))
		}, false},
		{"the same, whose home has lost what its duplicate was told", func(x *scene) {
			x.f.wished, x.f.told, x.f.toldAt = true, grid.Failed, at(200)
			x.b.disk.records["job"] = &grid.Record{Tenure: grid.Tenure{Role: grid.Tombstone, Closed: true}, Run: grid.Run{End: grid.Failed}}
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.w.truth.shown(x.a, "job", ended(grid.Killed))
		}, true},
		{"the same, and nobody else knows: it stands beside its journal, which has lost the job", func(x *scene) {
			x.f.wished, x.f.told, x.f.toldAt = true, grid.Failed, at(200)
			x.a.disk.witness.told["job"] = words{at(200), grid.Record{State: grid.Failed}}
			x.w.truth.setBack(x.a, lapse{since: forEver})
			x.w.truth.shown(x.a, "job", ended(grid.Killed))
		}, true},
		{"the same, and such a one was heard long ago", func(x *scene) {
			x.f.wished, x.f.told, x.f.toldAt = true, grid.Failed, at(200)
			x.b.disk.records["job"] = &grid.Record{Tenure: grid.Tenure{Role: grid.Tombstone, Closed: true}, Run: grid.Run{End: grid.Failed}}
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.a.lapses[0].heard = at(800)
			x.w.truth.shown(x.a, "job", ended(grid.Killed))
		}, true},
		{"the same, whose home has what is beside its journal", func(x *scene) {
			x.f.wished, x.f.told, x.f.toldAt = true, grid.Failed, at(200)
			x.b.disk.records["job"] = &grid.Record{Tenure: grid.Tenure{Role: grid.Tombstone, Closed: true}, Run: grid.Run{End: grid.Failed}}
			x.a.disk.records["job"] = &grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}
			x.w.truth.setBack(x.a, lapse{since: at(100)})
			x.w.truth.loaded(x.a)
			x.w.truth.shown(x.a, "job", ended(grid.Killed))
		}, true},
		{"told KILLED before, and started now: it had left its home", func(x *scene) {
			x.f.told, x.f.owners[grid.Epoch{Term: 1, Hop: 1}] = grid.Killed, x.b
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.f.mayStart(x.w, began(900, x.a, 1))
		}, true},
		{"the same, and its owner has lost that too", func(x *scene) {
			x.f.told, x.f.toldAt, x.f.owners[grid.Epoch{Term: 1, Hop: 1}] = grid.Killed, at(200), x.b
			x.b.lost(150, 300, false)
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.f.mayStart(x.w, began(900, x.a, 1))
		}, false},
		{"the same, and its owner has lost only what came after", func(x *scene) {
			x.f.told, x.f.toldAt, x.f.owners[grid.Epoch{Term: 1, Hop: 1}] = grid.Killed, at(200), x.b
			x.b.lost(250, 300, false)
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.a.lapses[0].heard = at(500)
			again := began(900, x.a, 1)
			again.queued = at(890)
			x.f.mayStart(x.w, again)
		}, true},
		{"the same, and its home has removed its owner since", func(x *scene) {
			x.f.told, x.f.toldAt, x.f.owners[grid.Epoch{Term: 1, Hop: 1}] = grid.Killed, at(200), x.b
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.a.lapses[0].heard, x.a.dropped[x.b.peer] = at(500), x.w.now
			again := began(1300, x.a, 1)
			again.queued = at(1290)
			x.f.mayStart(x.w, again)
		}, false},
		{"the same, and it had removed its owner before, and taken it in again", func(x *scene) {
			x.f.told, x.f.toldAt, x.f.owners[grid.Epoch{Term: 1, Hop: 1}] = grid.Killed, at(200), x.b
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.a.lapses[0].heard, x.a.dropped[x.b.peer] = at(500), at(900)
			again := began(1300, x.a, 1)
			again.queued = at(1290)
			x.f.mayStart(x.w, again)
		}, true},
		{"told KILLED as its site was fenced off, which starts it now and was to forget the home", func(x *scene) {
			x.f.told, x.f.toldAt, x.a.fenced[x.b.peer], x.a.forgot[x.b.peer], x.b.forgot[x.a.peer] = grid.Killed, at(200), at(200), at(200), at(300)
			x.f.mayStart(x.w, began(900, x.b, 1))
		}, false},
		{"the same, and it was not to forget the home", func(x *scene) {
			x.f.told, x.f.toldAt, x.a.fenced[x.b.peer], x.a.forgot[x.b.peer] = grid.Killed, at(200), at(200), at(200)
			x.f.mayStart(x.w, began(900, x.b, 1))
		}, true},
		{"the same, and it was fenced off only later", func(x *scene) {
			x.f.told, x.f.toldAt, x.a.fenced[x.b.peer], x.a.forgot[x.b.peer], x.b.forgot[x.a.peer] = grid.Killed, at(200), at(250), at(250), at(300)
			x.f.mayStart(x.w, began(900, x.b, 1))
		}, true},
		{"told KILLED before, and started now: its home had it, and lost it, and it stands beside the journal", func(x *scene) {
			x.f.told, x.f.toldAt = grid.Killed, at(200)
			x.a.disk.witness.told["job"] = words{at(200), grid.Record{State: grid.Killed}}
			x.w.truth.setBack(x.a, lapse{since: forEver})
			x.f.mayStart(x.w, began(1300, x.b, 1))
		}, true},
		{"the same, and that file is lost since", func(x *scene) {
			x.f.told, x.f.toldAt = grid.Killed, at(200)
			x.a.disk.witness.told["job"] = words{at(200), grid.Record{State: grid.Killed}}
			x.w.truth.setBack(x.a, lapse{since: forEver})
			delete(x.a.disk.witness.told, "job")
			x.f.mayStart(x.w, began(1300, x.b, 1))
		}, false},
		{"told KILLED before, and started now: only its home knew", func(x *scene) {
			x.f.told = grid.Killed
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.f.mayStart(x.w, began(900, x.a, 1))
		}, false},
		{"told FAILED before, which stands beside the journal, and KILLED now", func(x *scene) {
			x.f.wished, x.f.told = true, grid.Failed
			x.a.disk.records["job"] = &grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}
			x.w.truth.setBack(x.a, lapse{since: at(100)})
			x.w.truth.loaded(x.a)
			x.w.truth.shown(x.a, "job", ended(grid.Killed))
		}, true},
		{"told KILLED before, which stands beside the journal, and started now", func(x *scene) {
			x.f.told = grid.Killed
			x.a.disk.records["job"] = &grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}
			x.w.truth.setBack(x.a, lapse{since: at(100)})
			x.f.mayStart(x.w, began(900, x.a, 1))
		}, true},
		{"cancelled before, which stands beside the journal, and not any more", func(x *scene) {
			x.f.cancel = at(50)
			x.a.disk.records["job"] = &grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}
			x.w.truth.setBack(x.a, lapse{since: at(100)})
			x.w.truth.saved(x.a, []grid.Change{grid.Saved(&grid.Record{Job: grid.Job{ID: "job"}, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}})})
		}, true},
		{"the same, and nobody who had seen what its home has lost was heard", func(x *scene) {
			x.f.told, x.f.toldAt, x.f.owners[grid.Epoch{Term: 1, Hop: 1}] = grid.Killed, at(200), x.b
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true, unnoticed: true})
			again := began(1100, x.a, 1)
			again.queued = at(1090)
			x.f.mayStart(x.w, again)
		}, false},
		{"its home drops a job", func(x *scene) {
			x.w.truth.saved(x.a, []grid.Change{grid.Deleted(grid.KindJob, "job")})
		}, true},
		{"its home does not know it after another start", func(x *scene) {
			x.a.disk.records["job"] = &grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			delete(x.a.disk.records, "job")
			x.w.truth.loaded(x.a)
		}, true},
		{"cancelled since, and not any more", func(x *scene) {
			x.a.disk.records["job"] = &grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.f.cancel = at(950)
			x.w.truth.saved(x.a, []grid.Change{grid.Saved(&grid.Record{Job: grid.Job{ID: "job"}, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}})})
		}, true},
		{"cancelled before, which nobody else knows", func(x *scene) {
			x.f.cancel = at(50)
			x.a.disk.records["job"] = &grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.w.truth.saved(x.a, []grid.Change{grid.Saved(&grid.Record{Job: grid.Job{ID: "job"}, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}})})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newScene(t)
			c.does(x)
			if v := x.w.result.Violation; (v != nil) != c.violated {
				t.Errorf("the violation is %+v", v)
			}
		})
	}
}

// Two owners: a broker that says it is in doubt is none, one that was set back and has
// no doubt is one.
func TestTwoOwnersTakeAnExcuse(t *testing.T) {
	t.Parallel()
	owns := func(hop uint32, doubt bool) []grid.Change {
		return []grid.Change{grid.Saved(&grid.Record{Job: grid.Job{ID: "job"}, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1, Hop: hop}, Uncertain: doubt}})}
	}
	for _, c := range []struct {
		name     string
		does     func(x *scene)
		violated bool
	}{
		{"two at once", func(*scene) {}, true},
		{"the other one was set back, and does not own it by its journal", func(x *scene) { x.w.truth.setBack(x.b, lapse{since: at(100), words: true}) }, false},
		{"the other one was set back, and has said again that it owns it", func(x *scene) {
			x.w.truth.setBack(x.b, lapse{since: at(100), words: true})
			x.w.truth.saved(x.b, owns(3, false))
		}, true},
		{"the other one was set back, and has lost that it gave it away", func(x *scene) {
			x.gave(2, 200, x.b, x.a)
			x.w.truth.setBack(x.b, lapse{since: at(100), words: true})
			x.w.truth.saved(x.b, owns(1, false))
		}, false},
		{"the other one was set back, and has not lost that it gave it away", func(x *scene) {
			x.gave(2, 90, x.b, x.a)
			x.w.truth.setBack(x.b, lapse{since: at(100), words: true})
			x.w.truth.saved(x.b, owns(1, false))
		}, true},
		{"one that was set back gets it, as a third one does", func(x *scene) {
			x.w.truth.setBack(x.b, lapse{since: at(100), words: true})
			x.w.truth.saved(x.b, owns(3, false))
			x.w.truth.saved(x.c, owns(4, false))
		}, true},
		{"the other one was set back, and is in doubt", func(x *scene) {
			x.w.truth.setBack(x.b, lapse{since: at(100), words: true})
			x.w.truth.saved(x.b, owns(1, true))
		}, false},
		{"the home's disk has lost, in a power cut that nobody noticed, that it gave it to the other", func(x *scene) {
			x.gave(1, 60, x.a, x.b)
			x.gave(2, 900, x.a, x.c)
			x.a.lapses = []lapse{{since: at(50), at: at(80), words: true, unnoticed: true}}
		}, false},
		{"the same, and it had heard of that for long", func(x *scene) {
			x.gave(1, 60, x.a, x.b)
			x.gave(2, 900, x.a, x.c)
			x.a.lapses = []lapse{{since: at(50), at: at(80), words: true, unnoticed: true, heard: at(600)}}
		}, true},
		{"a third one was set back", func(x *scene) { x.w.truth.setBack(x.c, lapse{since: at(100), words: true}) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newScene(t)
			x.w.truth.saved(x.b, owns(1, false))
			c.does(x)
			x.w.truth.saved(x.a, owns(2, false))
			if v := x.w.result.Violation; (v != nil) != c.violated {
				t.Errorf("the violation is %+v", v)
			}
		})
	}
}

// A job that is handed in long after the last fault, as a task whose turn it is, has its time to come to a queue from then on.
func TestOneThatComesLateIsNotLate(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.f.removed = true
	x.w.storms = x.w.now
	x.w.now += queueBound + 2
	late := newFact("late", x.a, &grid.Job{Demand: cores(1)})
	late.accepted = true
	x.w.truth.facts["late"] = late
	if x.w.queued(); x.w.result.Violation != nil {
		t.Errorf("handed in just now: %+v", x.w.result.Violation)
	}
	x.w.now += queueBound + 2
	if x.w.queued(); x.w.result.Violation == nil {
		t.Error("out of every queue ever since, and nobody minds")
	}
}

// The answer that a wish is recorded does not count where its home has lost that while the answer was on the way, with the words beside
// its journal.
func TestAnAnswerOnTheWayOverASetBack(t *testing.T) {
	t.Parallel()
	wished := &grid.Record{CancelRequested: true}
	for name, c := range map[string]struct {
		lapse  lapse
		record *grid.Record
		counts bool
	}{
		"nothing was lost":          {lapse{since: at(100), at: at(200), words: true}, &grid.Record{}, true}, // long before
		"with the words beside":     {lapse{since: at(850), at: at(950), words: true}, &grid.Record{}, false},
		"these stay":                {lapse{since: at(850), at: at(950)}, &grid.Record{}, true},
		"these stay of no job":      {lapse{since: at(850), at: at(950)}, nil, false},
		"others have said it again": {lapse{since: at(850), at: at(950), words: true}, wished, true},
	} {
		x := newScene(t)
		x.a.lapses = []lapse{c.lapse}
		if c.record != nil {
			x.a.disk.records["job"] = c.record
		}
		if got := x.a.recorded("job", at(900)); got != c.counts {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Who brings the files of a job that its home has lost goes on while the faults do: a later backup may know the job again.
func TestFilesOfAJobThatComesBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ unknown, storm, goesOn bool }{
		"it is known":                  {false, false, true},
		"it is lost":                   {true, true, true},
		"it is lost, and stays so now": {true, false, false},
	} {
		x := newScene(t)
		x.f.unknown, x.w.storm = c.unknown, c.storm
		u := &customer{w: x.w, s: x.a, id: "job", job: grid.Job{Inputs: grid.Manifest{{Path: "in"}}}, rnd: rand.New(rand.NewPCG(1, 1))}
		n := len(x.w.events)
		if u.upload(); (len(x.w.events) > n) != c.goesOn {
			t.Errorf("%s: he asks again: %t", name, len(x.w.events) > n)
		}
	}
}
