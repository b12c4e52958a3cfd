package faults

import (
	"testing"

	"gbroker/grid"
)

// A program that was started is started again: when is that held against the brokers?
func TestASecondStartTakesAnExcuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		does     func(x *scene) (first, second start)
		violated bool
	}{
		{"nothing happened", func(x *scene) (start, start) { return began(100, x.b, 1), began(900, x.a, 2) }, true},
		{"its site was fenced off, and this is a newer term", func(x *scene) (start, start) {
			x.a.fenced[x.b.peer] = at(200)
			return began(100, x.b, 1), began(900, x.a, 2)
		}, false},
		{"its site was fenced off, and this is the same term", func(x *scene) (start, start) {
			x.a.fenced[x.b.peer] = at(200)
			return began(100, x.b, 1), began(900, x.c, 1)
		}, true},
		{"another site was fenced off", func(x *scene) (start, start) {
			x.a.fenced[x.c.peer] = at(200)
			return began(100, x.b, 1), began(900, x.a, 2)
		}, true},
		{"the home has lost that it gave the job there, and that site is none of its neighbours since", func(x *scene) (start, start) {
			x.gave(0, 60, x.a, x.b)
			x.a.lost(50, 80, false)
			x.a.dropped[x.b.peer] = at(90)
			return began(100, x.b, 1), began(900, x.a, 1)
		}, false},
		{"the same, and it is a neighbour", func(x *scene) (start, start) {
			x.gave(0, 60, x.a, x.b)
			x.a.lost(50, 80, false)
			return began(100, x.b, 1), began(900, x.a, 1)
		}, true},
		{"the home has lost something else, before it gave the job there, and that site is none of its neighbours since", func(x *scene) (start, start) {
			x.gave(0, 90, x.a, x.b)
			x.a.lost(50, 80, false)
			x.a.dropped[x.b.peer] = at(95)
			return began(100, x.b, 1), began(900, x.a, 1)
		}, true},
		{"its machine was put back to a time before that attempt was withdrawn", func(x *scene) (start, start) {
			first := began(600, x.a, 1)
			first.queued, x.f.never[first.id] = at(40), at(60)
			x.a.lost(50, 500, true)
			return first, began(900, x.b, 1)
		}, false},
		{"the same, and it was withdrawn before", func(x *scene) (start, start) {
			first := began(600, x.a, 1)
			first.queued, x.f.never[first.id] = at(30), at(40)
			x.a.lost(50, 500, true)
			return first, began(900, x.b, 1)
		}, true},
		{"the same, and the other had been submitted before", func(x *scene) (start, start) {
			first, second := began(600, x.a, 1), began(900, x.b, 1)
			first.queued, x.f.never[first.id], second.queued = at(40), at(60), at(300)
			x.a.lost(50, 500, true)
			return first, second
		}, false},
		{"the other had been submitted before, and the tokens are there", func(x *scene) (start, start) {
			first, second := began(600, x.a, 1), began(900, x.b, 1)
			first.queued, x.f.never[first.id], second.queued = at(40), at(60), at(300)
			x.a.lost(50, 500, false)
			return first, second
		}, true},
		{"the other had been submitted before, and the tokens were lost, and it was not withdrawn", func(x *scene) (start, start) {
			first, second := began(600, x.a, 1), began(900, x.b, 1)
			first.queued, second.queued = at(20), at(300)
			x.a.lost(50, 500, true)
			return first, second
		}, true},
		{"its site was fenced off before it started there", func(x *scene) (start, start) {
			x.a.fenced[x.b.peer] = at(50)
			return began(100, x.b, 1), began(900, x.a, 2)
		}, true},
		{"another home's administrator said that it is fenced off", func(x *scene) (start, start) {
			x.c.fenced[x.b.peer] = at(200)
			return began(100, x.b, 1), began(900, x.a, 2)
		}, true},
		{"the site that was fenced off starts the older term, and has forgotten the home too", func(x *scene) (start, start) {
			x.a.fenced[x.b.peer], x.a.forgot[x.b.peer], x.b.forgot[x.a.peer] = at(200), at(200), at(300)
			return began(250, x.a, 2), began(900, x.b, 1)
		}, false},
		{"the site that was fenced off starts the older term, and could ask", func(x *scene) (start, start) {
			x.a.fenced[x.b.peer], x.a.forgot[x.b.peer] = at(200), at(200)
			return began(250, x.a, 2), began(900, x.b, 1)
		}, true},
		{"both have forgotten each other, and nothing was fenced off", func(x *scene) (start, start) {
			x.a.forgot[x.b.peer], x.b.forgot[x.a.peer] = at(200), at(300)
			return began(250, x.a, 2), began(900, x.b, 1)
		}, true},
		{"home and runner have both lost it", func(x *scene) (start, start) {
			x.gave(0, 90, x.a, x.b)
			x.a.lost(50, 400, false)
			x.b.lost(50, 500, true)
			return began(100, x.b, 1), began(900, x.a, 1)
		}, false},
		{"home and runner have both lost it, which had discarded its files after its end", func(x *scene) (start, start) {
			x.gave(0, 90, x.a, x.b)
			x.f.erased[x.b] = at(300)
			x.a.lost(50, 400, false)
			x.b.lost(50, 500, false)
			return began(100, x.b, 1), began(900, x.a, 1)
		}, false},
		{"home and runner have both lost it, and the runner has its control directory", func(x *scene) (start, start) {
			x.gave(0, 90, x.a, x.b)
			x.a.lost(50, 400, false)
			x.b.lost(50, 500, false)
			return began(100, x.b, 1), began(900, x.a, 1)
		}, true},
		{"the same, and the home knows that it gave the job there", func(x *scene) (start, start) {
			x.gave(0, 40, x.a, x.b)
			x.a.lost(50, 400, false)
			x.b.lost(50, 500, false)
			return began(100, x.b, 1), began(900, x.a, 1)
		}, true},
		{"the same, and the other start was submitted before", func(x *scene) (start, start) {
			x.gave(0, 90, x.a, x.b)
			x.a.lost(50, 400, false)
			x.b.lost(50, 500, false)
			again := began(900, x.a, 1)
			again.queued = at(300)
			return began(100, x.b, 1), again
		}, true},
		{"the machine that started it was put back, and another start was submitted before", func(x *scene) (start, start) {
			x.b.lost(50, 400, true)
			again := began(900, x.c, 1)
			again.queued = at(300)
			return began(100, x.b, 1), again
		}, true},
		{"the home has lost it, and the runner only what came before", func(x *scene) (start, start) {
			x.a.lost(50, 400, false)
			x.b.lost(20, 90, false)
			return began(100, x.b, 1), began(900, x.a, 1)
		}, true},
		{"the home has lost it, and the runner only what came after", func(x *scene) (start, start) {
			x.a.lost(50, 400, false)
			x.b.lost(150, 500, false)
			return began(100, x.b, 1), began(900, x.a, 1)
		}, true},
		{"the runner has lost it, and the home nothing", func(x *scene) (start, start) {
			x.b.lost(50, 500, false)
			return began(100, x.b, 1), began(900, x.a, 1)
		}, true},
		{"the home has lost it, and a third site too", func(x *scene) (start, start) {
			x.a.lost(50, 400, false)
			x.c.lost(50, 500, false)
			return began(100, x.b, 1), began(900, x.a, 1)
		}, true},
		{"the home has lost it, and its own tokens know", func(x *scene) (start, start) {
			x.a.lost(50, 400, false)
			return began(100, x.a, 1), began(900, x.a, 1)
		}, true},
		{"the home was to forget the runner after that", func(x *scene) (start, start) {
			x.gave(0, 90, x.a, x.b)
			x.a.lost(50, 400, false)
			x.a.forgot[x.b.peer] = at(450)
			return began(100, x.b, 1), began(900, x.a, 2)
		}, false},
		{"the home was to forget the runner before that", func(x *scene) (start, start) {
			x.a.lost(50, 400, false)
			x.a.forgot[x.b.peer] = at(350)
			return began(100, x.b, 1), began(900, x.a, 2)
		}, true},
		{"the runner was removed from the home's file after that", func(x *scene) (start, start) {
			x.gave(0, 90, x.a, x.b)
			x.a.lost(50, 400, false)
			x.a.dropped[x.b.peer] = at(450)
			return began(100, x.b, 1), began(900, x.a, 2)
		}, false},
		{"the runner was removed before that, and is back", func(x *scene) (start, start) {
			x.a.lost(50, 400, false)
			x.a.dropped[x.b.peer] = at(60)
			return began(100, x.b, 1), began(900, x.a, 2)
		}, true},
		{"its user had it removed, and the home has lost that", func(x *scene) (start, start) {
			x.a.lapses = []lapse{{since: at(50), at: at(400), words: true}}
			x.f.gone(at(200))
			return began(100, x.a, 1), began(900, x.a, 1)
		}, false},
		{"its user had it removed, and that stands beside the journal", func(x *scene) (start, start) {
			x.a.lost(50, 400, false)
			x.f.gone(at(200))
			return began(100, x.a, 1), began(900, x.a, 1)
		}, true},
		{"its user had it removed, and the home has lost only what came after", func(x *scene) (start, start) {
			x.a.lapses = []lapse{{since: at(250), at: at(400), words: true}}
			x.f.gone(at(200))
			return began(100, x.a, 1), began(900, x.a, 1)
		}, true},
		{"its user had it removed, and the home has lost nothing", func(x *scene) (start, start) {
			x.f.gone(at(200))
			return began(100, x.a, 1), began(900, x.a, 1)
		}, true},
		{"the machine that started it was put back", func(x *scene) (start, start) {
			x.b.lost(50, 400, true)
			return began(100, x.b, 1), began(900, x.b, 1)
		}, false},
		{"the machine was put back to a snapshot of later", func(x *scene) (start, start) {
			x.b.lost(150, 400, true)
			return began(100, x.b, 1), began(900, x.b, 1)
		}, true},
		{"another machine was put back", func(x *scene) (start, start) {
			x.c.lost(50, 400, true)
			return began(100, x.b, 1), began(900, x.c, 1)
		}, true},
		{"the machine was put back, and the home had told the end", func(x *scene) (start, start) {
			x.b.lost(50, 400, true)
			x.f.told, x.f.toldAt = grid.Completed, at(200)
			return began(100, x.b, 1), began(900, x.b, 1)
		}, true},
		{"the machine was put back to before it was submitted, and it started after that", func(x *scene) (start, start) {
			x.b.lost(50, 400, true)
			first := began(450, x.b, 1)
			first.queued = at(100)
			return first, began(900, x.b, 1)
		}, false},
		{"the journal was put back to before it was submitted, and it started after that", func(x *scene) (start, start) {
			x.b.lost(50, 400, false)
			first := began(450, x.b, 1)
			first.queued = at(100)
			return first, began(900, x.b, 1)
		}, true},
		{"the machine was put back, and the home had told LOST", func(x *scene) (start, start) {
			x.b.lost(50, 400, true)
			x.f.told, x.f.toldAt = grid.Lost, at(200)
			return began(100, x.b, 1), began(900, x.b, 1)
		}, false},
		{"two brokers under one name have both acted on it", func(x *scene) (start, start) {
			x.f.acted(true)
			x.f.acted(false)
			return began(100, x.b, 1), began(900, x.c, 1)
		}, false},
		{"the home's disk has lost that it gave the job there, and nobody who could be heard had seen that", func(x *scene) (start, start) {
			return x.cutOff(60, 0, 900)
		}, false},
		{"the same, and the home had heard for long one that had", func(x *scene) (start, start) {
			return x.cutOff(60, 700, 900)
		}, true},
		{"the same, and it had only just heard him", func(x *scene) (start, start) {
			return x.cutOff(60, 850, 900)
		}, false},
		{"the home's disk has lost only what came after", func(x *scene) (start, start) {
			return x.cutOff(40, 0, 900)
		}, true},
		{"the second start was on its way before the power cut", func(x *scene) (start, start) {
			return x.cutOff(60, 0, 70)
		}, true},
		{"the home was put back from a backup, and has lost that it gave the job there", func(x *scene) (start, start) {
			first, second := x.cutOff(60, 0, 900)
			x.a.lapses[0].words, x.a.lapses[0].unnoticed = false, false
			return first, second
		}, true},
		{"the home's disk has lost that it gave the job away, and who got it gave it on to where it started", func(x *scene) (start, start) {
			first, second := x.cutOff(60, 0, 900)
			x.gave(3, 95, x.b, x.c)
			first.where, first.id.Epoch.Hop = x.c, 3
			return first, second
		}, false},
		{"the same, and it came home in between", func(x *scene) (start, start) {
			first, second := x.cutOff(60, 0, 900)
			x.gave(2, 85, x.b, x.a)
			x.gave(3, 95, x.a, x.c)
			first.where, first.id.Epoch.Hop, second.id.Epoch.Hop = x.c, 3, 2
			return first, second
		}, true},
		{"the home's disk has lost that it gave the job to where it waited, and it was given to another, where it started first", func(x *scene) (start, start) {
			return x.waited(900)
		}, false},
		{"the same, and the other had it before the power cut", func(x *scene) (start, start) {
			return x.waited(70)
		}, true},
		{"one of two brokers under one name has acted on it", func(x *scene) (start, start) {
			x.f.acted(false)
			return began(100, x.b, 1), began(900, x.c, 1)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newScene(t)
			first, second := c.does(x)
			x.f.starts = []start{first}
			if !x.f.torn() {
				x.f.mayStart(x.w, second)
			}
			if v := x.w.result.Violation; (v != nil) != c.violated {
				t.Errorf("the violation is %+v", v)
			}
		})
	}
}

// One earlier start that nobody knows of does not excuse another that is known.
func TestEveryEarlierStartTakesAnExcuse(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.a.fenced[x.b.peer] = at(200)
	x.f.starts = []start{began(100, x.b, 1), began(300, x.c, 2)}
	if x.f.mayStart(x.w, began(900, x.a, 3)); x.w.result.Violation == nil {
		t.Error("it has run at a site that was not fenced off, and nothing is noticed")
	}
}

// A rerunnable program starts once in its term, and once more for each loss in that term.
func TestRerunsAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		lost     []int // of its starts, in order
		violated bool
	}{
		{"no loss", nil, true},
		{"a loss in that term", []int{1}, false},
		{"a loss in another term", []int{0}, true},
		{"a loss of a start that nobody knows of", []int{2}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newScene(t)
			x.f.rerun = true
			x.f.starts = []start{began(100, x.b, 1), began(200, x.a, 2), began(150, x.c, 2)}
			x.c.lost(120, 300, true)
			for _, i := range c.lost {
				x.f.starts[i].lost = true
			}
			x.f.mayStart(x.w, began(900, x.a, 2))
			if v := x.w.result.Violation; (v != nil) != c.violated {
				t.Errorf("the violation is %+v", v)
			}
		})
	}
}
