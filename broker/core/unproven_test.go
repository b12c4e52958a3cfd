package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// That an attempt waits here tells that its job was not handed over in the part of the journal which is lost, unless it may have been
// submitted since: then it is taken out of the queue, and goes again when all were asked.
func TestAnAttemptOfThisLifeProvesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		again, restart, more bool // it was submitted in this life; there was a start since; another branch was found since
		proves               bool
	}{
		"of an earlier life":                         {false, false, false, true},
		"of this life":                               {true, false, false, false},
		"of the life before, which had the alarm":    {true, true, false, false},
		"the same, and one has seen more since then": {true, true, true, false},
	} {
		j := jobOf(me, "a", "1")
		r := grid.Record{Job: j, State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "17"}, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}
		k := signed(r)
		if c.again {
			k.execution.launch(k.jobs[j.ID], "again")
			k.Step(k.now+1, Launched{ID: k.attempt(k.jobs[j.ID]), Local: "18"})
		}
		k.Step(k.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		if c.restart {
			rolled := k.jobs[j.ID].rec
			k = signed(rolled)
			k.recovery.awaitAll("that was found before the last start")
		}
		if c.more {
			k.Step(k.now+1, Message{him, wire.Seen{Journals: []grid.JournalID{{Sequence: 60}}}})
		}
		at := k.attempt(k.jobs[j.ID])
		effects := k.Step(k.now+1, Progressed{Progress: grid.Progress{ID: at, Phase: grid.Waiting, Local: "18"}})
		if _, withdraws := only[Withdraw](effects); withdraws == c.proves || k.jobs[j.ID].rec.Uncertain == c.proves {
			t.Errorf("%s: it is withdrawn: %t, in doubt: %t", name, withdraws, k.jobs[j.ID].rec.Uncertain)
			continue
		}
		if c.proves {
			continue
		}
		if _, starts := only[Launch](k.Step(k.now+1, Withdrawn{ID: at, Done: true})); starts {
			t.Errorf("%s: it starts again before all were asked", name)
		}
		var goes bool
		for _, p := range []grid.PeerID{her, him, it} {
			_, goes = only[Launch](k.Step(k.now+1, Message{p, wire.Recounted{}}))
		}
		for end := k.now + grid.Minute; !goes && k.now < end; {
			next, _ := k.Next()
			_, goes = only[Launch](k.Step(next, Tick{}))
		}
		if r := k.jobs[j.ID].rec; !goes || r.Uncertain || r.Unproven {
			t.Errorf("%s: all were asked: it goes: %t, in doubt: %t, %+v", name, goes, r.Uncertain, r.Run)
		}
	}
}

// What has started, or is a part that its site never gives away, is not in doubt, whenever it was submitted.
func TestWhatRunsIsNotWithdrawnInDoubt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part  bool
		phase grid.Phase
	}{"it runs": {false, grid.Started}, "a part waits": {true, grid.Waiting}} {
		j := jobOf(me, "a", "1")
		if c.part {
			j.Part = &grid.Part{Of: "a.w"}
		}
		k := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		k.execution.launch(k.jobs[j.ID], "")
		k.Step(k.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		effects := k.Step(k.now+1, Progressed{Progress: grid.Progress{ID: k.attempt(k.jobs[j.ID]), Phase: c.phase, Started: k.now, Local: "18"}})
		if _, withdraws := only[Withdraw](effects); withdraws || k.jobs[j.ID].rec.Uncertain {
			t.Errorf("%s: it is withdrawn: %t, in doubt: %t", name, withdraws, k.jobs[j.ID].rec.Uncertain)
		}
	}
}

// When all were asked, what waits here is not in doubt any more, and stays.
func TestWhatWaitsWhenAllWereAskedStays(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	k := signed(grid.Record{Job: j, State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "17", Unproven: true}, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	if _, withdraws := only[Withdraw](k.Step(k.now+1, Progressed{Progress: grid.Progress{ID: k.attempt(k.jobs[j.ID]), Phase: grid.Waiting, Local: "17"}})); withdraws {
		t.Error("it is withdrawn")
	}
}
