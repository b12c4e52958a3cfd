package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// sweep makes a group that makes its jobs from a template.
func (s *stand) sweep(name string, jobs, atOnce int, coming ...int) grid.GroupID {
	id := grid.NewGroupID("a", fmt.Sprintf("%026s", name))
	s.groups.made(grid.Group{
		ID: id, User: grid.User{Name: "alice"}, Jobs: jobs, AtOnce: atOnce, Coming: coming, Submitted: s.now, Template: grid.Hash{1},
	}, &grid.Template{Group: id, Document: name})
	s.settle()
	return id
}

// settle steps until nothing more is to be done.
func (s *stand) settle() {
	for {
		s.due = false
		s.groups.fill()
		if !s.due || s.doubtful {
			return
		}
		s.groups.due()
	}
}

// Jobs enter in order, as many as the window has room for, and as others end.
func TestAWindow(t *testing.T) {
	t.Parallel()
	s := newStand()
	s.window = 4
	s.begin()
	id := s.sweep("1", 6, 3)
	if got := s.states(id); got != "free free free   " {
		t.Errorf("at once: %q", got)
	}
	s.end(id.Job(2))
	s.restart()
	s.settle()
	if got := s.states(id); got != "free ended free free  " || s.saved[id].Entered != 4 {
		t.Errorf("one has ended: %q", got)
	}
	for n := range 6 {
		s.end(id.Job(n + 1))
		s.settle()
	}
	if g := s.saved[id]; g.Ended == 0 || s.ends[id] != 1 || g.Ends[grid.Completed] != 6 {
		t.Errorf("at its end: %+v", g)
	}
	s.groups.remove(s.groups.all[id])
	s.settle()
	if len(s.state)+len(s.templates)+len(s.results) != 0 || s.saved[id].Entered != 0 {
		t.Errorf("removed, there are %v %v %v", s.state, s.templates, s.results)
	}
}

// A group is removed to its last job, however many are left after a step.
func TestRemovedToTheLastJob(t *testing.T) {
	t.Parallel()
	for n := maxRemoved - 1; n <= maxRemoved+2; n++ {
		s := newStand()
		s.window = n
		s.begin()
		id := s.sweep("1", n, n)
		for k := range n {
			s.end(id.Job(k + 1))
			s.settle()
		}
		s.due = false
		for s.groups.remove(s.groups.all[id]); s.due; s.groups.due() {
			s.due = false
		}
		if len(s.state) != 0 || s.saved[id].Entered != 0 {
			t.Errorf("of %d jobs %d are left, and the group has %d", n, len(s.state), s.saved[id].Entered)
		}
	}
}

// The limits of the user hold jobs back too, until some end.
func TestAWindowWithinLimits(t *testing.T) {
	t.Parallel()
	s := newStand()
	s.most = 2
	id := s.sweep("1", 5, 0)
	if got := s.states(id); got != "free free   " {
		t.Errorf("%q", got)
	}
	s.end(id.Job(1))
	s.settle()
	if got := s.states(id); got != "ended free free  " {
		t.Errorf("%q", got)
	}
}

// What was not made ends at once when the group is cancelled, or a job of it.
func TestCancelBeforeTheTurn(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.sweep("1", 600, 2)
	s.groups.cancelOne(id.Job(300), "bob")
	s.restart()
	if of := s.groups.all[id].of(300); of.State != grid.Killed {
		t.Errorf("job 300 is %v", of)
	}
	s.groups.cancel(s.groups.all[id], "alice")
	g := s.saved[id]
	if g.Ended == 0 || g.Ends[grid.Killed] != 598 || g.Ends[grid.Completed] != 2 || len(s.state) != 2 {
		t.Errorf("%+v, %d were made", g, len(s.state))
	}
	s.restart()
	if of := s.groups.all[id].of(599); of.State != grid.Killed || s.ends[id] != 1 {
		t.Errorf("after a restart job 599 is %v", of)
	}
}

// Nobody enters before the files of the template are here; they may come too late.
func TestFilesOfATemplate(t *testing.T) {
	t.Parallel()
	s := newStand()
	id, late := s.sweep("1", 2, 0, 0), s.sweep("2", 2, 0, 0)
	if len(s.state) != 0 {
		t.Errorf("before: %v", s.state)
	}
	s.groups.arrived(id.Template())
	s.settle()
	if got := s.states(id); got != "free free" {
		t.Errorf("after: %q", got)
	}
	s.now += grid.Hour
	s.groups.due()
	if g := s.saved[late]; g.Ends[grid.Failed] != 2 || g.Ended == 0 {
		t.Errorf("too late: %+v", g)
	}
}

// A job whose document is wrong fails at its turn, and says why.
func TestABadJobOfATemplate(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.sweep("bad", 3, 0)
	if g := s.saved[id]; g.Ends[grid.Failed] != 1 || g.Entered != 3 || !slices.Contains(s.told, "job 2: invalid") {
		t.Errorf("%+v %q", g, s.told)
	}
}

// A journal that was rolled back: nobody enters before all have spoken; who was made before is not
// made again where somebody has it, and enters first where only a trace of it is left.
func TestAWindowAfterARollback(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.sweep("1", 9, 2) // 1 and 2 have entered; 3 to 6 did in the part that is lost
	s.doubtful = true
	s.restart()
	s.end(id.Job(1))
	s.settle()
	s.state[id.Job(3)] = "ended" // learnt again
	s.groups.jobEnded(id.Job(3), s.became(id.Job(3)))
	s.state[id.Job(4)] = "free" // likewise
	s.groups.sighted(id.Job(6))
	if len(s.entered) != 2 {
		t.Errorf("%v entered while it is not certain", s.entered)
	}
	s.doubtful = false
	s.groups.due()
	s.settle()
	if got := s.states(id); got != "ended free ended free free free   " || s.saved[id].Entered != 6 {
		t.Errorf("%q", got)
	}
	for _, n := range []int{2, 4, 5, 6} {
		s.end(id.Job(n))
	}
	s.settle()
	if got := s.states(id); got != "ended ended ended ended ended ended free free " || len(slices.Compact(slices.Sorted(slices.Values(s.entered)))) != len(s.entered) {
		t.Errorf("%q, %v", got, s.entered)
	}
}

// Whatever happens in which order, with restarts: each job is made at most once, no more are under way
// than may be, and the group ends when all have.
func TestEachJobIsMadeOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newStand()
		s.window = rapid.IntRange(1, 4).Draw(t, "window")
		s.begin()
		jobs := rapid.IntRange(1, 12).Draw(t, "jobs")
		id := s.sweep("1", jobs, rapid.IntRange(0, 3).Draw(t, "at once"))
		cancelled := false
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			s.now++
			n := id.Job(rapid.IntRange(1, jobs).Draw(t, "number"))
			switch rapid.SampledFrom([]string{"end", "restart", "cancel one", "cancel"}).Draw(t, "step") {
			case "end":
				if s.state[n] == "free" {
					s.end(n)
				}
			case "restart":
				s.restart()
			case "cancel one":
				s.groups.cancelOne(n, "bob")
			case "cancel":
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					s.groups.cancel(s.groups.all[id], "alice")
					cancelled = true
				}
			}
			s.settle()
			seen := map[grid.JobID]bool{}
			for _, e := range s.entered {
				if seen[e] {
					t.Fatalf("%s is made twice", e)
				}
				seen[e] = true
			}
			g := s.saved[id]
			if s.free() > s.groups.most(s.groups.all[id]) {
				t.Fatalf("%d are under way", s.free())
			}
			over := g.Ends.Sum() == jobs && s.free() == 0
			if over != (g.Ended != 0) || cancelled && !over || !over && s.free() == 0 {
				t.Fatalf("%+v: %s", g, strings.Join(s.told, "; "))
			}
		}
	})
}

// A cancel while nobody knows which jobs a lost branch has made: these are made, and cancelled; the others end, and not before.
func TestACancelAfterARollback(t *testing.T) {
	t.Parallel()
	for seen, made := range map[int]int{0: 2, 4: 4} {
		s := newStand()
		s.window = 2
		s.begin()
		id := s.sweep("1", 6, 0)
		s.window, s.doubtful = 5, true
		s.restart()
		s.groups.cancel(s.groups.all[id], "alice")
		if seen > 0 {
			s.groups.sighted(id.Job(seen))
		}
		s.settle()
		if err := s.groups.cancelOne(id.Job(5), "bob"); err == nil {
			t.Error("a job is ended that may have been made")
		}
		if g := s.saved[id]; g.Ends.Sum() != 2 || !g.CancelRequested || len(s.entered) != 2 {
			t.Errorf("while it is not certain: %+v, %v were made", g, s.entered)
		}
		if len(s.beside) != 1 || s.beside[0].Job.ID != id.Template() || !s.beside[0].CancelRequested {
			t.Errorf("beside the journal: %+v", s.beside)
		}
		s.doubtful = false
		s.groups.due()
		s.settle()
		if g := s.saved[id]; g.Ended == 0 || len(s.entered) != made || g.Ends[grid.Killed] != 6-made {
			t.Errorf("then: %+v, %v were made", g, s.entered)
		}
	}
}

// The same at once: one that a lost branch has made is not ended in place of being made.
func TestACancelOfWhatWasSighted(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.sweep("1", 4, 1)
	s.restart()
	s.groups.sighted(id.Job(3))
	s.groups.cancel(s.groups.all[id], "alice")
	s.settle()
	if g := s.saved[id]; g.Ended == 0 || len(s.entered) != 3 || g.Ends[grid.Killed] != 1 {
		t.Errorf("%+v, %v were made", g, s.entered)
	}
}

// Of a sweep of 100,000 jobs no more than the window are made, and of the others nothing is kept.
func TestALargeSweepIsANumber(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.sweep("1", grid.MaxSweep, 0)
	if g := s.saved[id]; g.Entered != DefaultWindow || len(s.state) != DefaultWindow || len(s.results) != 0 {
		t.Errorf("%d have entered, %d were made, %d pages of ends are kept", g.Entered, len(s.state), len(s.results))
	}
}

// The files of a template do not come again to a home that was put back, and a job of it is known that another has: it is not kept back for them.
func TestALearntJobDoesNotWaitForTheTemplate(t *testing.T) {
	t.Parallel()
	s := newStand()
	s.begin()
	id := s.sweep("1", 3, 0, 0)
	s.state[id.Job(2)] = "free"
	s.groups.endRest(s.groups.all[id], grid.Failed, "its files did not come")
	if s.groups.keepsBack(id.Job(2)) {
		t.Error("it is kept back for ever")
	}
	s.end(id.Job(2))
	if g := s.saved[id]; g.Ended == 0 || g.Ends[grid.Failed] != 2 {
		t.Errorf("at its end: %+v", g)
	}
}
