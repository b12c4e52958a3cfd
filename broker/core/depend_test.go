package core

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"gbroker/grid"
)

// What becomes of a job that waits for another, by how that one is.
func TestDependencies(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		kind                        grid.DependencyKind
		ready, running, well, else_ string // of the other
	}{
		{grid.After, "waits", "goes", "goes", "goes"},
		{grid.AfterAny, "waits", "waits", "goes", "goes"},
		{grid.AfterOK, "waits", "waits", "goes", "fails"},
		{grid.AfterNotOK, "waits", "waits", "fails", "goes"},
	} {
		for n, want := range []string{k.ready, k.running, k.well, k.else_} {
			other := grid.Record{Job: jobOf(me, "a", "1"), State: []grid.State{grid.Ready, grid.Running, grid.Completed, grid.Completed}[n], Tenure: grid.Tenure{Role: grid.Watching, Owner: her}}
			if n == 3 {
				other.Run = grid.Run{ExitCode: 2, HasExit: true}
			}
			c := signed(other)
			c.handIn(t, withTerms("2", grid.Terms{After: []grid.Dependency{{Kind: k.kind, On: string(other.Job.ID)}}}))
			if got := fateOf(c, "2"); got != want {
				t.Errorf("%s, of %s: it %s, not %s", k.kind, other.State, got, want)
			}
		}
	}
}

// fateOf is what a job does.
func fateOf(c *Core, n string) string {
	switch r := c.jobs[jobOf(me, "a", n).ID].rec; {
	case r.State == grid.Failed && strings.Contains(r.Reason, "can never come true"):
		return "fails"
	case r.State == grid.Ready && r.Reason == "":
		return "goes"
	case r.State == grid.Ready && strings.HasPrefix(r.Reason, "it waits for"):
		return "waits"
	default:
		return r.State.String() + " " + r.Reason
	}
}

// A chain goes on by itself: what fails ends what needs it, and lets go what waits for that.
func TestAChainOfDependencies(t *testing.T) {
	t.Parallel()
	on := func(kind grid.DependencyKind, n string) grid.Terms {
		return grid.Terms{After: []grid.Dependency{{Kind: kind, On: string(jobOf(me, "a", n).ID)}}}
	}
	build := func() *Core {
		c := signed()
		c.handIn(t, jobOf(me, "a", "1"))
		c.handIn(t, withTerms("2", on(grid.AfterOK, "1")))
		c.handIn(t, withTerms("3", on(grid.AfterOK, "2")))
		c.handIn(t, withTerms("4", on(grid.AfterNotOK, "3")))
		return c
	}
	c := build()
	c.Step(c.now+1, CancelRequest{Token: 1, Job: jobOf(me, "a", "1").ID, By: "alice"})
	if got := fateOf(c, "2") + " " + fateOf(c, "3") + " " + fateOf(c, "4"); got != "fails fails goes" {
		t.Error(got)
	}
	if len(c.terms.awaited) != 0 {
		t.Errorf("somebody still waits: %v", c.terms.awaited)
	}
	// The same, found at a start.
	c = build()
	var records []grid.Record
	for _, j := range c.sorted() {
		r := j.rec
		if r.Job.ID == jobOf(me, "a", "1").ID {
			r.State, r.End = grid.Killed, grid.Killed
		}
		records = append(records, r)
	}
	c = signed(records...)
	if got := fateOf(c, "2") + " " + fateOf(c, "3") + " " + fateOf(c, "4"); got != "fails fails goes" {
		t.Errorf("after a start: %s", got)
	}
}

// Of those of one name one goes at a time, in their order.
func TestSingletons(t *testing.T) {
	t.Parallel()
	c := signed()
	for _, n := range []string{"1", "2", "3"} {
		j := withTerms(n, grid.Terms{After: []grid.Dependency{{Kind: grid.Singleton}}})
		j.Name = "night"
		c.handIn(t, j)
	}
	for n, want := range []string{"goes waits waits", "goes waits", "goes"} {
		var got []string
		for k := n; k < 3; k++ {
			got = append(got, fateOf(c, string(rune('1'+k))))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d have ended: %v, not %s", n, got, want)
		}
		c.Step(c.now+1, CancelRequest{Token: 1, Job: jobOf(me, "a", string(rune('1'+n))).ID, By: "alice"})
	}
}

// A clock that was set back puts nobody before a job that he depends on.
func TestASingletonAndAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	c := signed()
	runs, single, follows := withTerms("1", grid.Terms{}), withTerms("9", grid.Terms{After: []grid.Dependency{{Kind: grid.Singleton}}}), withTerms("2", grid.Terms{})
	follows.Terms.After = []grid.Dependency{{Kind: grid.AfterAny, On: string(single.ID)}}
	for i, j := range []*grid.Job{&runs, &single, &follows} {
		j.Name = "night"
		if i == 2 {
			c.jobs[single.ID].rec.Submitted += grid.Hour // as before the clock was set back and the broker started again
			c.terms.noteMoved(c.jobs[single.ID])
		}
		c.handIn(t, *j)
	}
	c.Step(c.now+1, CancelRequest{Token: 1, Job: runs.ID, By: "alice"})
	if got := fateOf(c, "9") + " " + fateOf(c, "2"); got != "goes waits" {
		t.Errorf("the singleton and who follows it: %s", got)
	}
}

// Of groups: as a whole, and number by number.
func TestDependenciesOnGroups(t *testing.T) {
	t.Parallel()
	c := signed()
	first := groupOf(2, "K", false)
	c.Step(c.now+1, first)
	second := groupOf(2, "L", false)
	for i := range second.Jobs {
		second.Jobs[i].Terms.After = []grid.Dependency{{Kind: grid.AfterCorr, On: string(first.Group.ID)}}
	}
	if a, _ := only[Answer](c.Step(c.now+1, second)); a.Err != nil {
		t.Fatal(a.Err)
	}
	c.handIn(t, withTerms("9", grid.Terms{After: []grid.Dependency{{Kind: grid.AfterNotOK, On: string(first.Group.ID)}}}))
	c.Step(c.now+1, CancelRequest{Token: 1, Job: first.Group.ID.Job(1), By: "alice"})
	if one, two := c.jobs[second.Group.ID.Job(1)].rec, c.jobs[second.Group.ID.Job(2)].rec; one.State != grid.Failed || two.State != grid.Ready || two.Reason == "" {
		t.Errorf("number 1 is %s, number 2 %s %q", one.State, two.State, two.Reason)
	}
	if got := fateOf(c, "9"); got != "waits" {
		t.Errorf("while one of the group has not ended it %s", got)
	}
	c.Step(c.now+1, CancelRequest{Token: 1, Job: first.Group.ID.Job(2), By: "alice"})
	if got := fateOf(c, "9"); got != "goes" {
		t.Errorf("when all have ended it %s", got)
	}
}

// What is not known here, is of others or of another home, is refused at submission.
func TestDependenciesThatAreRefused(t *testing.T) {
	t.Parallel()
	theirs := jobOf(me, "a", "7")
	theirs.User.Name = "bob"
	c := signed(grid.Record{Job: theirs, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	for on, want := range map[grid.Dependency]string{
		{Kind: grid.AfterOK, On: string(jobOf(me, "a", "8").ID)}:  "not known here",
		{Kind: grid.AfterOK, On: string(jobOf(her, "b", "1").ID)}: "its own home alone",
		{Kind: grid.AfterOK, On: string(theirs.ID)}:               "another user",
		{Kind: grid.Singleton}:                                    "without a name",
	} {
		a, _ := only[Answer](c.Step(c.now+1, Submit{Token: 1, Job: withTerms("1", grid.Terms{After: []grid.Dependency{on}})}))
		if a.Err == nil || !strings.Contains(a.Err.Error(), want) {
			t.Errorf("%+v: %v", on, a.Err)
		}
	}
	if a, _ := only[Answer](c.Step(c.now+1, Submit{Token: 1, Job: withTerms("1", grid.Terms{Deadline: c.now})})); a.Err == nil {
		t.Error("a deadline that has passed is taken")
	}
}

// Of many that wait for one group of many, an end costs as much as there are, not as there are pairs. It counts
// allocations of the whole process: not parallel.
func TestManyThatWait(t *testing.T) {
	const n = 300
	costs := func(c *Core, id grid.JobID) int {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.Step(c.now+1, CancelRequest{Token: 1, Job: id, By: "alice"})
		runtime.ReadMemStats(&after)
		return int(after.Mallocs - before.Mallocs)
	}
	id := func(i int) string { return strconv.Itoa(1000 + i) }
	c := signed()
	g := groupOf(n, "K", false)
	c.Step(c.now+1, g)
	for i := range n {
		c.handIn(t, withTerms(id(i), grid.Terms{After: []grid.Dependency{{Kind: grid.AfterAny, On: string(g.Group.ID)}}}))
	}
	if k := costs(c, g.Group.ID.Job(1)); k > 40*n {
		t.Errorf("an end of a group of %d, for which %d wait, allocates %d times", n, n, k)
	}
}

// Who came first is told by when it was handed in, then by its number in its group, then by its name.
func TestWhoCameFirst(t *testing.T) {
	t.Parallel()
	group := grid.NewGroupID("a", strings.Repeat("0", 26))
	of := func(id grid.JobID, at grid.Tick) *job {
		return &job{rec: grid.Record{Job: grid.Job{ID: id}, Submitted: at}}
	}
	one, two := jobOf(me, "a", "1").ID, jobOf(me, "a", "2").ID
	for _, k := range [][2]*job{
		{of(two, 5), of(one, 6)}, {of(group.Job(9), 5), of(group.Job(10), 5)}, {of(one, 5), of(two, 5)}, {of(group.Job(10), 4), of(group.Job(9), 5)},
	} {
		if !earlier(k[0], k[1]) || earlier(k[1], k[0]) || earlier(k[0], k[0]) {
			t.Errorf("%s at %d is not before %s at %d", k[0].rec.Job.ID, k[0].rec.Submitted, k[1].rec.Job.ID, k[1].rec.Submitted)
		}
	}
}

// A dependency on a group that is not known, or of which no job can be meant, is refused with its reason.
func TestDependenciesThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	other, group := jobOf(me, "a", "1"), groupOf(2, "G", false)
	c := signed()
	c.handIn(t, other)
	c.Step(c.now+1, group)
	for says, d := range map[string]grid.Dependency{
		"aftercorr is of a group":      {Kind: grid.AfterCorr, On: string(other.ID)},
		"this is job 0 of a group":     {Kind: grid.AfterCorr, On: string(group.Group.ID)},
		"this group is not known here": {Kind: grid.After, On: string(grid.NewGroupID("a", strings.Repeat("0", 25)+"X"))},
	} {
		a, _ := only[Answer](c.Step(c.now+1, Submit{Token: 1, Job: withTerms("2", grid.Terms{After: []grid.Dependency{d}})}))
		if a.Err == nil || !strings.Contains(a.Err.Error(), says) {
			t.Errorf("%s %s: %v", d.Kind, d.On, a.Err)
		}
	}
}

// A job that waits for a group goes, or can never go, when all of that have ended.
func TestDependenciesOnAGroup(t *testing.T) {
	t.Parallel()
	for kind, want := range map[grid.DependencyKind]string{grid.AfterAny: "goes", grid.AfterOK: "fails", grid.AfterNotOK: "goes"} {
		c := signed()
		group := groupOf(2, "G", false)
		c.Step(c.now+1, group)
		c.handIn(t, withTerms("2", grid.Terms{After: []grid.Dependency{{Kind: kind, On: string(group.Group.ID)}}}))
		c.Step(c.now+1, CancelRequest{Token: 1, Job: group.Group.ID.Job(1), By: "alice"})
		before := fateOf(c, "2")
		c.Step(c.now+1, CancelRequest{Token: 1, Job: group.Group.ID.Job(2), By: "alice"})
		if after := fateOf(c, "2"); after != want || kind == grid.AfterAny && before != "waits" {
			t.Errorf("%s: it %s, then %s; want %s", kind, before, after, want)
		}
	}
	if got := waitsFor([]grid.Dependency{{Kind: grid.After, On: "a.1"}, {Kind: grid.After, On: "a.2"}}); got != "it waits for after a.1 and 1 more" {
		t.Error(got)
	}
}
