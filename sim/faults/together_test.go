package faults

import (
	"fmt"
	"testing"

	"gbroker/grid"
)

// two notes a round of the job at b and c, whose parts have begun and have ended with these exit codes.
func (x *scene) two(first, second int) {
	x.f.sites = 2
	r := &round{of: x.f, n: 1}
	for n, of := range []struct {
		at   *site
		exit int
	}{{x.b, first}, {x.c, second}} {
		id := grid.JobID(fmt.Sprintf("job-%d", n+1))
		p := newFact(id, x.a, &grid.Job{Demand: cores(1)})
		p.whole = x.f
		p.ends = []grid.Progress{{ID: grid.AttemptID{Job: id}, Cause: grid.ByItself, ExitCode: of.exit}}
		x.w.truth.facts[id] = p
		r.parts = append(r.parts, &piece{of: r, id: id, at: of.at, began: at(100)})
	}
	x.f.rounds = []*round{r}
}

// What is told of a job over several sites is the end of its parts, also where one site had begun all of it before; or that of the
// program there, if that is where it ended.
func TestAWholeIsJudgedByWhatHasEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		own      int // exit code of its own program; -1 is none
		exit     int
		oneSite  bool
		violated bool
	}{
		{"of its parts", -1, 2, false, false},
		{"of none of its parts", -1, 3, false, true},
		{"of its parts, one site had begun it before", 5, 2, false, false},
		{"of its own program", 5, 5, true, false},
		{"of its parts, and it is at one site", 5, 2, true, true},
		{"of nothing that has ended", 5, 3, false, true},
	} {
		x := newScene(t)
		x.two(0, 2)
		if c.own >= 0 {
			before := began(50, x.b, 1)
			before.ended = at(60)
			x.f.starts = []start{before}
			x.f.ends = []grid.Progress{{ID: before.id, Cause: grid.ByItself, ExitCode: c.own}}
		}
		state := grid.Over
		if c.oneSite {
			state = grid.OneSite
		}
		x.a.disk.folders[x.f.id] = &folder{outputs: true}
		x.a.disk.beside[besideKey{grid.KindAllocation, string(x.f.id)}] = &grid.Allocation{Of: x.f.id, State: state}
		x.w.truth.judge(x.a, x.f, &grid.Record{State: grid.Completed, Run: grid.Run{ExitCode: c.exit}, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}}})
		if v := x.w.result.Violation; (v != nil) != c.violated {
			t.Errorf("%s: the violation is %+v", c.name, v)
		}
	}
}

// A part does not begin where one site has begun all of it, of what may not run twice.
func TestAPartBeginsAfterItsWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		does     func(x *scene)
		violated bool
	}{
		{"one site had begun it", func(*scene) {}, true},
		{"it may run again", func(x *scene) { x.f.rerun = true }, false},
		{"that site was fenced off since", func(x *scene) { x.a.fenced[x.b.peer] = at(200) }, false},
	} {
		x := newScene(t)
		x.two(0, 0)
		x.f.starts = []start{began(50, x.b, 1)}
		c.does(x)
		x.w.truth.onlyOnce(x.f.rounds[0], began(900, x.c, 2))
		if v := x.w.result.Violation; (v != nil) != c.violated {
			t.Errorf("%s: the violation is %+v", c.name, v)
		}
	}
}

// lostPart is a job of which a round has a part at b that its home has lost to have given away, and one at c; the home has heard at 905 s who had
// seen that. Its start is at 950 s, and what the home knows then is given at an instant.
func (x *scene) lostPart() (part *fact, now start) {
	x.two(0, 0)
	x.w.now = at(1100)
	part = x.w.truth.facts["job-1"]
	now, _ = x.cutOff(0, 905, 0)
	delete(x.f.given, grid.Epoch{Term: 1})
	now.id.Job, now.id.Epoch.Hop, now.at, now.queued = "job-1", 1, at(950), at(70)
	part.given[now.id.Epoch] = giving{at(60), x.a, x.b}
	x.f.rounds[0].parts[0].reservation, x.f.rounds[0].parts[0].began = "r", 0
	x.w.truth.pieces["r"] = x.f.rounds[0].parts[:1]
	return part, now
}

// A part starts, or runs on, of which its home has lost that it gave it away, and cannot know: before and after another start, and an end.
func TestAPartThatItsHomeCannotKnowOf(t *testing.T) {
	t.Parallel()
	begins := func(x *scene, now start) {
		x.f.rounds[0].goes = true
		for _, p := range x.f.rounds[0].parts {
			p.arrived, p.confirmed = true, true
		}
		x.w.truth.mayBegin(x.b, &local{queued: now.queued, sub: grid.Submission{ID: now.id, Job: grid.Job{Reservation: "r", Part: &grid.Part{Of: "job"}}}})
	}
	for name, does := range map[string]func(x *scene, part *fact, now start, since int){
		"all of it was started at home": func(x *scene, _ *fact, now start, since int) {
			own := began(since+5, x.a, 1)
			own.queued, x.f.owners[own.id.Epoch] = at(since), x.a
			x.f.starts = []start{own}
			begins(x, now)
		},
		"all of it was given to another": func(x *scene, _ *fact, now start, since int) {
			x.gave(2, since, x.a, x.c)
			there := began(940, x.c, 1)
			there.id.Epoch.Hop, there.queued = 2, at(1040)
			x.f.starts = []start{there}
			begins(x, now)
		},
		"another round had begun": func(x *scene, _ *fact, now start, since int) {
			other := newFact("job-3", x.a, &grid.Job{Demand: cores(1)})
			there := began(940, x.c, 1)
			there.id.Epoch.Hop, there.queued, other.given[grid.Epoch{Term: 1, Hop: 1}] = 1, at(1040), giving{at(since), x.a, x.c}
			other.starts, x.w.truth.facts["job-3"] = []start{there}, other
			x.f.rounds = append(x.f.rounds, &round{of: x.f, n: 2, parts: []*piece{{id: "job-3", at: x.c, began: at(940)}}})
			begins(x, now)
		},
		"its end was told": func(x *scene, _ *fact, now start, since int) {
			x.gave(2, since, x.a, x.c)
			x.f.told, x.f.toldAt, x.f.toldOf = grid.Failed, at(1045), grid.Epoch{Term: 1, Hop: 2}
			begins(x, now)
		},
		"its end is told while that runs": func(x *scene, part *fact, now start, since int) {
			x.gave(2, since, x.a, x.c)
			part.starts, x.f.wished = []start{now}, true
			x.w.truth.judgeWhole(x.a, x.f, &grid.Record{State: grid.Killed, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1, Hop: 2}}})
		},
	} {
		for _, since := range []int{900, 1030} {
			x := newScene(t)
			part, now := x.lostPart()
			does(x, part, now, since)
			if v := x.w.result.Violation; (v != nil) != (since == 1030) {
				t.Errorf("%s, as the home decided at %d s: %+v", name, since, v)
			}
		}
	}
}

// The end of a whole is told while a part of it runs of which its machine, that was put back, knows nothing any more.
func TestAPartOfWhichItsMachineForgot(t *testing.T) {
	t.Parallel()
	for _, since := range []int{50, 120} {
		x := newScene(t)
		x.two(0, 0)
		part := x.w.truth.facts["job-1"]
		part.starts, x.f.wished = []start{began(100, x.b, 1)}, true
		x.b.lost(since, 400, true)
		x.w.truth.judgeWhole(x.a, x.f, &grid.Record{State: grid.Killed})
		if v := x.w.result.Violation; (v != nil) != (since == 120) {
			t.Errorf("put back to %d s: %+v", since, v)
		}
	}
}

// The end of a whole is told while a part of it runs, of which two brokers under the name of its home have both decided.
func TestAPartOfTwoBrokersOfOneName(t *testing.T) {
	t.Parallel()
	for _, both := range []bool{false, true} {
		x := newScene(t)
		x.two(0, 0)
		part := x.w.truth.facts["job-1"]
		part.starts, x.f.wished = []start{began(100, x.b, 1)}, true
		part.acted(true)
		if both {
			part.acted(false)
		}
		x.w.truth.judgeWhole(x.a, x.f, &grid.Record{State: grid.Killed})
		if v := x.w.result.Violation; (v == nil) != both {
			t.Errorf("both have acted %t: %+v", both, v)
		}
	}
}
