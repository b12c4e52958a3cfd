package faults

import (
	"testing"

	"gbroker/grid"
)

// When may a job be LOST?
func TestLostTakesAReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		does     func(x *scene)
		violated bool
	}{
		{"nothing happened", func(*scene) {}, true},
		{"its owner was forgotten", func(x *scene) { x.watches(x.b, 1); x.forgets(x.a, x.b, 1) }, false},
		{"its owner was forgotten, and it starts again at a new term", func(x *scene) { x.watches(x.b, 0); x.forgets(x.a, x.b, 1) }, false},
		{"the same in an older term", func(x *scene) {
			x.watches(x.b, 1)
			x.forgets(x.a, x.b, 1)
			x.w.truth.saved(x.a, x.lostOf(x.c, 2))
			x.term = 2
		}, true},
		{"its owner was forgotten in the step that made it so", func(x *scene) { x.a.forgetting[x.b.peer] = true; x.forgetsInOne(x.b, 3) }, false},
		{"the same, and it was to start again", func(x *scene) {
			x.a.forgetting[x.b.peer] = true
			x.w.truth.saved(x.a, []grid.Change{grid.Saved(&grid.Record{
				Job: grid.Job{ID: "job"}, State: grid.Lost, AtHome: grid.AtHome{Trail: []grid.PeerID{x.b.peer}}, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}},
			})})
		}, false},
		{"a site was forgotten in the step after it was offered there", func(x *scene) { x.a.forgetting[x.b.peer] = true; x.forgetsInOne(x.b, 2) }, true},
		{"a site that never had it was forgotten", func(x *scene) { x.watches(x.b, 1); x.forgets(x.a, x.c, 1) }, true},
		{"a site that had given it on was forgotten", func(x *scene) { x.watches(x.c, 1); x.f.had[x.b] = at(60); x.forgets(x.a, x.b, 1) }, true},
		{"the same, and its home begins anew when it has heard all", func(x *scene) { x.watches(x.a, 2); x.f.had[x.b] = at(60); x.forgetsSuccessor(0) }, false},
		{"the same, and its home has begun", func(x *scene) { x.watches(x.a, 2); x.f.had[x.b] = at(60); x.forgetsSuccessor(1) }, true},
		{"its home begins anew when it has heard all, and one was forgotten that never had it", func(x *scene) { x.watches(x.a, 2); x.forgetsSuccessor(0) }, true},
		{"it was given on, and who got it has declined it", func(x *scene) { x.passedOn(grid.Declined); x.forgetsGiver() }, false},
		{"the same, and who got it has it", func(x *scene) { x.passedOn(grid.Owning); x.forgetsGiver() }, true},
		{"another home's administrator has forgotten its owner", func(x *scene) { x.watches(x.b, 1); x.forgets(x.c, x.b, 1) }, true},
		{"its owner has lost its journal, and nobody has said what shall be", func(x *scene) {
			x.f.had[x.b] = at(60)
			x.w.truth.setBack(x.b, lapse{since: forEver})
		}, true},
		{"another site has lost its journal", func(x *scene) { x.w.truth.setBack(x.c, lapse{since: forEver}) }, true},
		{"its home was set back, and all were asked", func(x *scene) {
			x.a.disk.records["job"] = &grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
		}, true},
		{"its home was set back, and one need not be asked", func(x *scene) { x.doubts(x.a, at(150), true) }, false},
		{"the same, and it has found that it owns it all the same", func(x *scene) {
			x.doubts(x.a, at(150), true)
			x.w.truth.saved(x.a, []grid.Change{grid.Saved(&grid.Record{Job: grid.Job{ID: "job"}, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning}})})
		}, true},
		{"the same, and it goes on though nobody says that nothing of it runs there", func(x *scene) {
			x.doubts(x.a, at(150), true)
			x.w.truth.saved(x.a, []grid.Change{grid.Saved(&grid.Record{Job: grid.Job{ID: "job"}, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}, AtHome: grid.AtHome{Unfenced: true}})})
		}, false},
		{"the same, and it starts it again at a new term, as it cannot know", func(x *scene) {
			x.doubts(x.a, at(150), true)
			x.raises()
		}, false},
		{"its home was set back, all were asked, and it starts it again at a new term", func(x *scene) {
			x.doubts(x.a, at(150), true)
			delete(x.a.forgot, x.c.peer)
			x.raises()
		}, true},
		{"its home was set back, and knows who has it", func(x *scene) {
			x.a.disk.records["job"] = &grid.Record{State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: x.b.peer}}
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
			x.a.forgot[x.c.peer] = x.w.now
		}, true},
		{"two brokers under its home's name have acted on it", func(x *scene) { x.f.acted(true); x.f.acted(false) }, false},
		{"one of two brokers under its home's name has acted on it", func(x *scene) { x.f.acted(true) }, true},
		{"its home has a second broker beside it, and one need not be asked", func(x *scene) { x.doubtsDuplicate(at(800)) }, false},
		{"the same, and that one was out of the file before there was the second broker", func(x *scene) { x.doubtsDuplicate(at(400)) }, true},
		{"its home had a second broker beside it until then, and one need not be asked since", func(x *scene) { x.stopsDuplicate(at(800), true) }, false},
		{"the same, and that one was out of the file before", func(x *scene) { x.stopsDuplicate(at(400), true) }, true},
		{"its home was put back, and one was out of the file before that", func(x *scene) { x.stopsDuplicate(at(800), false) }, true},
		{"an owner elsewhere was set back to owning it, and one need not be asked", func(x *scene) { x.doubts(x.b, at(150), true) }, false},
		{"an owner elsewhere was set back, knew that, and got it then", func(x *scene) { x.doubts(x.b, at(950), false) }, true},
		{"the same, and its administrator has said since that it had a duplicate", func(x *scene) { x.b.relearns = at(960); x.doubts(x.b, at(950), false) }, false},
		{"the same, and its administrator had said before that it had a duplicate", func(x *scene) { x.b.relearns = at(940); x.doubts(x.b, at(950), false) }, true},
		{"an owner elsewhere was set back, and got it before it knew that", func(x *scene) { x.doubts(x.b, at(150), false) }, false},
		{"its home does not know it any more", func(x *scene) { x.w.truth.setBack(x.a, lapse{since: forEver}); x.learn() }, false},
		{"its home and its owner have lost what they wrote of it", func(x *scene) {
			x.bothWrote(200)
			x.a.lost(50, 400, false)
			x.b.lost(50, 400, false)
		}, false},
		{"its home and its owner have lost what they wrote of others", func(x *scene) {
			x.bothWrote(200)
			x.a.lost(210, 400, false)
			x.b.lost(210, 400, false)
		}, true},
		{"its home has lost what it wrote of it, and its owner what it wrote of others", func(x *scene) {
			x.bothWrote(200)
			x.a.lost(50, 400, false)
			x.b.lost(210, 400, false)
		}, true},
		{"its owner's machine was put back, with what was there of it", func(x *scene) {
			x.bothWrote(200)
			x.b.lost(50, 400, true)
		}, false},
		{"its owner's machine was put back, before it came there", func(x *scene) {
			x.bothWrote(200)
			x.b.lost(50, 100, true)
		}, true},
		{"one gave it to another, both have lost what they wrote of it, and its home has not", func(x *scene) {
			x.bothWrote(200)
			x.f.had[x.c], x.f.turned[x.c] = at(60), []grid.Tick{at(200)}
			x.gave(2, 70, x.b, x.c)
			x.b.lost(50, 400, false)
			x.c.lost(50, 400, false)
		}, false},
		{"two that had it have lost what they wrote of it, and neither gave it to the other", func(x *scene) {
			x.bothWrote(200)
			x.f.had[x.c], x.f.turned[x.c] = at(60), []grid.Tick{at(200)}
			x.b.lost(50, 400, false)
			x.c.lost(50, 400, false)
		}, true},
		{"its home has lost what it wrote of it before its owner got it, and its owner what it wrote", func(x *scene) {
			x.bothWrote(200)
			x.f.turned[x.a] = []grid.Tick{at(55)}
			x.a.lost(50, 400, false)
			x.b.lost(50, 400, false)
		}, true},
		{"its home has lost that it brought the output, and its owner that it let go of the job", func(x *scene) { x.brought(200, 300) }, false},
		{"its home knows that it brought the output, and its owner has lost that it let go of the job", func(x *scene) { x.brought(200, 240) }, true},
		{"the same, and only one of them had it", func(x *scene) {
			x.bothWrote(200)
			x.f.turned[x.c] = []grid.Tick{at(200)}
			x.b.lost(50, 400, false)
			x.c.lost(50, 400, false)
		}, true},
		{"its owner had a duplicate since, and its files were swept there", func(x *scene) { x.bothWrote(200); x.b.copied, x.f.swept[x.b] = at(150), at(190) }, false},
		{"its owner had a duplicate since", func(x *scene) { x.bothWrote(200); x.b.copied = at(150) }, true},
		{"its owner had a duplicate since, and its files were swept there before", func(x *scene) { x.bothWrote(200); x.b.copied, x.f.swept[x.b] = at(150), at(140) }, true},
		{"its owner had a duplicate when it was there no more", func(x *scene) { x.bothWrote(200); x.b.copied = at(250) }, true},
		{"its owner was forgotten before it came there", func(x *scene) { x.bothWrote(200); x.a.forgot[x.b.peer] = at(50) }, true},
		{"its home and its owner have lost what they wrote of how it is, and not who has it", func(x *scene) {
			x.bothWrote(200)
			x.f.turned[x.a], x.f.turned[x.b] = []grid.Tick{at(40)}, []grid.Tick{at(40)}
			x.a.lost(50, 400, false)
			x.b.lost(50, 400, false)
		}, true},
		{"its home and another have lost what they wrote", func(x *scene) {
			x.f.had[x.b] = at(60)
			x.a.lost(50, 400, false)
			x.c.lost(50, 400, false)
		}, true},
		{"its user had it removed, and its home has lost that", func(x *scene) {
			x.f.gone(at(200))
			x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
		}, false},
		{"its user had it removed, and that stands beside the journal", func(x *scene) {
			x.f.gone(at(200))
			x.w.truth.setBack(x.a, lapse{since: at(100)})
		}, true},
		{"its user had it removed, and its home has lost only what came after", func(x *scene) {
			x.f.gone(at(200))
			x.w.truth.setBack(x.a, lapse{since: at(300), words: true})
		}, true},
		{"its home knew it", func(x *scene) { x.learn() }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newScene(t)
			c.does(x)
			x.w.truth.judge(x.a, x.f, &grid.Record{State: grid.Lost, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: max(x.term, 1)}}})
			if v := x.w.result.Violation; (v != nil) != c.violated {
				t.Errorf("the violation is %+v", v)
			}
		})
	}
}

// brought: the home has saved that the job ended at b, and then that its output came, whereupon b let go of it; b has lost that, and the home what came after 250.
func (x *scene) brought(ended, came int) {
	x.f.had[x.b], x.f.turned[x.b] = at(60), []grid.Tick{at(came + 10)}
	r := grid.Record{Job: grid.Job{ID: "job"}, State: grid.StageOut, Tenure: grid.Tenure{Role: grid.Watching, Owner: x.b.peer}, Run: grid.Run{End: grid.Completed}}
	now := x.w.now
	x.w.now = at(ended)
	x.w.truth.saved(x.a, []grid.Change{grid.Saved(&r)})
	r.State, x.w.now = grid.Completed, at(came)
	x.w.truth.saved(x.a, []grid.Change{grid.Saved(&r)})
	x.w.now = now
	x.a.lost(250, 400, false)
	x.b.lost(50, 400, false)
}

// doubtsDuplicate: the home, whose journal was copied at 500, is told of another life, and does not know whether it has the job, which came at 550; c is
// out of its neighbours' file since.
func (x *scene) doubtsDuplicate(since grid.Tick) {
	r := &grid.Record{Job: grid.Job{ID: "job"}, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Uncertain: true}}
	x.a.copied, x.a.duplicate = at(500), &site{of: x.a}
	x.a.asks, x.a.dropped[x.c.peer] = at(600), since
	x.f.got[r.Epoch] = at(550)
	x.w.truth.saved(x.a, []grid.Change{grid.Saved(r)})
}

// stopsDuplicate: likewise, and that one was stopped at 850; or it was no second broker, and the home was put back then.
func (x *scene) stopsDuplicate(since grid.Tick, second bool) {
	x.doubtsDuplicate(since)
	x.a.duplicate = nil
	x.a.lapses = []lapse{{since: at(500), at: at(850), words: true, second: second}}
}
