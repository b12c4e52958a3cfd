package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// An attempt is lost here, its job waits for the word of its home, and goes to another site before it is launched again. The home has
// it to its end, and nothing that it says of that comes here. What this former owner keeps shows no job that moves for ever, nor a run.
func TestAFormerOwnerWithALostAttemptShowsNoRun(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	j.Rerunnable = true
	c := signed(grid.Record{
		Job: j, State: grid.Running,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
		Run:    grid.Run{Attempt: 1, Local: "l", Started: 5},
	})
	k := c.jobs[j.ID]
	c.Step(1_000_001, Progressed{Progress: grid.Progress{ID: c.attempt(k), Phase: grid.Ended, Started: 5, Finished: 6, Cause: grid.Disappeared}})
	if k.rec.State != grid.Ready || k.rec.Started != 0 || k.rec.Attempt != 1 || !k.worn {
		t.Fatalf("after the lost attempt: %s, started at %d, attempt %d, worn %t", k.rec.State, k.rec.Started, k.rec.Attempt, k.worn)
	}
	k.homeHeard, k.rec.Attempt = c.now, 0 // else the token is asked first
	c.ownership.makeOffer(k, him, 0, 1)
	id := c.ownership.handoffID(k)
	c.Step(1_000_002, Message{him, wire.Ready{Handoff: id}})
	c.Step(1_000_003, Message{him, wire.Owned{Handoff: id, Owner: him}})
	c.Step(1_000_004, Message{her, wire.MovedAck{Job: j.ID, Epoch: id.Epoch}})
	if r := k.rec; r.Role != grid.Tombstone || r.Started != 0 || c.live[j.ID] != nil {
		t.Errorf("it keeps a run that started at %d, as %s, live %t", r.Started, r.Role, c.live[j.ID] != nil)
	}
	c.Step(1_000_005, Message{her, wire.Closed{Job: j.ID, Term: 1}})
	if c.job(j.ID) != nil {
		t.Error("its home says that it is over, and it is kept")
	}
}

// A working tree of before a handoff that the candidate declined is made anew, also after a restart in between.
func TestATreeOfBeforeADeclinedHandoffIsWorn(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Rerunnable = true
	c := signed(grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{
		Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 2},
		Handoff: grid.Handoff{Phase: grid.Committed, To: him, Epoch: grid.Epoch{Term: 1, Hop: 2}},
	}})
	k := c.jobs[j.ID]
	k.worn = false
	c.Step(1_000_001, Message{him, wire.Declined{Handoff: c.ownership.handoffID(k)}})
	if k.rec.Role != grid.Owning || !k.worn {
		t.Errorf("%s, worn %t", k.rec.Role, k.worn)
	}
}

// What has run to its end and cannot be brought back is no program that vanished: it is told, and not run again.
func TestOutputThatCannotBeBroughtFailsTheJob(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Rerunnable = true
	c := signed(grid.Record{
		Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: 1, Local: "l", Started: 5},
	})
	k := c.jobs[j.ID]
	c.Step(1_000_001, Progressed{Progress: grid.Progress{ID: c.attempt(k), Phase: grid.Ended, Started: 5, Finished: 6, Cause: grid.Unbrought, Detail: "its disk is broken"}})
	if k.rec.State != grid.Finished || k.rec.End != grid.Failed || k.rec.Reason != "its disk is broken" {
		t.Errorf("it is %s, %s, as %q", k.rec.State, k.rec.End, k.rec.Reason)
	}
}
