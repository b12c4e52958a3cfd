package faults

import (
	"testing"

	"gbroker/grid"
)

// What the checker says of the states that a journal may have of a group.
func TestWhatMustHoldOfAGroup(t *testing.T) {
	t.Parallel()
	const end = genesis + grid.Hour
	for name, c := range map[string]struct {
		states   []grid.State // of its jobs; 0 is one that is not there
		ended    grid.Tick
		absent   bool // the group is
		cancel   bool // that its cancel is recorded was told
		property string
	}{
		"whole":                 {states: []grid.State{grid.Ready, grid.Running}},
		"ended":                 {states: []grid.State{grid.Completed, grid.Killed}, ended: end},
		"a job is missing":      {states: []grid.State{grid.Ready, 0}, property: "S10"},
		"the group is missing":  {states: []grid.State{grid.Ready, grid.Ready}, absent: true, property: "S10"},
		"told too early":        {states: []grid.State{grid.Completed, grid.Running}, ended: end, property: "S11"},
		"not told":              {states: []grid.State{grid.Completed, grid.Completed}, property: "S11"},
		"a cancel that is lost": {states: []grid.State{grid.Completed, grid.Running}, cancel: true, property: "S12"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newScene(t)
			id := grid.NewGroupID(x.a.name(), "01JD3V0QX2M6W8T9Z4C5A7B1EF")
			changes := []grid.Change{}
			for n, state := range c.states {
				job := grid.Job{ID: id.Job(n + 1), Home: x.a.peer, Demand: cores(1)}
				x.w.truth.facts[job.ID] = newFact(job.ID, x.a, &job)
				if state != 0 {
					changes = append(changes, grid.Saved(&grid.Record{Job: job, State: state, Tenure: grid.Tenure{Role: grid.Watching}}))
				}
			}
			if !c.absent {
				changes = append(changes, grid.Saved(&grid.Group{ID: id, Jobs: len(c.states), Ended: c.ended}))
			}
			x.a.disk.commit(x.w.now, changes)
			x.w.truth.groupsSaved(x.a, changes)
			if c.cancel {
				x.w.truth.groupCancelled(x.a, id, len(c.states))
			}
			got := ""
			if v := x.w.result.Violation; v != nil {
				got = v.Property
			}
			if got != c.property {
				t.Errorf("violated is %q, not %q", got, c.property)
			}
		})
	}
}

// The end of a group is told once.
func TestTheEndOfAGroupStays(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	g := grid.Group{ID: grid.NewGroupID(x.a.name(), "01JD3V0QX2M6W8T9Z4C5A7B1EF"), Jobs: 1, Ended: genesis}
	x.a.disk.commit(x.w.now, []grid.Change{grid.Saved(&g)})
	again := g
	again.Ended++
	x.w.truth.changesGroup(x.a, []grid.Change{grid.Saved(&again)})
	if v := x.w.result.Violation; v == nil || v.Property != "S11" {
		t.Errorf("the violation is %+v", v)
	}
}

// A job of a sweep whose turn has not come has a record only where a lost part of the journal, or a second broker under
// the same name, had made it.
func TestAJobBeforeItsTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does     func(x *scene, f *fact)
		violated bool
	}{
		"nothing happened":     {func(*scene, *fact) {}, true},
		"its duplicate has it": {func(_ *scene, f *fact) { f.acted(false) }, false},
		"it alone has it":      {func(_ *scene, f *fact) { f.acted(true) }, true},
		"it was set back to before it had made it": {func(x *scene, f *fact) {
			f.wrote[x.a] = []grid.Tick{at(60)}
			x.a.lost(50, 80, false)
		}, false},
		"it was set back to after that": {func(x *scene, f *fact) {
			f.wrote[x.a] = []grid.Tick{at(40)}
			x.a.lost(50, 80, false)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newScene(t)
			g := grid.Group{ID: grid.NewGroupID(x.a.name(), "01JD3V0QX2M6W8T9Z4C5A7B1EF"), Jobs: 1, Template: grid.Hash{1}}
			job := grid.Job{ID: g.ID.Job(1), Home: x.a.peer, Demand: cores(1)}
			f := newFact(job.ID, x.a, &job)
			x.w.truth.facts[job.ID] = f
			c.does(x, f)
			changes := []grid.Change{grid.Saved(&g), grid.Saved(&grid.Record{Job: job, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Watching}})}
			x.a.disk.commit(x.w.now, changes)
			x.w.truth.groupsSaved(x.a, changes)
			if v := x.w.result.Violation; (v != nil) != c.violated {
				t.Errorf("the violation is %+v", v)
			}
		})
	}
}
