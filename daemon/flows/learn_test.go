package flows

import (
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/flow/enact"
	"gbroker/grid"
)

// What a site takes beside the run of a task is in the plan once it was seen, also after a restart: the second workflow takes as long as planned.
func TestOverheadsAreLearned(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b, folder := newBroker(), t.TempDir()
			b.lag = 3 * time.Second
			k, stop := keeper(t, folder, b)
			first := await(t, k, begin(t, k, diamond()))
			if first.MakespanS < 23 || first.PlannedS > 9 {
				t.Fatalf("planned %v s, took %v s", first.PlannedS, first.MakespanS)
			}
			if restart {
				stop()
				k, stop = keeper(t, folder, b)
			}
			defer stop()
			again := diamond()
			again.Key = "again"
			if f := await(t, k, begin(t, k, again)); f.PlannedS < 0.9*f.MakespanS || f.PlannedS > 1.1*f.MakespanS {
				t.Errorf("restart %v: planned %v s, took %v s", restart, f.PlannedS, f.MakespanS)
			}
		})
	}
}

// A wait for cores is no overhead: on one core the second of two tasks waits for the first.
func TestAWaitIsNoOverhead(t *testing.T) {
	t.Parallel()
	at := func(s int) grid.Tick { return grid.Day + grid.Tick(s)*grid.Second }
	ended := func(handed, started, over, known int) enact.Task {
		ahead := grid.Hour // of the site's clock
		return enact.Task{State: enact.Done, Site: "home", Handed: at(handed), Started: at(started) + ahead, Ended: at(over) + ahead, Known: at(known)}
	}
	f := &flow{parts: make([]api.FlowPart, 3), planned: []workflow.Place{{Name: "home", Cores: 1}}}
	for i := range f.parts {
		f.parts[i].Ways = make([]api.FlowWay, 1)
	}
	f.rec.Tasks = []enact.Task{ended(0, 1, 11, 12), ended(2, 11, 21, 22), ended(30, 31, 41, 42)}
	for i, want := range []time.Duration{2 * time.Second, 0, 2 * time.Second} {
		if got := f.overhead(i); got != want {
			t.Errorf("of task %d: %v, not %v", i, got, want)
		}
	}
	f.planned[0].Openings = []workflow.Opening{{Cores: 1, After: time.Minute}} // others have the core
	if got := f.overhead(2); got != 0 {
		t.Errorf("where others have the cores: %v", got)
	}
	o := overheads{seen: map[string][]time.Duration{}}
	for i := range 2 * maxOverheads {
		o.saw(&enact.Task{Site: "home", Overhead: time.Duration(1+i/maxOverheads) * time.Second})
	}
	home, elsewhere := &workflow.Place{Name: "home", Overhead: time.Hour}, &workflow.Place{Name: "elsewhere", Overhead: 7 * time.Second}
	if got := o.of(home); got != 2*time.Second || o.of(elsewhere) != 7*time.Second || len(o.seen["home"]) != maxOverheads {
		t.Errorf("%v, of %d", got, len(o.seen["home"]))
	}
}

// Tasks of one name that say how long they take are expected by that, times how far off those before them were.
func TestExperience(t *testing.T) {
	t.Parallel()
	var x experience
	if x.expects(time.Minute) != 0 || (*experience)(nil).expects(time.Minute) != 0 {
		t.Error("something is expected of nothing")
	}
	x.add(2*time.Second, 0)
	if got := x.expects(time.Minute); got != 2*time.Second {
		t.Errorf("%v of one that had said nothing", got)
	}
	x.add(2*time.Second, time.Second)
	x.add(8*time.Second, 4*time.Second)
	x.add(9*time.Second, 3*time.Second)
	if long, unsaid := x.expects(8*time.Second), x.expects(0); long != 19*time.Second || unsaid != 21*time.Second/4 {
		t.Errorf("%v and %v", long, unsaid)
	}
	x.add(time.Second, 10*time.Second)
	if long, unsaid := x.atLeast(8*time.Second), x.atLeast(0); long != 800*time.Millisecond || unsaid != time.Second || (*experience)(nil).atLeast(time.Second) != 0 {
		t.Errorf("at least %v and %v", long, unsaid)
	}
}
