package faults

import (
	"testing"

	"gbroker/grid"
)

// Who got a job in a part of its home's journal that is lost may give it on after the home, in ignorance of that, has given it to another.
func TestEachBranchLeftHomeByItself(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	d := &site{w: x.w, peer: "d"}
	x.cutOff(60, 0, 0)
	x.gave(1, 60, x.a, x.b)
	x.gave(2, 900, x.a, x.c)
	x.gave(3, 920, x.b, d)
	x.gave(4, 930, x.c, x.a)
	x.gave(5, 940, x.a, x.c)
	for hop, left := range map[uint32]grid.Tick{1: at(60), 2: at(900), 3: at(60), 4: 0, 5: at(940), 6: at(940)} {
		if got := x.f.leftHome(grid.Epoch{Term: 1, Hop: hop}); got != left {
			t.Errorf("of hop %d: it left at %v s, and in truth at %v s", hop, (got - genesis).Seconds(), (left - genesis).Seconds())
		}
	}
	there, again := began(950, x.c, 1), began(960, d, 1)
	there.id.Epoch.Hop, there.queued = 2, at(910)
	again.id.Epoch.Hop, again.queued = 3, at(925)
	x.f.starts = []start{there}
	if x.f.mayStart(x.w, again); x.w.result.Violation != nil {
		t.Errorf("the violation is %+v", x.w.result.Violation)
	}
}

// What a home has given away in ignorance of a lost branch is started where it came to, also after the home has heard of that.
func TestWhatWasGivenInIgnoranceGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given, heard, queued int
		on                   bool // to another, just before it was queued
		violated             bool
	}{
		"it waited there for its files":              {900, 905, 1100, false, false},
		"it was given on":                            {900, 905, 1100, true, false},
		"it was given when the home had heard":       {1100, 905, 1110, false, true},
		"it was given and queued before it was lost": {60, 905, 70, false, true},
	} {
		x := newScene(t)
		x.w.now = at(1300)
		d := &site{w: x.w, peer: "d"}
		first, second := x.cutOff(60, c.heard, 0)
		x.gave(1, 60, x.a, x.b)
		x.gave(2, c.given, x.a, x.c)
		first.id.Epoch.Hop = 1
		second.where, second.id.Epoch.Hop, second.queued = x.c, 2, at(c.queued)
		if c.on {
			x.gave(3, c.queued-10, x.c, d)
			second.where, second.id.Epoch.Hop = d, 3
		}
		x.f.starts = []start{first}
		x.f.mayStart(x.w, second)
		if got := x.w.result.Violation != nil; got != c.violated {
			t.Errorf("%s: violated %t", name, got)
		}
	}
}

// Whom a home has lost owns a job beside those to which it came by way of who got it in ignorance, the home too.
func TestAnOwnerBesideARowOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given    int
		to       func(x *scene) *site // c gives it to there, long after
		violated bool
	}{
		"it was given on":                         {900, func(x *scene) *site { return &site{w: x.w, peer: "d"} }, false},
		"it came home":                            {900, func(x *scene) *site { return x.a }, false},
		"it was given when the home had heard":    {1100, func(x *scene) *site { return &site{w: x.w, peer: "d"} }, true},
		"it came home, given when that had heard": {1100, func(x *scene) *site { return x.a }, true},
	} {
		x := newScene(t)
		x.w.now = at(1300)
		x.cutOff(60, 905, 0)
		x.gave(1, 60, x.a, x.b)
		x.gave(2, c.given, x.a, x.c)
		to := c.to(x)
		x.gave(3, 1200, x.c, to)
		for hop, s := range map[uint32]*site{1: x.b, 3: to} {
			r := &grid.Record{Job: grid.Job{ID: "job"}, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1, Hop: hop}}}
			x.w.truth.owned(s, x.f, r)
		}
		if got := x.w.result.Violation != nil; got != c.violated {
			t.Errorf("%s: violated %t", name, got)
		}
	}
}

// An end is told of who was given the job in ignorance, long after the home has heard of that: where it is in the lost branch it starts, or runs on.
func TestAnEndOfOneBranchIsNotThatOfAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given    int
		home     bool // it came home, and ended there
		own      bool // the end is of where it starts
		violated bool
	}{
		"it ended elsewhere":                {900, false, false, false},
		"it came home, and ended there":     {900, true, false, false},
		"it was given when that was known":  {1040, false, false, true},
		"it is told of what was given away": {900, false, true, true},
	} {
		for _, runs := range []bool{false, true} {
			x := newScene(t)
			now, _ := x.cutOff(60, 905, 0)
			now.id.Epoch.Hop = 1
			x.gave(1, 60, x.a, x.b)
			x.gave(2, c.given, x.a, x.c)
			end := grid.Epoch{Term: 1, Hop: 2}
			if c.home {
				x.gave(3, c.given+10, x.c, x.a)
				end.Hop, x.f.owners[grid.Epoch{Term: 1, Hop: 3}] = 3, x.a
			}
			if c.own {
				end.Hop = 1
			}
			if x.f.wished, x.w.now = true, at(1100); runs {
				x.f.starts = []start{now}
			}
			x.w.truth.shown(x.a, "job", &grid.Record{Job: grid.Job{ID: "job"}, State: grid.Killed, Tenure: grid.Tenure{Epoch: end}})
			if !runs {
				x.f.mayStart(x.w, now)
			}
			if got := x.w.result.Violation != nil; got != c.violated {
				t.Errorf("%s, and it runs (%t): %+v", name, runs, x.w.result.Violation)
			}
		}
	}
}

// A home that has lost that it told KILLED gives the job away again, and hears of that: who got it may start it long after. What was on its
// way before the loss is no such thing.
func TestAStartAfterAKillThatWasLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given, queued, started int // 0: it is at home
		violated               bool
	}{
		"it was submitted before that was known":                {0, 1000, 1000, false},
		"it was submitted before, and left in the queue by all": {0, 1000, 1040, true},
		"it was submitted when that was known":                  {0, 1040, 1040, true},
		"it was submitted before the loss":                      {0, 76, 1000, true},
		"it was given away before that was known":               {900, 1040, 1040, false},
		"it was given away when that was known":                 {1030, 1040, 1040, true},
		"it was given away and queued before it lost":           {60, 76, 1000, true},
	} {
		x := newScene(t)
		x.w.now = at(1100)
		now, _ := x.cutOff(60, 905, 0)
		delete(x.f.given, grid.Epoch{Term: 1})
		x.f.killed, x.f.killedAt, x.f.toldAt, x.f.killer = true, at(75), at(75), x.c
		if now.queued, now.at = at(c.queued), at(c.started); c.given > 0 {
			now.id.Epoch.Hop = 2
			x.gave(2, c.given, x.a, x.b)
		} else {
			now.where, x.f.owners[now.id.Epoch] = x.a, x.a
		}
		x.f.mayStart(x.w, now)
		if got := x.w.result.Violation != nil; got != c.violated {
			t.Errorf("%s: %+v", name, x.w.result.Violation)
		}
	}
}

// Who had a job may lose that it ended, while its word of that is on the way to the home, which tells KILLED and loses that.
func TestAKillThatBothHaveForgotten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wrote        []grid.Tick
		since, until int
		violated     bool
	}{
		"it has lost its end before that was told":    {[]grid.Tick{at(150), at(195)}, 180, 198, false},
		"it has lost what came before its end":        {[]grid.Tick{at(150), at(195)}, 140, 190, true},
		"it has lost its end, and written it again":   {[]grid.Tick{at(150), at(195), at(199)}, 180, 198, true},
		"it has lost something else when it was told": {[]grid.Tick{at(150), at(195)}, 196, 300, false},
		"it has lost what it wrote since":             {[]grid.Tick{at(150), at(195), at(250)}, 240, 300, true},
	} {
		x := newScene(t)
		x.f.told, x.f.toldAt, x.f.owners[grid.Epoch{Term: 1, Hop: 1}] = grid.Killed, at(200), x.b
		x.f.wrote[x.b] = c.wrote
		x.b.lost(c.since, c.until, false)
		x.w.truth.setBack(x.a, lapse{since: at(100), words: true})
		x.a.lapses[0].heard = at(1010)
		x.w.now = at(1300)
		again := began(1300, x.b, 1)
		again.queued = at(1290)
		x.f.mayStart(x.w, again)
		if got := x.w.result.Violation != nil; got != c.violated {
			t.Errorf("%s: %+v", name, x.w.result.Violation)
		}
	}
}

// Who had a job from its home loses, unnoticed, that it gave it on, and gives it to another: so both own it, and start it.
func TestAnOwnerThatGivesAJobTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost, anew, heard int // given first, and again; when one who knew that was heard, if ever
		other, back       bool
		violated          bool
	}{
		"before anybody could be heard":               {60, 900, 0, false, false, false},
		"before one who knew was heard":               {60, 900, 905, false, false, false},
		"at once when he was heard":                   {60, 900, 890, false, false, false},
		"when that was known":                         {60, 1100, 905, false, false, true},
		"it has not lost that":                        {40, 900, 0, false, false, true},
		"another gave it the second time":             {60, 900, 0, true, false, true},
		"it came back to it in between":               {60, 900, 0, false, true, true},
		"it lost that after it had given it anew too": {60, 70, 0, false, false, true},
	} {
		for n := range 4 {
			starts, back := n%2 > 0, n > 1 // the first owner may be the later one to say so
			x := newScene(t)
			x.w.now = at(c.anew)
			giver := x.b
			if c.other {
				giver = x.c
			}
			x.gave(1, 55, x.a, x.b)
			x.gave(2, c.lost, x.b, x.a)
			x.gave(4, c.anew, giver, x.c)
			if c.back {
				x.gave(3, 85, x.a, x.b)
			}
			l := lapse{since: at(50), at: at(80), words: true, unnoticed: true}
			if c.heard > 0 {
				l.heard = at(c.heard)
			}
			x.b.lapses = []lapse{l}
			one, other := grid.Epoch{Term: 1, Hop: 2}, grid.Epoch{Term: 1, Hop: 4}
			first, second := began(c.lost+5, x.a, 1), began(c.anew+5, x.c, 1)
			first.id.Epoch, second.id.Epoch = one, other
			if back {
				first, second = second, first
			}
			if starts {
				x.f.starts = []start{first}
				x.f.mayStart(x.w, second)
			} else {
				x.f.owning[first.where] = first.id.Epoch
				x.w.truth.owned(second.where, x.f, &grid.Record{Tenure: grid.Tenure{Role: grid.Owning, Epoch: second.id.Epoch}})
			}
			if got := x.w.result.Violation != nil; got != c.violated {
				t.Errorf("%s, it starts: %t, the first one last: %t: %+v", name, starts, back, x.w.result.Violation)
			}
		}
	}
}
