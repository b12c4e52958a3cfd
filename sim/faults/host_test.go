package faults

import (
	"testing"

	"gbroker/broker/core"
	"gbroker/grid"
)

// A save fails while a Tick is due. The Core after it may want one at that very instant: nothing counts as due any more.
func TestAFailedSaveLeavesNoTimer(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	x.f.accepted = false
	h := &x.a.host
	h.boot()
	x.w.until(x.w.now+grid.Second, nil)
	if h.wake == 0 {
		t.Fatal("nothing is due")
	}
	if h.fail(&core.Write{}); h.wake != 0 {
		t.Error("a Tick is due to a Core that is gone")
	}
	x.w.until(x.w.now+3*grid.Second, nil)
	if h.Core() == nil || h.wake == 0 {
		t.Error("the next Core has none")
	}
}
