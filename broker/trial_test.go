package broker

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// What may have been submitted after the backup was made: one number after the other is
// asked after, until one is unknown; what waits, runs or has ended is the job's attempt.
func TestAttemptsThatTheJournalLacks(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	for name, k := range map[string]struct {
		record grid.Record
		phases []grid.Phase // of the attempts from the first that is asked after
		state  grid.State
		last   uint32
	}{
		"none":                    {grid.Record{State: grid.Ready}, []grid.Phase{grid.Unknown}, grid.Ready, 1},
		"one, which runs":         {grid.Record{State: grid.Ready}, []grid.Phase{grid.Started}, grid.Running, 1},
		"one withdrawn":           {grid.Record{State: grid.Ready}, []grid.Phase{grid.Withdrawn, grid.Unknown}, grid.Ready, 2},
		"a later one runs":        {grid.Record{State: grid.Ready}, []grid.Phase{grid.Withdrawn, grid.Withdrawn, grid.Started}, grid.Running, 3},
		"a later one has ended":   {grid.Record{State: grid.Ready, Attempt: 4}, []grid.Phase{grid.Withdrawn, grid.Ended}, grid.Finished, 6},
		"a later one waits":       {grid.Record{State: grid.Ready}, []grid.Phase{grid.Withdrawn, grid.Waiting}, grid.Assigned, 2},
		"after one that waits":    {grid.Record{State: grid.Assigned, Attempt: 1, Local: "l"}, []grid.Phase{grid.Withdrawn, grid.Started}, grid.Running, 2},
		"the one that waits does": {grid.Record{State: grid.Assigned, Attempt: 1, Local: "l"}, []grid.Phase{grid.Waiting}, grid.Assigned, 1},
	} {
		k.record.Job, k.record.Standing, k.record.Owner, k.record.Epoch = j, grid.Owning, me, grid.Epoch{Term: 1}
		c := lived(7, grid.JournalID{Incarnation: 5, Sequence: 1}, k.record)
		c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 5, Sequence: 50}}}})
		for _, p := range k.phases {
			if c.mustAsk(c.jobs[j.ID]) == "" {
				t.Errorf("%s: it may be started or handed on", name)
			}
			id := c.attempt(c.jobs[j.ID])
			if p != grid.Unknown {
				c.Step(1_000_002, Progressed{Progress: grid.Progress{ID: id, Phase: p, Local: "l", Started: 5, Finished: 6, Cause: grid.ByItself}})
				continue
			}
			if w, ok := only[Withdraw](c.Step(1_000_002, Progressed{Progress: grid.Progress{ID: id, Phase: p}})); !ok || w.ID != id {
				t.Errorf("%s: the number is not taken: another may be using it", name)
			}
			c.Step(1_000_003, Withdrawn{ID: id, Done: true})
		}
		k2 := c.jobs[j.ID]
		if k2.rec.State != k.state || k2.rec.Attempt != k.last || k2.trial {
			t.Errorf("%s: %s, attempt %d, on trial %t", name, k2.rec.State, k2.rec.Attempt, k2.trial)
		}
	}
}

// A withdrawal that was asked for before the trial says nothing of what comes after it.
func TestAnEarlierWithdrawalEndsNoTrial(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := lived(7, grid.JournalID{Incarnation: 5, Sequence: 1}, grid.Record{Job: j, Standing: grid.Owning, State: grid.Assigned, Attempt: 1, Owner: me, Epoch: grid.Epoch{Term: 1}})
	c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 5, Sequence: 50}}}})
	c.Step(1_000_002, Withdrawn{ID: c.attempt(c.jobs[j.ID]), Done: true})
	c.Step(1_000_003, Progressed{Progress: grid.Progress{ID: c.attempt(c.jobs[j.ID]), Phase: grid.Withdrawn}})
	if k := c.jobs[j.ID]; !k.trial || k.rec.Attempt != 2 {
		t.Errorf("attempt %d, on trial %t", k.rec.Attempt, k.trial)
	}
}

// A trial outlasts the word of the neighbours, and an answer that does not come.
func TestATrialKeepsTheJobHere(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := lived(7, grid.JournalID{Incarnation: 5, Sequence: 1}, grid.Record{Job: j, Standing: grid.Owning, State: grid.Ready, Owner: me, Epoch: grid.Epoch{Term: 1}})
	c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 5, Sequence: 50}}}})
	id := c.attempt(c.jobs[j.ID])
	for _, p := range []grid.PeerID{her, him} {
		c.Step(1_000_002, Message{p, wire.Recounted{}})
	}
	if c.rolled == nil || c.mustAsk(c.jobs[j.ID]) == "" {
		t.Error("it goes on: the neighbours have answered, and the tokens have not")
	}
	c.Step(1_000_003, Progressed{Progress: grid.Progress{ID: id}, Err: "the disk does not answer"})
	probed := false
	for now := grid.Tick(1_000_004); now < 1_020_000; now += 1000 {
		for _, e := range c.Step(now, Tick{}) {
			switch e := e.(type) {
			case Withdraw:
				t.Fatalf("%v is withdrawn before it was asked after: its number says nothing any more", e.ID)
			case Probe:
				probed = probed || e.ID == id
			}
		}
	}
	if !probed {
		t.Error("it is not asked again")
	}
}
