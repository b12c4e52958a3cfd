package core

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// stand are jobs that only groups know of: kept back, released or ended.
type stand struct {
	groups    *groups
	now       grid.Tick
	state     map[grid.JobID]string
	saved     map[grid.GroupID]grid.Group
	templates map[grid.GroupID]grid.Template
	results   map[string]grid.Results
	ends      map[grid.GroupID]int // how often the end was saved
	told      []string
	beside    []grid.Record // the journal
	most      int           // jobs that a user may have; 0 is no limit
	doubtful  bool
	due       bool
	window    int
	entered   []grid.JobID
}

func newStand() *stand {
	s := &stand{
		now: 1000, state: map[grid.JobID]string{}, saved: map[grid.GroupID]grid.Group{}, ends: map[grid.GroupID]int{},
		templates: map[grid.GroupID]grid.Template{}, results: map[string]grid.Results{}, window: DefaultWindow,
	}
	s.begin()
	return s
}

func (s *stand) begin() {
	s.groups = newGroups(s)
	s.groups.window, s.groups.limit = s.window, grid.Hour
	s.groups.expand = func(t grid.Template) (Expansion, error) {
		return func(n int) (grid.Job, error) {
			if t.Document == "bad" && n == 2 {
				return grid.Job{}, grid.ErrInvalid
			}
			return grid.Job{Name: fmt.Sprint("job ", n)}, nil
		}, nil
	}
}

func (s *stand) instant() grid.Tick   { return s.now }
func (s *stand) beforeCounting() gate { return open }

func (s *stand) beforeEntering(recovered bool) gate {
	if recovered && s.doubtful {
		return untilAll
	}
	return open
}
func (s *stand) beforeEndingRest(recovered bool) gate { return s.beforeEntering(recovered) }
func (s *stand) beforeFailing(grid.JobID) gate        { return open }
func (s *stand) knownOf(grid.JobID) grid.State        { return 0 }
func (s *stand) tell(r grid.Record)                   { s.beside = append(s.beside, r) }
func (s *stand) again(grid.Tick)                      { s.due = true }
func (s *stand) discard(grid.JobID)                   {}
func (s *stand) has(id grid.JobID) bool {
	_, has := s.state[id]
	return has
}
func (s *stand) became(id grid.JobID) grid.Result {
	switch s.state[id] {
	case "":
		return grid.Result{State: grid.Lost}
	case "ended":
		return grid.Result{State: grid.Completed, HasExit: true}
	}
	return grid.Result{}
}
func (s *stand) ended(id grid.JobID) bool { return s.state[id] == "" || s.state[id] == "ended" }
func (s *stand) removeJob(id grid.JobID)  { delete(s.state, id) }
func (s *stand) fail(id grid.JobID, _ string) {
	if s.state[id] == "kept" {
		s.end(id)
	}
}
func (s *stand) cancelJob(id grid.JobID, _ string) {
	if !s.ended(id) {
		s.end(id)
	}
}
func (s *stand) release(id grid.JobID) {
	if s.state[id] == "kept" {
		s.state[id] = "free"
	}
}
func (s *stand) room(*grid.Job) error {
	if s.most > 0 && s.free() >= s.most {
		return grid.ErrNotYet
	}
	return nil
}
func (s *stand) free() (n int) {
	for _, state := range s.state {
		if state == "free" {
			n++
		}
	}
	return n
}
func (s *stand) enter(j grid.Job, _, _ bool) {
	s.state[j.ID] = "free"
	s.entered = append(s.entered, j.ID)
}
func (s *stand) save(e grid.Entity, why string) {
	switch e := e.(type) {
	case *grid.Group:
		if e.Ended != 0 && s.saved[e.ID].Ended == 0 {
			s.ends[e.ID]++
		}
		s.saved[e.ID] = *e
		s.told = append(s.told, why)
	case *grid.Template:
		s.templates[e.Group] = *e
	case *grid.Results:
		_, key := e.Entity()
		s.results[key] = *e
	}
}
func (s *stand) drop(k grid.Kind, key string) {
	switch k {
	case grid.KindGroup:
		delete(s.saved, grid.GroupID(key))
	case grid.KindTemplate:
		delete(s.templates, grid.GroupID(key))
	case grid.KindResults:
		delete(s.results, key)
	}
}
func (s *stand) end(id grid.JobID) { s.state[id] = "ended"; s.groups.jobEnded(id, s.became(id)) }

// make makes a group whose jobs of the numbers coming have files to come.
func (s *stand) make(name string, jobs int, coming ...int) grid.GroupID {
	id := grid.NewGroupID("a", fmt.Sprintf("%026s", name))
	for n := range jobs {
		s.state[id.Job(n+1)] = "kept"
	}
	s.groups.made(grid.Group{ID: id, User: grid.User{Name: "alice"}, Jobs: jobs, Coming: coming, Submitted: s.now}, nil)
	return id
}

// restart makes the groups anew from what was saved.
func (s *stand) restart() {
	s.begin()
	s.groups.take(slices.Collect(maps.Values(s.saved)), slices.Collect(maps.Values(s.templates)), slices.Collect(maps.Values(s.results)))
	s.groups.recover(nil)
}

func (s *stand) states(id grid.GroupID) string {
	var list []string
	for n := range s.saved[id].Jobs {
		list = append(list, s.state[id.Job(n+1)])
	}
	return strings.Join(list, " ")
}

// No job of a group begins before the files of all are here; then all do.
func TestAGroupBeginsWhole(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.make("1", 3, 1, 3)
	s.groups.arrived(id.Job(3))
	s.groups.arrived(id.Job(3))
	s.groups.arrived(id.Job(2))
	if got := s.states(id); got != "kept kept kept" || !s.groups.keepsBack(id.Job(2)) {
		t.Errorf("while files of one are to come: %s", got)
	}
	s.restart()
	s.groups.arrived(id.Job(1))
	if got := s.states(id); got != "free free free" || s.groups.keepsBack(id.Job(2)) {
		t.Errorf("when all are here: %s", got)
	}
	if got := s.states(s.make("2", 2)); got != "free free" {
		t.Errorf("without files: %s", got)
	}
}

// Where the files of one do not come, none begins.
func TestAGroupWhoseFilesDoNotComeFails(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.make("1", 3, 1, 2)
	s.groups.arrived(id.Job(1))
	if s.groups.late(id.Job(1), "late") {
		t.Error("late, though its files are here")
	}
	if !s.groups.late(id.Job(2), "late") || s.states(id) != "ended ended ended" || s.ends[id] != 1 {
		t.Errorf("%s, told %d times", s.states(id), s.ends[id])
	}
}

// A job that is ended while others wait for its files keeps them no longer.
func TestACancelledJobKeepsNobodyBack(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.make("1", 2, 1)
	s.end(id.Job(1))
	if got := s.states(id); got != "ended free" {
		t.Error(got)
	}
}

// A restart finds what ended, and cancels what a cancel had not reached.
func TestAGroupIsRecovered(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.make("1", 3)
	s.state[id.Job(2)] = "ended" // and nobody looked
	g := s.saved[id]
	g.CancelRequested = true
	s.saved[id] = g
	s.restart()
	if s.states(id) != "ended ended ended" || s.ends[id] != 1 || s.saved[id].Ended == 0 {
		t.Errorf("%s, told %d times", s.states(id), s.ends[id])
	}
	s.restart()
	s.groups.remove(s.groups.all[id])
	if len(s.state) != 0 || !s.saved[id].Removed {
		t.Errorf("removed, there are %v", s.state)
	}
	s.groups.retain(func(*grid.Group) bool { return true }, func(*grid.Group) bool { return false })
	if len(s.saved) != 0 || len(s.groups.all) != 0 || len(s.groups.keys) != 0 {
		t.Errorf("kept long enough, there are %v", s.saved)
	}
}

// Whatever happens in which order, with restarts: the end of a group is told once, when all of its
// jobs have ended, and a cancelled group ends.
func TestTheEndOfAGroupIsToldOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newStand()
		jobs := rapid.IntRange(1, 5).Draw(t, "jobs")
		var coming []int
		for n := range jobs {
			if rapid.Bool().Draw(t, "files") {
				coming = append(coming, n+1)
			}
		}
		id := s.make("1", jobs, coming...)
		cancelled := false
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			s.now++
			n := id.Job(rapid.IntRange(1, jobs).Draw(t, "number"))
			switch rapid.SampledFrom([]string{"end", "arrive", "late", "restart", "cancel"}).Draw(t, "step") {
			case "end":
				s.end(n)
			case "arrive":
				s.groups.arrived(n)
			case "late":
				s.groups.late(n, "late")
			case "restart":
				s.restart()
			case "cancel":
				s.groups.cancel(s.groups.all[id], "alice")
				cancelled = true
			}
			states := strings.Fields(s.states(id))
			over := !slices.ContainsFunc(states, func(s string) bool { return s != "ended" })
			if over != (s.saved[id].Ended != 0) || over != (s.ends[id] == 1) || s.ends[id] > 1 {
				t.Fatalf("%v: its end is %d, told %d times", states, s.saved[id].Ended, s.ends[id])
			}
			if cancelled && !over {
				t.Fatalf("cancelled: %v", states)
			}
			if free, kept := slices.Contains(states, "free"), slices.Contains(states, "kept"); free && kept {
				t.Fatalf("some begin and others do not: %v", states)
			}
		}
	})
}

// groupOf are n jobs of one processor, of which the first brings a file if files is true.
func groupOf(n int, key string, files bool) SubmitGroup {
	id := grid.NewGroupID("a", fmt.Sprintf("%026s", key))
	e := SubmitGroup{Token: 1, Group: grid.Group{ID: id, User: grid.User{Home: me, Name: "alice"}, Key: key}}
	for k := range n {
		j := jobOf(me, "a", "1")
		j.ID = id.Job(k + 1)
		if files && k == 0 {
			j.Inputs = grid.Manifest{{Path: "in", Size: 5}}
		}
		e.Jobs = append(e.Jobs, j)
	}
	return e
}

func changesIn(effects []Effect) map[string]int {
	n := map[string]int{}
	for _, e := range effects {
		if s, is := e.(Save); is {
			n[s.Change.Key]++
		}
	}
	return n
}

// All jobs of a group and the group itself are in one write, and the key makes it once.
func TestAGroupIsMadeInOneStep(t *testing.T) {
	t.Parallel()
	c := signed()
	e := groupOf(3, "K", true)
	effects := c.Step(1_000_001, e)
	a, _ := only[Answer](effects)
	if saved := changesIn(effects); a.Err != nil || len(saved) != 4 || a.Group.Jobs != 3 || len(a.Jobs) != 3 || !reflect.DeepEqual(a.Group.Coming, []int{1}) {
		t.Fatalf("%v, answered %+v", saved, a)
	}
	again, _ := only[Answer](c.Step(1_000_002, e))
	if !again.Again || again.Group.ID != e.Group.ID || len(c.jobs) != 3 {
		t.Errorf("again: %+v, %d jobs", again, len(c.jobs))
	}
	other := groupOf(2, "K", false)
	if a, _ := only[Answer](c.Step(1_000_003, other)); a.Err == nil || len(c.jobs) != 3 {
		t.Errorf("with other documents: %+v", a)
	}
	for n := 2; n <= 3; n++ {
		if k := c.jobs[e.Group.ID.Job(n)]; k.rec.State != grid.Submitted {
			t.Errorf("job %d is %s while files of another are to come", n, k.rec.State)
		}
	}
	c.Step(1_000_004, Uploaded{Token: 2, Job: e.Group.ID.Job(1), Inputs: e.Jobs[0].Inputs})
	for n := 1; n <= 3; n++ {
		if k := c.jobs[e.Group.ID.Job(n)]; k.rec.State == grid.Submitted || k.rec.State == grid.StageIn {
			t.Errorf("job %d is %s when all files are here", n, k.rec.State)
		}
	}
}

// A group of which one job is refused leaves nothing.
func TestAGroupIsRefusedWhole(t *testing.T) {
	t.Parallel()
	for _, limits := range []UserLimits{{Jobs: 2}, {Processes: 2}, {GroupJobs: 2}, {Groups: 1}} {
		c := signed()
		c.Step(1_000_001, LimitsChanged{User: limits})
		if limits.Groups > 0 {
			c.Step(1_000_001, groupOf(1, "FIRST", true))
		}
		before := len(c.jobs)
		effects := c.Step(1_000_002, groupOf(3, "K", false))
		a, _ := only[Answer](effects)
		if a.Err == nil || len(changesIn(effects)) != 0 || len(c.jobs) != before {
			t.Errorf("%+v: answered %v, %d jobs", limits, a.Err, len(c.jobs))
		}
	}
	c := signed()
	e := groupOf(3, "K", false)
	e.Jobs[2].ID = e.Group.ID.Job(7)
	if a, _ := only[Answer](c.Step(1_000_002, e)); a.Err == nil || len(c.jobs) != 0 {
		t.Errorf("a job of another name: %v, %d jobs", a.Err, len(c.jobs))
	}
}

// The cancel of a group is in one write with those of its jobs; then it can be removed as one.
func TestAGroupIsCancelledAsOne(t *testing.T) {
	t.Parallel()
	c := signed()
	e := groupOf(3, "K", true)
	c.Step(1_000_001, e)
	if a, _ := only[Answer](c.Step(1_000_002, RemoveGroup{Token: 3, Group: e.Group.ID})); a.Err == nil || !strings.Contains(a.Err.Error(), "3 of the 3 jobs") {
		t.Errorf("removed before its end: %v", a.Err)
	}
	effects := c.Step(1_000_003, CancelGroup{Token: 4, Group: e.Group.ID, By: "alice"})
	if saved := changesIn(effects); len(saved) != 5 { // the jobs, the group, and what became of them
		t.Errorf("the cancel saves %v", saved)
	}
	g := c.groups.all[e.Group.ID].rec
	if !g.CancelRequested || g.Ended != 1_000_003 || len(g.Coming) != 0 {
		t.Errorf("%+v", g)
	}
	for n := 1; n <= 3; n++ {
		if k := c.jobs[e.Group.ID.Job(n)]; k.rec.State != grid.Killed {
			t.Errorf("job %d is %s", n, k.rec.State)
		}
	}
	if a, _ := only[Answer](c.Step(1_000_004, RemoveGroup{Token: 5, Group: e.Group.ID})); a.Err != nil {
		t.Error(a.Err)
	}
	for _, k := range c.jobs {
		if !k.rec.Removed {
			t.Errorf("%s is there", k.rec.Job.ID)
		}
	}
	if a, _ := only[Answer](c.Step(1_000_005, CancelGroup{Token: 6, Group: e.Group.ID})); a.Err == nil {
		t.Error("a removed group is cancelled")
	}
}
