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
