package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// A job whose reservation is lost is queued without one where it was made for it, at its home; elsewhere it goes back there.
func TestWhoIsQueuedWithoutAReservation(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		home   grid.PeerID
		change func(*grid.Record)
		done   bool
		goes   bool
	}{
		"made for it":         {me, func(*grid.Record) {}, true, true},
		"its user's":          {me, func(r *grid.Record) { r.Job.Guaranteed = nil }, false, false},
		"elsewhere":           {her, func(*grid.Record) {}, true, false},
		"another has it":      {me, func(r *grid.Record) { r.Role, r.Owner = grid.Watching, her }, false, false},
		"a part of a whole":   {me, func(r *grid.Record) { r.Job.Part = &grid.Part{Of: theWhole} }, false, false},
		"another, of a third": {her, func(r *grid.Record) { r.Role, r.Owner = grid.Tombstone, him }, false, false},
	} {
		o := &others{}
		j := jobOf(k.home, "a", "1")
		j.Reservation, j.Guaranteed = "r1", &grid.Choice{}
		r := grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}
		k.change(&r)
		kern := kernelOf(o, r)
		m := &search{kernel: kern, budgets: o, estimator: o, execution: o, gates: o, ownership: o, terms: o}
		done := m.unreserved(kern.jobs[j.ID])
		if got := kern.jobs[j.ID].rec.Job; done != k.done || (got.Reservation == "") != k.goes || len(m.undecided) > 0 != k.goes {
			t.Errorf("%s: done %t, its reservation is %q, put up %v", name, done, got.Reservation, m.undecided)
		}
	}
}

// Of a job in the archive it is known whether it went well.
func TestADependencyOnAnArchivedJob(t *testing.T) {
	t.Parallel()
	for exit, want := range map[int]map[grid.DependencyKind]string{0: {grid.AfterOK: "goes", grid.AfterNotOK: "fails"}, 3: {grid.AfterOK: "fails", grid.AfterNotOK: "goes"}} {
		for kind, fate := range want {
			r := longRecord(7, me, grid.Completed)
			r.ExitCode = exit
			c, _ := kept(t, r)
			if c.jobs[r.Job.ID] != nil {
				t.Fatal("it is not in the archive")
			}
			j := jobOf(me, "a", "2")
			j.User = r.Job.User
			j.Terms.After = []grid.Dependency{{Kind: kind, On: string(r.Job.ID)}}
			c.handIn(t, j)
			if got := fateOf(c, "2"); got != fate {
				t.Errorf("exit %d, %s: it %s", exit, kind, got)
			}
		}
	}
}

// A site that does not answer a wish for nodes is given up when half of the others' limit is over.
func TestASiteThatDoesNotAnswerAReserve(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Reserving)
	for range c.m.cfg.Limit/2/grid.Second - 1 {
		c.pass(grid.Second)
		if c.settled(); c.rec().State != grid.Reserving {
			t.Fatalf("it is %v: %s", c.rec().State, c.rec().Reason)
		}
	}
	c.pass(2 * grid.Second)
	c.settled()
	if r := c.rec().Refused; c.rec().State != grid.Planned || len(r) != 1 || r[0].Peer != "b" || r[0].Why != "no answer" {
		t.Errorf("it is %v, refused by %+v", c.rec().State, r)
	}
}

// A whole that has one site is planned over several again when that is too small; any other is as it was.
func TestWhichWholeIsPlannedAgain(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.settled()
	if c.m.severalAgain("a.unknown") || c.m.severalAgain(theWhole) {
		t.Error("one that has several is planned again")
	}
	c.rec().State, c.rec().Fails = grid.OneSite, 5
	if !c.m.severalAgain(theWhole) || c.rec().State != grid.Planned || c.rec().Fails != 1 || !c.rec().Outgrown || c.rec().Next <= c.f.now {
		t.Errorf("it is %+v", c.rec())
	}
}

// A part of a round that was given up before it was made, as this journal has it, is known again: it is ended like the others.
func TestAPartThatWasMadeAfterAll(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Confirming)
	p := c.of("b").Job
	c.m.abandon(c.m.all[theWhole], "its user holds it")
	c.m.stale[theWhole] = true
	c.settled()
	c.f.records[p] = &grid.Record{Job: grid.Job{ID: p, Part: &grid.Part{Of: theWhole, Round: 1}}, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: "b"}}
	c.m.stale[theWhole] = true
	if got := c.settled(); !c.of("b").Made || c.rec().State != grid.Planned || !slices.Contains([]string{"save PLANNED, save PLANNED, cancel 1", "save PLANNED, cancel 1"}, got) {
		t.Errorf("it is %v, made %t: %s", c.rec().State, c.of("b").Made, got)
	}
}

// A part of which only traces are left is made again for a whole that has not ended, once, and under a number that the whole has used.
func TestWhichPartIsMadeAgain(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Confirming)
	id := c.rec().PartID(9)
	if j, is := c.m.remade(id, "bb"); !is || j.ID != id || j.Part.Of != theWhole || j.Part.Sites[0].Name != "bb" {
		t.Errorf("%+v, %t", j, is)
	}
	if j, is := c.m.remade(c.of("b").Job, "bb"); !is || len(j.Part.Sites) != 2 {
		t.Errorf("one of the round: %+v, %t", j, is)
	}
	if _, is := c.m.remade("b.00000000000000000000000001.9", "bb"); is {
		t.Error("one of an unknown whole")
	}
	c.f.records[theWhole].State = grid.Killed
	if _, is := c.m.remade(id, "bb"); is {
		t.Error("one of a whole that has ended")
	}
}

// Jobs of a sweep that a lost branch of the journal had made take no room: they enter though its user may have no more, and are counted by what became
// of them.
func TestWhatWasMadeBeforeTakesNoRoom(t *testing.T) {
	t.Parallel()
	for third, want := range map[string]string{"free": "free free free  ", "ended": "free free ended  "} {
		s := newStand()
		s.most = 2
		id := s.sweep("1", 5, 0)
		if got := s.states(id); got != "free free   " {
			t.Fatalf("%q", got)
		}
		s.most, s.state[id.Job(3)] = 3, third
		if third == "ended" {
			s.most = 2
		}
		s.groups.hungry = true
		s.settle()
		if got := s.states(id); got != want || s.saved[id].Entered != 3 || slices.Contains(s.entered, id.Job(3)) {
			t.Errorf("%s: %q, %d have entered: %v", third, got, s.saved[id].Entered, s.entered)
		}
		if third == "ended" && s.groups.all[id].of(3).State == 0 {
			t.Error("its end is not counted")
		}
	}
}

// What became of a job of a group is known from its record, or the archive; one of which there is nothing is lost.
func TestWhatBecameOfAMember(t *testing.T) {
	t.Parallel()
	ended := longRecord(7, me, grid.Completed)
	ended.ExitCode = 3
	c, _ := kept(t, ended, longRecord(8, me, grid.Ready))
	m := memberJobs{c.home}
	if got := m.became("a.unknown"); got.State != grid.Lost {
		t.Errorf("an unknown one is %v", got.State)
	}
	if got := m.became(ended.Job.ID); got.State != grid.Completed {
		t.Errorf("one in the archive is %v", got.State)
	}
	if got := m.became(longRecord(8, me, grid.Ready).Job.ID); got.State != 0 {
		t.Errorf("one that waits is %v", got.State)
	}
}

// Instants of a wish travel as spans, and what is not said stays unsaid.
func TestInstantsOfAWish(t *testing.T) {
	t.Parallel()
	c := trusting(nil)
	at := grid.Tick(2_000_000 + grid.Hour)
	for _, alter := range []grid.Alteration{{NotBefore: &at}, {Deadline: &at}} {
		var m wire.Request
		for _, x := range sent(c.Step(2_000_000, Forward{Token: 3, To: her, Wish: Wish{Job: jobOf(her, "b", "1").ID, User: "alice", Ask: wire.WishAlter, Alter: alter}})) {
			if r, is := x.(wire.Request); is {
				m = r
			}
		}
		if a := m.Alter; a == nil || a.NotBefore.Known != (alter.NotBefore != nil) || a.Deadline.Known != (alter.Deadline != nil) || max(a.NotBefore.Span, a.Deadline.Span) != grid.Hour {
			t.Fatalf("said is %+v", m.Alter)
		}
		c.kernel.now = 5_000_000
		w := c.relay.wishOf(m).Alter
		if (w.NotBefore == nil) != (alter.NotBefore == nil) || w.NotBefore != nil && *w.NotBefore != 5_000_000+grid.Hour || (w.Deadline == nil) != (alter.Deadline == nil) {
			t.Errorf("heard is %+v", w)
		}
		c.kernel.now = 2_000_000
	}
}

// The folder with the files of a sweep is needed as long as its jobs have not ended.
func TestTheFolderOfASweepStays(t *testing.T) {
	t.Parallel()
	c, e := sweeping(2)
	c.Step(c.now+1, e)
	id := e.Group.ID.Template()
	for range strayLooks + 2 {
		for _, f := range c.Step(c.now+grid.Minute, Folders{Jobs: []grid.JobID{id}}) {
			switch f.(type) {
			case Discard, SetAside:
				t.Fatalf("it goes: %+v", f)
			}
		}
	}
	if c.execution.orphans[id] > 0 {
		t.Error("it counts as one that nobody needs")
	}
	c.Step(c.now+1, CancelGroup{Token: 2, Group: e.Group.ID, By: "alice"})
	if c.Step(c.now+grid.Minute, Folders{Jobs: []grid.JobID{id}}); c.execution.orphans[id] == 0 {
		t.Error("it is needed for ever")
	}
}

// The jobs of a group wait for all of their files.
func TestAGroupIsKeptUntilItsFilesAreHere(t *testing.T) {
	t.Parallel()
	c := signed()
	group := groupOf(2, "G", true)
	c.Step(c.now+1, group)
	second := c.job(group.Group.ID.Job(2))
	if got := c.terms.keepsBack(second); got != untilFiles {
		t.Errorf("it is kept %v", got)
	}
	c.Step(c.now+1, Uploaded{Token: 2, Job: group.Group.ID.Job(1), Inputs: grid.Manifest{{Path: "in", Size: 5}}})
	if got := c.terms.keepsBack(second); got != notKept {
		t.Errorf("with its files it is kept %v", got)
	}
}

// What the sources of a job cost becomes known when it runs already: it counts, and ends nothing.
func TestCostsThatAreKnownTooLate(t *testing.T) {
	t.Parallel()
	for state, ends := range map[grid.State]bool{grid.Ready: true, grid.Running: false, grid.Moving: false} {
		c := signed(grid.Record{Job: sourceJob(), State: grid.Ready, Submitted: 1_000_000, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}, Owner: me}})
		c.cfg.User.Bytes = 1000
		j := c.job(sourceJob().ID)
		j.weighing, j.rec.State = true, state
		c.Step(c.now+1, Weighed{Job: j.rec.Job.ID, Cost: grid.SourceCost{Bytes: 5000}})
		if j.rec.State.Terminal() != ends || j.cost.Bytes != 5000 {
			t.Errorf("%v: it is %v", state, j.rec.State)
		}
	}
}

// Where the scheduler starts whatever fits, a job that waits has no safe start.
func TestAStayThatIsNotSafe(t *testing.T) {
	t.Parallel()
	for kind, safe := range map[plan.Kind]bool{plan.EASY: true, plan.FirstFit: false} {
		q := newQueue(t, 1, nil, her)
		q.shot.Policy = plan.Policy{Kind: kind}
		told(q, her, grid.Estimate{Refusal: forNow("busy")})
		q.pass(grid.Hour)
		d := q.jobs[jobOf(me, "a", "1").ID].rec.Stay
		if d == nil || (d.Candidates[0].Safe == grid.Unsure) == safe || d.Candidates[0].Wait == 0 {
			t.Errorf("policy %v: %+v", kind, d)
		}
	}
}
