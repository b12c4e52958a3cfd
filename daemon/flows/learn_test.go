package flows

import (
	"testing"
	"testing/synctest"
	"time"

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

// seenTask is one that has ended at home, with so much beside its run.
func seenTask(ran, beside time.Duration) enact.Task {
	end := grid.Hour + grid.Span(ran)
	return enact.Task{State: enact.Done, Site: "home", Handed: grid.Day, Known: grid.Day + grid.Span(ran+beside), Started: grid.Hour, Ended: end}
}

// A wait for cores is no overhead, as long as some tasks had none; and a site that was not seen has none.
func TestOverheadOfASite(t *testing.T) {
	t.Parallel()
	o := overheads{seen: map[string][]time.Duration{}}
	for i := range 50 {
		task := seenTask(10*time.Second, time.Second)
		if i%3 > 0 {
			task = seenTask(10*time.Second, time.Hour)
		}
		o.saw(&task)
	}
	backwards := seenTask(10*time.Second, -time.Minute) // its home's clock was set back
	o.saw(&backwards)
	if got := o.of("home"); got != time.Second || o.of("elsewhere") != 0 || len(o.seen["home"]) != maxOverheads {
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
	if long, unsaid := x.expects(10*time.Second), x.expects(0); long != 20*time.Second || unsaid != 4*time.Second {
		t.Errorf("%v and %v", long, unsaid)
	}
}
