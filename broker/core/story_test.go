package core

import (
	"maps"
	"slices"
	"testing"

	"gbroker/grid"
)

// hand gives a job to a site now.
func (w *world) hand(s *site, n string, cores int, rerunnable bool) grid.JobID {
	j := jobOf(s.peer, s.name, n)
	j.Rerunnable = rerunnable
	j.Demand.Chunks[0].Count = cores
	s.step(Submit{Token: 1, Job: j, Key: n})
	return j.ID
}

// cutOff parts a site from all others; they hear of it.
func (w *world) cutOff(s *site) {
	w.cut = map[[2]grid.PeerID]bool{}
	for _, o := range w.sites {
		if o != s {
			w.cut[[2]grid.PeerID{s.peer, o.peer}], w.cut[[2]grid.PeerID{o.peer, s.peer}] = true, true
			s.step(PeerChanged{o.peer, grid.Dead})
			o.step(PeerChanged{s.peer, grid.Dead})
		}
	}
}

// join ends that.
func (w *world) join(s *site) {
	w.cut = nil
	for _, o := range w.sites {
		if o != s {
			s.step(PeerChanged{o.peer, grid.Alive})
			o.step(PeerChanged{s.peer, grid.Alive})
		}
	}
}

// until runs the world until done holds, and fails if it never does.
func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	if !w.run(w.now+grid.Hour, done) {
		w.t.Fatalf("never: %s\n%s", what, w.story(""))
	}
}

func (s *site) is(id grid.JobID, state grid.State) func() bool {
	return func() bool { return s.journal[id].State == state }
}

// three makes the sites a, too small for two processes, b and c.
func three(t *testing.T) (w *world, a, b, c *site) {
	w = newWorld(t, 1, faults{}, 1, 4, 4)
	w.boot()
	return w, w.sites[0], w.sites[1], w.sites[2]
}

func TestForgetAndReturn(t *testing.T) {
	t.Parallel()
	w, a, b, _ := three(t)
	story := recordWorld(w, `A site is cut off while it runs a rerunnable job; its home forgets it, and the job runs
		again elsewhere. What happens when the site comes back with a result?`)
	id := w.hand(a, "1", 2, true)
	w.until("it runs at b", a.is(id, grid.Running))
	story.does("b is cut off", func() { w.cutOff(b) })
	story.does("an administrator of a forgets b", func() { a.step(Forget{Token: 2, Site: b.peer, By: "root"}) })
	w.until("it runs again", a.is(id, grid.Running))
	w.run(w.now+2*grid.Minute, b.is(id, grid.StageOut))
	story.does("b can be reached again", func() { w.join(b) })
	w.until("it is completed", a.is(id, grid.Completed))
	w.run(w.now+2*grid.Minute, nil)
	if r := b.journal[id]; r.Role != grid.Tombstone || !r.Kept || len(r.Outputs) == 0 {
		t.Errorf("b has it %s, kept %t, with %d files", r.Role, r.Kept, len(r.Outputs))
	}
	if got := a.answers[2].Fates; len(got) != 1 || got[0].Verdict != RunAgain {
		t.Errorf("forgetting said %+v", got)
	}
	story.check(t, "forget-and-return")
}

func TestALostJobGainsItsResult(t *testing.T) {
	t.Parallel()
	w, a, b, _ := three(t)
	story := recordWorld(w, `A job that may not run twice is given up with the site that has it. The site comes back,
		with the job running. Is it ended, and does its user get the result?`)
	id := w.hand(a, "1", 2, false)
	w.until("it runs at b", a.is(id, grid.Running))
	story.does("b is cut off", func() { w.cutOff(b) })
	story.does("an administrator of a forgets b", func() { a.step(Forget{Token: 2, Site: b.peer, By: "root"}) })
	if r := a.journal[id]; r.State != grid.Lost {
		t.Fatalf("it is %s", r.State)
	}
	story.does("b can be reached again", func() { w.join(b) })
	w.until("it has its result", a.is(id, grid.Completed))
	w.run(w.now+2*grid.Minute, nil)
	if r := b.journal[id]; r.Role != grid.Tombstone {
		t.Errorf("b still has it %s %s", r.Role, r.State)
	}
	story.check(t, "lost-and-return")
}

// A job that was given up for LOST while it waited does not start afterwards.
func TestALostJobThatWaitsIsWithdrawn(t *testing.T) {
	t.Parallel()
	w, a, b, c := three(t)
	busy := w.hand(b, "2", 4, false)
	w.until("b is busy", b.is(busy, grid.Running))
	c.cores = 1
	id := w.hand(a, "1", 2, false)
	w.until("it waits at b", a.is(id, grid.Assigned))
	w.cutOff(b)
	a.step(Forget{Token: 2, Site: b.peer, By: "root"})
	w.join(b)
	w.until("b has dropped it", func() bool { return b.journal[id].Role == grid.Tombstone })
	w.run(w.now+grid.Hour, nil)
	if n := len(w.starts[id]); n != 0 || a.journal[id].State != grid.Lost {
		t.Errorf("%d starts, and it is %s", n, a.journal[id].State)
	}
}

func TestAReturningResultIsAdopted(t *testing.T) {
	t.Parallel()
	w, a, b, c := three(t)
	story := recordWorld(w, `The new attempt of a forgotten site's job has not started yet when the site comes back with
		its result. Which one counts?`)
	c.cores = 1
	id := w.hand(a, "1", 2, true)
	w.until("it runs at b", a.is(id, grid.Running))
	story.does("b is cut off", func() { w.cutOff(b) })
	story.does("an administrator of a forgets b", func() { a.step(Forget{Token: 2, Site: b.peer, By: "root"}) })
	w.until("it has ended at b", b.is(id, grid.StageOut))
	story.does("b can be reached again", func() { w.join(b) })
	w.until("it is completed", a.is(id, grid.Completed))
	w.run(w.now+2*grid.Minute, nil)
	if r := b.journal[id]; r.Role != grid.Tombstone || r.Kept {
		t.Errorf("b has it %s, kept %t", r.Role, r.Kept)
	}
	if n := len(w.starts[id]); n != 1 {
		t.Errorf("started %d times: its result had come before the new attempt began", n)
	}
	story.check(t, "return-adopted")
}

// The answer to an older report of the returning site comes when its result is there already,
// and is being adopted: the output must stay until the home has it.
func TestAnAdoptedResultKeepsItsOutput(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		w := newWorld(t, seed, faults{delay: 30}, 1, 4, 1)
		w.boot()
		a, b := w.sites[0], w.sites[1]
		id := w.hand(a, "1", 2, seed%2 == 0)
		w.until("it runs at b", a.is(id, grid.Running))
		w.cutOff(b)
		b.crash(2 * grid.Hour)
		a.step(Forget{Token: 2, Site: b.peer, Fenced: true, By: "root"})
		w.until("its program has ended", func() bool { return !w.runs(id) })
		w.run(w.now+2*grid.Hour-grid.Minute, nil)
		w.cut = nil
		w.until("it is completed", a.is(id, grid.Completed))
		w.run(w.now+2*grid.Minute, nil)
		if r := b.journal[id]; len(w.starts[id]) != 1 || r.Role != grid.Tombstone || r.Kept {
			t.Errorf("seed %d: started %d times; b has it %s, kept %t", seed, len(w.starts[id]), r.Role, r.Kept)
		}
	}
}

func TestCancelAgainstMove(t *testing.T) {
	t.Parallel()
	w, a, b, _ := three(t)
	story := recordWorld(w, `A user cancels a job between its commit and the word that it is owned. Is it killed before
		it starts, and told so only then?`)
	id := w.hand(a, "1", 2, false)
	w.cut = map[[2]grid.PeerID]bool{}
	w.until("b is ready", func() bool { return b.journal[id].Role == grid.Prepared })
	w.cut[[2]grid.PeerID{a.peer, b.peer}] = true
	w.until("it is committed", func() bool { return a.journal[id].Handoff.Phase == grid.Committed })
	story.does("its user cancels it", func() { a.step(CancelRequest{Token: 3, Job: id, By: "alice"}) })
	if r := a.journal[id]; !r.CancelRequested || r.State.Terminal() {
		t.Fatalf("it is %s, cancel requested %t", r.State, r.CancelRequested)
	}
	w.run(w.now+2*grid.Second, nil)
	story.does("a can reach b again", func() { w.cut = nil })
	w.until("it is killed", a.is(id, grid.Killed))
	w.run(w.now+grid.Minute, nil)
	if n := len(w.starts[id]); n != 0 {
		t.Errorf("it was started: %v", w.starts[id])
	}
	story.check(t, "cancel-against-move")
}

func TestAHomeLearnsItsJobsAgain(t *testing.T) {
	t.Parallel()
	w, a, b, _ := three(t)
	story := recordWorld(w, `The home of a job loses its journal while another site runs the job. Does its user get the
		result?`)
	id := w.hand(a, "1", 2, false)
	w.until("it runs at b", a.is(id, grid.Running))
	story.does("the journal of a is lost", func() {
		a.crash(grid.Second)
		a.journal = map[grid.JobID]grid.Record{}
		a.seen = map[grid.PeerID][]grid.JournalID{}
		a.id = grid.JournalID{Incarnation: 77}
	})
	w.until("a knows it again", func() bool { return a.journal[id].Role == grid.Watching })
	w.until("it is completed", a.is(id, grid.Completed))
	w.run(w.now+grid.Minute, nil)
	if r := a.journal[id]; r.Submitted == 0 || r.Started == 0 || b.journal[id].Role != grid.Tombstone {
		t.Errorf("a has %+v", r)
	}
	story.check(t, "home-lost-its-journal")
}

func TestARollbackStartsNothingTwice(t *testing.T) {
	t.Parallel()
	w, a, b, _ := three(t)
	a.cores = 4
	story := recordWorld(w, `A home is restored from a backup that was made before it handed a job over. The backup says
		that the job waits here. Does it run twice?`)
	busy := w.hand(a, "2", 4, false)
	w.until("a is busy", a.is(busy, grid.Running))
	var backup map[grid.JobID]grid.Record
	var at grid.JournalID
	id := jobOf(a.peer, a.name, "1").ID
	b.speed = 0.9 // it would end sooner here, if it could start here
	w.hand(a, "1", 2, false)
	backup, at = maps.Clone(a.journal), a.id
	w.until("it runs at b", a.is(id, grid.Running))
	story.does("a is restored from a backup", func() {
		a.crash(grid.Second)
		a.journal, a.id, w.restored = backup, at, true
	})
	w.run(w.now+20*grid.Second, nil)
	if r := a.journal[id]; r.Role != grid.Watching || r.Owner != b.peer {
		t.Errorf("a has it %s, owned by %s", r.Role, r.Owner)
	}
	w.until("it is completed", a.is(id, grid.Completed))
	w.until("the other too", a.is(busy, grid.Completed))
	if a.host.core.recovery.rolled != nil || a.id.Sequence <= at.Sequence {
		t.Error("a still waits for its neighbours")
	}
	story.check(t, "rollback")
}

// A broker that was rolled back waits for all its neighbours, and for no others.
func TestARollbackWaitsForAll(t *testing.T) {
	t.Parallel()
	w, a, b, c := three(t)
	w.run(w.now+10*grid.Second, nil)
	w.cutOff(c)
	a.crash(grid.Second)
	a.id.Sequence = 0
	b.seen[a.peer] = []grid.JournalID{{Incarnation: a.id.Incarnation, Sequence: 100}}
	b.crash(1)
	w.run(w.now+30*grid.Second, nil)
	if a.host.core.recovery.rolled == nil || !slices.Equal(slices.Collect(maps.Keys(a.host.core.recovery.rolled.waiting)), []grid.PeerID{c.peer}) {
		t.Fatalf("rolled back: %+v", a.host.core.recovery.rolled)
	}
	a.crash(grid.Second)
	a.id.Sequence = 1000 // as if it had grown beyond what was seen
	w.run(w.now+10*grid.Second, nil)
	if a.host.core.recovery.rolled == nil || !a.host.core.recovery.rolled.waiting[c.peer] {
		t.Fatal("forgotten by a restart")
	}
	id := w.hand(a, "1", 1, false)
	w.run(w.now+grid.Hour, nil)
	if n := len(w.starts[id]); n != 0 {
		t.Errorf("started before all were asked: %v", w.starts[id])
	}
	w.join(c)
	w.until("it is completed", a.is(id, grid.Completed))
	if a.id.Sequence < 100 {
		t.Errorf("the sequence is %d: the alarm would be raised again", a.id.Sequence)
	}
}
