package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A site that drains has other places searched for the jobs of its users that wait, at once; not for one that is to be of a new version first.
func TestADrainPutsJobsUp(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		change func(*grid.Record)
		up     bool
	}{
		"it waits":       {func(*grid.Record) {}, true},
		"to be altered":  {func(r *grid.Record) { r.Altered = &grid.Alteration{} }, false},
		"another has it": {func(r *grid.Record) { r.Role, r.Owner = grid.Watching, her }, false},
		"it runs":        {func(r *grid.Record) { r.State, r.Started = grid.Running, 900_000 }, false},
	} {
		r := runningHere(func(r *grid.Record) { r.State, r.Started, r.Attempt, r.Local = grid.Ready, 0, 0, "" })
		k.change(&r)
		o := &others{}
		kern := kernelOf(o, r)
		kern.jobs[r.Job.ID].awaits = r.Altered != nil
		m := &neighbourhood{kernel: kern, gates: o, home: o, ownership: o, recovery: o, search: o}
		m.drainRequest(DrainRequest{Token: 1, On: true})
		up := false
		for _, did := range o.take() {
			up = up || did == "undecide "+string(r.Job.ID)
		}
		if up != k.up {
			t.Errorf("%s: put up %t", name, up)
		}
	}
}

// Of the groups of a user those count that have not ended, and those of others do not.
func TestGroupsThatCount(t *testing.T) {
	t.Parallel()
	c := signed()
	c.cfg.User.Groups = 1
	hand := func(key, user string) error {
		e := groupOf(1, key, false)
		e.Group.User.Name, e.Jobs[0].User.Name = user, user
		a, _ := only[Answer](c.Step(c.now+1, e))
		return a.Err
	}
	if err := errors.Join(hand("A", "alice"), hand("B", "bob")); err != nil {
		t.Fatal(err)
	}
	if err := hand("C", "alice"); !errors.Is(err, grid.ErrNotYet) {
		t.Errorf("a second group: %v", err)
	}
	c.Step(c.now+1, CancelGroup{Token: 2, Group: groupOf(1, "A", false).Group.ID, By: "alice"})
	if err := hand("D", "alice"); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
}

// The key of a job is taken by the journal of its home alone: what others call theirs is no business of users here.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	own, foreign := jobOf(me, "a", "1"), jobOf(her, "b", "1")
	tenure := grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}
	c := signed(grid.Record{Job: own, Key: "k", State: grid.Ready, Tenure: tenure}, grid.Record{Job: foreign, Key: "k2", State: grid.Ready, Tenure: tenure}, grid.Record{Job: jobOf(me, "a", "2"), State: grid.Ready, Tenure: tenure})
	if id := c.keys[keyOf(own.User, "k")]; id != own.ID || len(c.keys) != 1 {
		t.Errorf("known are %v", c.keys)
	}
	a, _ := only[Answer](c.Step(c.now+1, Submit{Token: 1, Job: own, Key: "k"}))
	if a.Err != nil || !a.Again || a.Record.Job.ID != own.ID {
		t.Errorf("handed in again: %+v, %v", a.Record.Job.ID, a.Err)
	}
	if got := sentTo(c.Step(c.now+1, Message{him, wire.Report{Job: foreign.ID, Epoch: tenure.Epoch, Number: 9, State: grid.Running}}), him); len(got) != 1 || got[0].Kind() != wire.KindError {
		t.Errorf("who reports a job to one that is not its home hears %+v", got)
	}
}

// A wish for nodes is said again when its turn comes, however often the whole is looked at meanwhile.
func TestAWishIsSaidInItsTurn(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Reserving)
	for range 3 {
		c.m.stale[theWhole] = true
		c.want("")
	}
	c.pass(grid.Second)
	c.want("Reserve>b")
}

// Where nothing is left to be removed, and no directory to be read, nothing is done.
func TestNothingIsLeftToDo(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.sweep("1", 1, 0)
	s.end(id.Job(1))
	s.settle()
	s.groups.remove(s.groups.all[id])
	s.settle()
	before := len(s.told)
	if s.groups.due(); len(s.told) != before || s.saved[id].Entered != 0 {
		t.Errorf("saved again: %q", s.told[before:])
	}
	c := signed()
	c.kernel.out = nil
	if c.recovery.reconcile(); len(c.kernel.out) > 0 || c.recovery.reconciling {
		t.Errorf("asked for %+v", c.kernel.out)
	}
}
