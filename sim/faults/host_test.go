package faults

import (
	"testing"

	"gbroker/broker/core"
	"gbroker/grid"
)

// A folder was put aside, as the journal did not know its job; an older journal knows it again, with the attempt that has ended in it.
func TestAFolderIsPutBack(t *testing.T) {
	t.Parallel()
	x := newScene(t)
	r := &grid.Record{Job: grid.Job{ID: "job"}, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning}, Run: grid.Run{Attempt: 1}}
	x.b.disk.folder("job").ends[token{attempt: 1}] = grid.Progress{Phase: grid.Ended}
	x.b.disk.setAside("job")
	if back := x.b.disk.putBack(); len(back) > 0 {
		t.Errorf("of an unknown job: %v", back)
	}
	x.b.disk.records["job"] = r
	if back := x.b.disk.putBack(); len(back) != 1 || x.b.disk.folders["job"] == nil || len(x.b.disk.aside["job"]) > 0 {
		t.Errorf("put back are %v", back)
	}
}

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
