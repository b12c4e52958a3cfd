package faults

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// Its home has lost that it gave the job to b, and tells an end of it; then what b had in its queue starts: only where the home need not wait for the word of b
// is nobody to blame.
func TestAStartAfterAnEndOfItsHome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		does     func(x *scene)
		violated bool
	}{
		{"nothing was lost", func(x *scene) { x.a.dropped[x.b.peer] = at(90) }, true},
		{"it was lost, and b is a neighbour", func(x *scene) { x.a.lost(50, 80, false) }, true},
		{"it was lost, and b was removed before, and back", func(x *scene) { x.a.lost(50, 80, false); x.a.dropped[x.b.peer] = at(70) }, true},
		{"it was lost, and b was removed before", func(x *scene) {
			x.a.lost(50, 80, false)
			x.a.members, x.a.dropped[x.b.peer] = nil, at(70)
		}, false},
		{"it was lost, and b was removed since", func(x *scene) { x.a.lost(50, 80, false); x.a.dropped[x.b.peer] = at(90) }, false},
		{"it was lost, and b was forgotten since", func(x *scene) { x.a.lost(50, 80, false); x.a.forgot[x.b.peer] = at(90) }, false},
		{"it was lost, and b was forgotten after the end", func(x *scene) { x.a.lost(50, 80, false); x.a.forgot[x.b.peer] = at(930) }, true},
		{"it was lost, and b was removed after the end", func(x *scene) {
			x.a.lost(50, 80, false)
			x.a.members, x.a.dropped[x.b.peer] = nil, at(930)
		}, true},
		{"it was lost, b was removed, and added again after the end", func(x *scene) { x.a.lost(50, 80, false); x.a.dropped[x.b.peer] = at(930) }, false},
		{"it was lost after the end", func(x *scene) { x.a.lost(50, 940, false); x.a.forgot[x.b.peer] = at(945) }, true},
		{"something else was lost", func(x *scene) { x.a.lost(65, 80, false); x.a.forgot[x.b.peer] = at(90) }, true},
		{"it was lost, b was removed since, and submits it after the end", func(x *scene) {
			x.a.lost(50, 80, false)
			x.a.dropped[x.b.peer] = at(90)
			x.f.toldAt = at(890)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newScene(t)
			x.gave(1, 60, x.a, x.b)
			x.f.told, x.f.toldAt = grid.Failed, at(910)
			c.does(x)
			now := began(950, x.b, 1)
			now.id.Epoch.Hop, now.queued = 1, at(900)
			x.f.mayStart(x.w, now)
			if v := x.w.result.Violation; (v != nil) != c.violated {
				t.Errorf("the violation is %+v", v)
			}
		})
	}
}

// A home has lost an end that it told, with all that could tell. Of a run that was submitted before a member was heard that had seen the lost part it may tell
// another end; of one that was submitted later it may not.
func TestTheEndOfARunThatWasSubmittedInIgnorance(t *testing.T) {
	t.Parallel()
	for submitted, violated := range map[int]bool{500: false, 710: false, 730: true} {
		x := newScene(t)
		x.b.disk.records["job"] = &grid.Record{Tenure: grid.Tenure{Role: grid.Tombstone, Closed: true}, Run: grid.Run{End: grid.Completed}}
		x.a.lapses = []lapse{{since: at(100), at: at(400), words: true, unnoticed: true, heard: at(600)}}
		x.f.toldAt, x.f.once = at(200), grid.Completed
		e := began(submitted, x.a, 1)
		e.ended = at(940)
		x.f.starts = []start{e}
		r := &grid.Record{Job: grid.Job{ID: "job"}, State: grid.CancelledWalltime, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: 1}}
		if got := x.f.endedUnheard(r); got == violated {
			t.Errorf("submitted at %d: excused %t", submitted, got)
		}
		x.w.truth.shown(x.a, "job", r)
		if v := x.w.result.Violation; violated && v == nil || !violated && v != nil && strings.Contains(v.Text, "which others know") {
			t.Errorf("submitted at %d: %+v", submitted, v)
		}
	}
}
