package core

import (
	"testing"

	"gbroker/grid"
)

// The key of a group counts for a week, as that of a job, also where what has ended is not kept so long: handed in again it is the same.
func TestTheKeyOfAGroupOutlivesIt(t *testing.T) {
	t.Parallel()
	s := newStand()
	id := s.sweep("1", 2, 0)
	for n := 1; n <= 2; n++ {
		s.end(id.Job(n))
		s.settle()
	}
	always := func(is bool) func(*grid.Group) bool { return func(*grid.Group) bool { return is } }
	s.groups.retain(always(true), always(true))
	s.settle()
	if g := s.groups.all[id]; g == nil || !g.rec.Removed || len(s.state)+len(s.results) != 0 {
		t.Fatalf("its key counts, and there are %+v, %v", g, s.state)
	}
	s.groups.retain(always(true), always(false))
	if s.groups.all[id] != nil {
		t.Error("it stays when its key is over")
	}
}

// How long the key of a group counts is told by when it was handed in and has ended.
func TestHowLongTheKeyOfAGroupCounts(t *testing.T) {
	t.Parallel()
	cfg := signer(me, "a")
	cfg.Keep = grid.Hour
	c := New(cfg, nil, nil)
	begin(c)
	e := groupOf(1, "K", false)
	c.Step(c.now+1, e)
	c.Step(c.now+1, CancelGroup{Token: 2, Group: e.Group.ID, By: "alice"})
	again := func() (a Answer) {
		e.Token++
		a, _ = only[Answer](c.Step(c.now+1, e))
		return a
	}
	c.Step(c.now+2*grid.Hour, Tick{})
	c.Step(c.now+grid.Hour, Tick{})
	if a := again(); a.Err != nil || !a.Again || a.Group.ID != e.Group.ID {
		t.Errorf("within a week: %v, again %t", a.Err, a.Again)
	}
}
