package faults

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// Its home has lost that it gave the job to b, and starts it itself, or tells an end of it; then b starts it, out of its queue: only where the home
// need not wait for the word of b is nobody to blame.
func TestAStartThatItsHomeDidNotWaitFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		does     func(x *scene)
		violated bool
	}{
		{"nothing was lost", func(x *scene) { x.a.dropped[x.b.peer] = at(90) }, true},
		{"it was lost, and b is a neighbour", func(x *scene) { x.a.lost(50, 80, false) }, true},
		{"it was lost, and b was removed before, and is back", func(x *scene) { x.a.lost(50, 80, false); x.a.dropped[x.b.peer] = at(70) }, true},
		{"it was lost, and b was removed before", func(x *scene) {
			x.a.lost(50, 80, false)
			x.a.members, x.a.dropped[x.b.peer] = nil, at(70)
		}, false},
		{"it was lost, and b was removed since", func(x *scene) { x.a.lost(50, 80, false); x.a.dropped[x.b.peer] = at(90) }, false},
		{"it was lost, and b was removed since, and is out", func(x *scene) {
			x.a.lost(50, 80, false)
			x.a.members, x.a.dropped[x.b.peer] = nil, at(90)
		}, false},
		{"it was lost, and b was forgotten since", func(x *scene) { x.a.lost(50, 80, false); x.a.forgot[x.b.peer] = at(90) }, false},
		{"it was lost, and b was forgotten after what the home did", func(x *scene) { x.a.lost(50, 80, false); x.a.forgot[x.b.peer] = at(930) }, true},
		{"it was lost, and b was removed after what the home did", func(x *scene) {
			x.a.lost(50, 80, false)
			x.a.members, x.a.dropped[x.b.peer] = nil, at(930)
		}, true},
		{"it was lost, b was removed, and added again after what the home did", func(x *scene) { x.a.lost(50, 80, false); x.a.dropped[x.b.peer] = at(930) }, false},
		{"it was lost after what the home did", func(x *scene) { x.a.lost(50, 940, false); x.a.forgot[x.b.peer] = at(945) }, true},
		{"something else was lost", func(x *scene) { x.a.lost(65, 80, false); x.a.forgot[x.b.peer] = at(90) }, true},
	} {
		for what, did := range map[string]func(x *scene){
			"it starts it": func(x *scene) { x.f.starts = []start{began(900, x.a, 1)} },
			"it ends it":   func(x *scene) { x.f.told, x.f.toldAt = grid.Failed, at(810) },
		} {
			t.Run(c.name+"/"+what, func(t *testing.T) {
				t.Parallel()
				x := newScene(t)
				x.gave(1, 60, x.a, x.b)
				did(x)
				c.does(x)
				x.f.mayStart(x.w, x.ofB())
				if v := x.w.result.Violation; (v != nil) != c.violated {
					t.Errorf("the violation is %+v", v)
				}
			})
		}
	}
}

// What b submits after the end was told is no start that was on its way.
func TestAStartThatIsSubmittedAfterAnEnd(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.gave(1, 60, x.a, x.b)
	x.a.lost(50, 80, false)
	x.a.dropped[x.b.peer] = at(90)
	x.f.told, x.f.toldAt = grid.Failed, at(790)
	if x.f.mayStart(x.w, x.ofB()); x.w.result.Violation == nil {
		t.Error("nothing is held against it")
	}
}

// ofB is a start at b, which sent it at 800 to its queue, and had it there at 900.
func (x *scene) ofB() start {
	s := began(950, x.b, 1)
	s.id.Epoch.Hop, s.sent, s.queued = 1, at(800), at(900)
	return s
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
