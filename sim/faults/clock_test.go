package faults

import (
	"testing"

	"gbroker/grid"
)

// A job that is not to start before an instant waits longer where the clock of its home was set back, as often as it was; that it was set
// on again does not bring it nearer.
func TestAClockSetBackGivesTime(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	for _, by := range []grid.Tick{-2 * grid.Hour, grid.Hour, -grid.Hour} {
		x.b.clock.set(by)
	}
	x.c.clock.set(-grid.Minute)
	of := func(home *site, is func(*fact)) grid.Tick {
		f := newFact("other", home, &grid.Job{Demand: cores(1)})
		is(f)
		return f.longer()
	}
	exacting := func(f *fact) { f.asked.is = true }
	if at, not := of(x.b, exacting), of(x.c, exacting); at != 3*grid.Hour || not != grid.Minute || x.b.clock.offset != -2*grid.Hour {
		t.Errorf("it may take %.0f s longer, and at another home %.0f s; the clock is off by %.0f s", at.Seconds(), not.Seconds(), x.b.clock.offset.Seconds())
	}
	if any := of(x.c, func(f *fact) { f.sites = 2 }); any != 3*grid.Hour {
		t.Errorf("one that has nodes reserved elsewhere may take %.0f s longer", any.Seconds())
	}
	if any := of(x.c, func(f *fact) { f.asked = asked{is: true, terms: grid.Terms{Deadline: at(900)}} }); any != 3*grid.Hour {
		t.Errorf("one that has a deadline may take %.0f s longer", any.Seconds())
	}
	if no := of(x.b, func(*fact) {}); no != 0 {
		t.Errorf("one that waits for no instant may take %.0f s longer", no.Seconds())
	}
}

// What cannot end by its deadline waits in no queue until then, by the clock of whoever owns it, and no longer. No other job does.
func TestADeadlineOfAClockSetBackGivesTime(t *testing.T) {
	t.Parallel()
	for deadline, back := range map[grid.Tick]grid.Tick{at(900): grid.Hour, 0: 0} {
		x := newScene(t)
		x.b.clock.set(-grid.Hour)
		x.f.asked = asked{is: true, terms: grid.Terms{Deadline: deadline}}
		x.a.disk.records["job"] = &grid.Record{State: grid.Ready, Job: grid.Job{Terms: x.f.asked.terms}}
		x.w.storms = x.w.now
		x.w.now += queueBound + back
		if x.w.queued(); x.w.result.Violation != nil {
			t.Errorf("deadline %d: %+v", deadline, x.w.result.Violation)
		}
		x.w.now++
		if x.w.queued(); x.w.result.Violation == nil {
			t.Errorf("deadline %d: out of every queue ever since, and nobody minds", deadline)
		}
	}
}
