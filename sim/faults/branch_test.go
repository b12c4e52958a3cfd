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
