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
	if no := of(x.b, func(*fact) {}); no != 0 {
		t.Errorf("one that waits for no instant may take %.0f s longer", no.Seconds())
	}
}
