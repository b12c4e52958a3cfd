package core

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A group that was kept long enough goes with all that lies beside it; one that is removed has less to go.
func TestAnOldGroupGoes(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		s := newStand()
		id, open := s.sweep("1", 2, 0), s.sweep("2", 2, 0)
		for n := 1; n <= 2; n++ {
			s.end(id.Job(n))
			s.settle()
		}
		if removed {
			s.groups.remove(s.groups.all[id])
			s.settle()
		}
		never := func(*grid.Group) bool { return false }
		s.groups.retain(never, never)
		if s.groups.all[id] == nil {
			t.Fatal("it goes before its time")
		}
		s.groups.retain(func(*grid.Group) bool { return true }, never)
		_, kept := s.saved[id]
		if _, template := s.templates[id]; s.groups.all[id] != nil || kept || template || len(s.results) != 0 {
			t.Errorf("removed %t: kept %t, its template %t, results %v", removed, kept, template, s.results)
		}
		if s.groups.all[open] == nil {
			t.Errorf("removed %t: one whose jobs have not ended is gone", removed)
		}
	}
}

// A removal that a crash cut short goes on after it.
func TestARemovalGoesOnAfterAStart(t *testing.T) {
	t.Parallel()
	const n = maxRemoved + 5
	s := newStand()
	s.window = n
	s.begin()
	id := s.sweep("1", n, n)
	for k := range n {
		s.end(id.Job(k + 1))
		s.settle()
	}
	s.groups.remove(s.groups.all[id])
	if s.saved[id].Entered != 5 {
		t.Fatalf("%d are left", s.saved[id].Entered)
	}
	s.due = false
	if s.restart(); !s.due {
		t.Fatal("nobody looks at what is left")
	}
	if s.groups.due(); s.saved[id].Entered != 0 || len(s.state) != 0 {
		t.Errorf("%d are left, and %d jobs", s.saved[id].Entered, len(s.state))
	}
}

// The files of a template have their time; until it is over the group is looked at again.
func TestFilesOfATemplateHaveTheirTime(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.sweep("1", 2, 0, 0)
	s.now += s.groups.limit - 1
	s.due = false
	if s.groups.due(); !s.due || !s.groups.all[id].open() {
		t.Errorf("looked at again: %t, open: %t", s.due, s.groups.all[id].open())
	}
	s.now++
	if s.groups.due(); s.groups.all[id].open() {
		t.Error("it waits for ever")
	}
}

// After a start, or a time in which nobody listened, the files of a template have all their time again, as those of a job have; then
// they are late.
func TestFilesOfATemplateHaveTheirTimeAnew(t *testing.T) {
	t.Parallel()
	for what, begins := range map[string]func(*stand){"start": (*stand).restart, "stall": func(s *stand) { s.groups.awaitAnew() }} {
		s := newStand()
		id := s.sweep("1", 2, 0, 0)
		s.now += s.groups.limit - 1
		s.due = false
		if begins(s); !s.due {
			t.Errorf("after a %s nobody looks for them", what)
		}
		s.now += s.groups.limit - 1
		if s.groups.due(); !s.groups.all[id].open() {
			t.Errorf("after a %s they are late before their time", what)
		}
		s.now++
		if s.groups.due(); s.groups.all[id].open() {
			t.Errorf("after a %s they are waited for for ever", what)
		}
	}
}

// A template that this broker cannot read, as one of a later version, fails what is left of the sweep, with why.
func TestATemplateThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := newStand()
	s.groups.expand = nil
	id := s.sweep("1", 3, 0)
	if g := s.saved[id]; g.Ends[grid.Failed] != 3 || g.Ended == 0 || len(s.state) > 0 {
		t.Errorf("without a reader: %+v, %v", g, s.state)
	}
	s = newStand()
	s.groups.expand = func(grid.Template) (Expansion, error) { return nil, errors.New("no such version") }
	id = s.sweep("1", 3, 0)
	if g := s.saved[id]; g.Ends[grid.Failed] != 3 || len(s.state) > 0 {
		t.Errorf("of another version: %+v", g)
	}
}

// A job of a sweep that its user may never have, as it waits for one that there is not, fails at its turn; the others go on.
func TestAJobOfASweepThatNobodyMayHave(t *testing.T) {
	t.Parallel()
	cfg := signer(me, "a")
	cfg.Expand = func(grid.Template) (Expansion, error) {
		return func(n int) (grid.Job, error) {
			j := jobOf(me, "a", "1")
			if n == 2 {
				j.Terms.After = []grid.Dependency{{Kind: grid.AfterOK, On: "a." + strings.Repeat("9", 26)}} // which nobody has
			}
			return j, nil
		}, nil
	}
	c := New(cfg, nil, nil)
	begin(c)
	id := grid.NewGroupID("a", strings.Repeat("0", 25)+"K")
	a, _ := only[Answer](c.Step(c.now+1, SubmitGroup{
		Token: 1, Group: grid.Group{ID: id, User: grid.User{Home: me, Name: "alice"}, Key: "K", Jobs: 3, Template: grid.Hash{1}},
		Template: &grid.Template{Group: id, Document: "sweep"},
	}))
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	g := c.groups.all[id]
	if g.of(2).State != grid.Failed || c.job(id.Job(2)) != nil || c.job(id.Job(1)) == nil || c.job(id.Job(3)) == nil || g.rec.Entered != 3 {
		t.Errorf("number 2 is %v, %d have entered", g.of(2).State, g.rec.Entered)
	}
}

// A job of a sweep whose turn comes after its deadline ends as any other that has not started by then.
func TestAJobOfASweepWhoseTurnComesAfterItsDeadline(t *testing.T) {
	t.Parallel()
	cfg := signer(me, "a")
	deadline := 1_000_000 + grid.Hour
	cfg.Expand = func(grid.Template) (Expansion, error) {
		return func(int) (grid.Job, error) {
			j := jobOf(me, "a", "1")
			j.Terms.Deadline = deadline
			return j, nil
		}, nil
	}
	c := New(cfg, nil, nil)
	begin(c)
	id := grid.NewGroupID("a", strings.Repeat("0", 25)+"K")
	c.Step(c.now+1, SubmitGroup{
		Token: 1, Group: grid.Group{ID: id, User: grid.User{Home: me, Name: "alice"}, Key: "K", Jobs: 3, AtOnce: 1, Template: grid.Hash{1}},
		Template: &grid.Template{Group: id, Document: "sweep"},
	})
	if c.job(id.Job(1)) == nil || c.job(id.Job(2)) != nil {
		t.Fatal("not one of them has entered")
	}
	for now := deadline; c.groups.all[id].open() && now < deadline+grid.Minute; now++ {
		c.Step(now, Tick{})
	}
	for n := 1; n <= 3; n++ {
		if of := c.groups.all[id].of(n).State; of != grid.CancelledDeadline {
			t.Errorf("job %d is %v", n, of)
		}
	}
}

// After a rollback a job of a sweep whose turn had not come may have been made: its cancel is refused, with why, until that is known.
func TestACancelOfAJobWhoseTurnMayHaveCome(t *testing.T) {
	t.Parallel()
	c, e := sweeping(9)
	e.Template.Inputs, e.Group.AtOnce = nil, 2
	c.Step(c.now+1, e)
	id := e.Group.ID
	c.groups.all[id].recovered = true
	c.recovery.awaitAll("a test")
	cancel := func(n int) Answer {
		a, _ := only[Answer](c.Step(c.now+1, CancelRequest{Token: Token(n), Job: id.Job(n), By: "alice"}))
		return a
	}
	if a := cancel(5); !errors.Is(a.Err, grid.ErrNotYet) || c.groups.all[id].of(5).State != 0 {
		t.Errorf("while others are asked: %v", a.Err)
	}
	c.Step(c.now+1, MembersChanged{Members: []grid.Member{{Name: "b", Peer: her, SameUsers: true}}})
	if _, _, r := hears(c, c.now+1, her, wire.Request{Number: 1, Job: id.Job(5), User: "alice", Wish: wire.WishCancel}); r.Outcome != wire.OutcomeLater || r.Status != nil {
		t.Errorf("asked for at another broker: %+v", r)
	}
	c.recovery.rolled = nil
	if a := cancel(5); a.Err != nil || a.Record.State != grid.Killed || c.groups.all[id].of(5).State != grid.Killed {
		t.Errorf("when all have answered: %v, %v", a.Err, a.Record.State)
	}
	if a := cancel(12); !errors.Is(a.Err, grid.ErrNotFound) {
		t.Errorf("one that there is not: %v", a.Err)
	}
}

// Files of one job of a group do not come in time: with it the jobs fail that wait for theirs, and no others.
func TestAMemberWithoutItsFiles(t *testing.T) {
	t.Parallel()
	c := signed()
	group := groupOf(3, "G", true)
	if a, _ := only[Answer](c.Step(c.now+1, group)); a.Err != nil {
		t.Fatal(a.Err)
	}
	id := group.Group.ID
	for n := 1; n <= 3; n++ {
		if j := c.job(id.Job(n)); len(j.rec.Job.Inputs) > 0 && n > 1 {
			c.Step(c.now+1, Uploaded{Token: Token(n), Job: id.Job(n), Inputs: j.rec.Job.Inputs})
		}
	}
	for now := c.now; now < 1_000_000+2*c.cfg.UploadLimit; {
		now, _ = c.Next()
		c.Step(now, Tick{})
	}
	g := c.groups.all[id]
	for n := 1; n <= 3; n++ {
		if of := g.of(n); of.State != grid.Failed {
			t.Errorf("job %d is %v: %v", n, of.State, c.job(id.Job(n)).rec.Reason)
		}
	}
	if g.open() {
		t.Error("the group waits for ever")
	}
}

// Jobs wait for a sweep of which not all jobs are made yet, as a whole and number by number; what was dropped since is known to nobody.
func TestDependenciesOnASweep(t *testing.T) {
	t.Parallel()
	begin := func(kind grid.DependencyKind) (c *Core, sweep grid.GroupID, fourth grid.JobID) {
		c, e := sweeping(4)
		e.Template.Inputs, e.Group.AtOnce = nil, 2
		c.Step(c.now+1, e)
		sweep = e.Group.ID
		second := groupOf(4, "L", false)
		for i := range second.Jobs {
			second.Jobs[i].Terms.After = []grid.Dependency{{Kind: grid.AfterCorr, On: string(sweep)}}
		}
		if a, _ := only[Answer](c.Step(c.now+1, second)); a.Err != nil {
			t.Fatal(a.Err)
		}
		c.handIn(t, withTerms("2", grid.Terms{After: []grid.Dependency{{Kind: kind, On: string(sweep)}}}))
		return c, sweep, second.Group.ID.Job(4)
	}
	for kind, want := range map[grid.DependencyKind]string{grid.AfterAny: "goes", grid.AfterOK: "fails", grid.AfterNotOK: "goes"} {
		c, sweep, fourth := begin(kind)
		for n := 1; n <= 3; n++ {
			c.Step(c.now+1, CancelRequest{Token: 1, Job: sweep.Job(n), By: "alice"})
			if got := c.jobs[fourth].rec; got.State != grid.Ready {
				t.Errorf("when %d have ended, the fourth, which waits for the fourth of them, is %v: %s", n, got.State, got.Reason)
			}
			if got := fateOf(c, "2"); kind != grid.AfterOK && got != "waits" {
				t.Errorf("%s: when %d of 4 have ended, who waits for all %s", kind, n, got)
			}
		}
		c.Step(c.now+1, CancelRequest{Token: 1, Job: sweep.Job(4), By: "alice"})
		if got := fateOf(c, "2"); got != want || c.jobs[fourth].rec.State != grid.Failed {
			t.Errorf("%s: when all have ended, who waits for all %s, the fourth is %v", kind, got, c.jobs[fourth].rec.State)
		}
		c, sweep, fourth = begin(kind)
		delete(c.groups.all, sweep) // kept long enough, and dropped
		for n := range 4 {
			delete(c.jobs, sweep.Job(n+1))
		}
		for _, id := range []grid.JobID{withTerms("2", grid.Terms{}).ID, fourth} {
			clear(c.terms.said)
			c.terms.weigh(c.jobs[id])
		}
		if got := fateOf(c, "2"); got != want || c.jobs[fourth].rec.State != grid.Failed {
			t.Errorf("%s: when it is gone, who waits for all %s, the fourth is %v", kind, got, c.jobs[fourth].rec.State)
		}
	}
}

// Who waits for others, and is cancelled, waits for nobody any more.
func TestWhoEndedWaitsForNobody(t *testing.T) {
	t.Parallel()
	c := signed()
	first := withTerms("1", grid.Terms{})
	c.handIn(t, first)
	c.handIn(t, withTerms("2", grid.Terms{After: []grid.Dependency{{Kind: grid.AfterAny, On: string(first.ID)}}}))
	j := c.jobs[withTerms("2", grid.Terms{}).ID]
	c.Step(c.now+1, CancelRequest{Token: 1, Job: j.rec.Job.ID, By: "alice"})
	events := len(savesOf(c.Step(c.now+1, CancelRequest{Token: 2, Job: first.ID, By: "alice"}), j.rec.Job.ID))
	if j.rec.State != grid.Killed || events > 0 || len(j.rec.Job.Terms.After) != 1 {
		t.Errorf("it is %v, saved %d times, waits for %v", j.rec.State, events, j.rec.Job.Terms.After)
	}
}

// savesOf are those of a job.
func savesOf(effects []Effect, id grid.JobID) (list []grid.Change) {
	for _, e := range effects {
		if s, is := e.(Save); is {
			if of, _, job := s.Change.Job(); job && of == id {
				list = append(list, s.Change)
			}
		}
	}
	return list
}

// A job of a home is held while it is offered to another site: the offer is taken back, and what waits in the batch system here too. It
// stays at home until it is released.
func TestAHoldTakesAnOfferBack(t *testing.T) {
	t.Parallel()
	for _, attempt := range []uint32{0, 1} {
		j := jobOf(me, "a", "1")
		r := grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}
		if attempt > 0 {
			r.State, r.Run = grid.Assigned, grid.Run{Attempt: attempt, Local: "l"}
		}
		c := signed(r)
		k := c.job(j.ID)
		c.ownership.makeOffer(k, him, 0, 1)
		_, effects := altered(c, j.ID, grid.Alteration{Held: &yes})
		aborted := slices.ContainsFunc(sentTo(effects, him), func(m wire.Message) bool { return m.Kind() == wire.KindAbort })
		w, withdrawn := only[Withdraw](effects)
		if !aborted || withdrawn != (attempt > 0) || k.rec.Handoff.Phase != grid.NoHandoff {
			t.Errorf("attempt %d: the candidate is told %t, withdrawn %t, phase %d", attempt, aborted, withdrawn, k.rec.Handoff.Phase)
		}
		if withdrawn {
			c.Step(c.now+1, Withdrawn{ID: w.ID, Done: true})
		}
		if k.rec.State != grid.Ready || c.gates.kept(k) != untilReleased {
			t.Errorf("attempt %d: it is %v, kept %v", attempt, k.rec.State, c.gates.kept(k))
		}
	}
}

// A job of a sweep whose turn comes when that is removed which it waits for, goes by how it has ended.
func TestASweepOutlivesWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	for end, want := range map[grid.State]grid.State{grid.Completed: 0, grid.Killed: grid.Failed} {
		first := jobOf(me, "a", "1")
		cfg := signer(me, "a")
		cfg.Expand = func(grid.Template) (Expansion, error) {
			return func(int) (grid.Job, error) {
				j := jobOf(me, "a", "2")
				j.Terms.After = []grid.Dependency{{Kind: grid.AfterOK, On: string(first.ID)}}
				return j, nil
			}, nil
		}
		c := New(cfg, nil, []grid.Record{{Job: first, State: end, Submitted: 900_000, Ended: 950_000, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{End: end}}})
		begin(c)
		if a, _ := only[Answer](c.Step(c.now+1, RemoveRequest{Token: 1, Job: first.ID})); a.Err != nil {
			t.Fatal(a.Err)
		}
		id := grid.NewGroupID("a", strings.Repeat("0", 25)+"K")
		c.Step(c.now+1, SubmitGroup{
			Token: 1, Group: grid.Group{ID: id, User: grid.User{Home: me, Name: "alice"}, Key: "K", Jobs: 2, Template: grid.Hash{1}},
			Template: &grid.Template{Group: id, Document: "sweep"},
		})
		if got := c.groups.all[id].of(2); got.State != want || (want == 0) != (c.job(id.Job(2)) != nil && len(c.job(id.Job(2)).rec.Job.Terms.After) == 0) {
			t.Errorf("it has ended %v: the second job is %v", end, got.State)
		}
	}
}
