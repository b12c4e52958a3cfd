package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// ownedHere is a job of another home that this site owns, and was given at its second hop.
func ownedHere(change func(*grid.Record)) grid.Record {
	j := jobOf(her, "b", "1")
	r := grid.Record{
		Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 2}, Certificates: []grid.Certificate{certificate(j, her, 2, me)}},
	}
	if change != nil {
		change(&r)
	}
	return r
}

// An owner whose journal was put back may have given a job of another home to a third, of whom that home has not heard: it tells no KILLED before all
// were asked.
func TestACancelAtAnOwnerThatWasPutBack(t *testing.T) {
	t.Parallel()
	c := signed(ownedHere(nil))
	j := c.sorted()[0]
	c.Step(c.now+1, Reconciled{Jobs: []grid.JobID{j.rec.Job.ID}, All: true})
	c.Step(c.now+1, Message{it, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	if !c.recovery.recounting() || !j.rec.Uncertain {
		t.Fatal("no rollback is found")
	}
	pass := func() {
		for end := c.now + 2*c.cfg.RetryMax; c.now < end; {
			at, _ := c.Next()
			c.Step(at, Tick{})
		}
	}
	c.Step(c.now+1, Message{her, wire.Cancel{Job: j.rec.Job.ID, Epoch: j.rec.Epoch}})
	if pass(); j.rec.End != 0 {
		t.Fatalf("while others are asked it has ended %s", j.rec.End)
	}
	for _, p := range []grid.PeerID{her, him, it} {
		c.Step(c.now+1, Message{p, wire.Recounted{}})
	}
	if pass(); j.rec.End != grid.Killed {
		t.Errorf("when all have answered it is %s, and has ended %s", j.rec.State, j.rec.End)
	}
}

// Nor while those that live have not said what they saw of its journal.
func TestACancelAtAnOwnerBeforeOthersHaveSpoken(t *testing.T) {
	t.Parallel()
	c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, []grid.Record{ownedHere(nil)})
	begin(c)
	j := c.sorted()[0]
	c.Step(1_000_001, PeerChanged{her, grid.Alive})
	c.Step(1_000_001, PeerChanged{him, grid.Alive})
	c.Step(1_000_001, Message{her, wire.Seen{}})
	c.Step(1_000_002, Reconciled{Jobs: []grid.JobID{j.rec.Job.ID}, All: true})
	c.Step(1_000_003, Message{her, wire.Cancel{Job: j.rec.Job.ID, Epoch: j.rec.Epoch}})
	if j.rec.End != 0 {
		t.Fatalf("it has ended %s before one who lives has spoken", j.rec.End)
	}
	c.Step(1_000_004, Message{him, wire.Seen{}})
	for end := c.now + 2*c.cfg.RetryMax; c.now < end; {
		at, _ := c.Next()
		c.Step(at, Tick{})
	}
	if j.rec.End != grid.Killed {
		t.Errorf("when all have spoken it is %s", j.rec.State)
	}
}

// What is to be cancelled turns out to wait here, at an epoch that the journal lacks: it is withdrawn, and not left to start.
func TestACancelOfWhatWasOwnedLater(t *testing.T) {
	t.Parallel()
	c := signed(ownedHere(func(r *grid.Record) { r.CancelRequested = true }))
	j := c.sorted()[0]
	j.reconciled = false
	later := grid.AttemptID{Job: j.rec.Job.ID, Epoch: grid.Epoch{Term: 1, Hop: 9}, Attempt: 1}
	c.Step(c.now+1, Reconciled{Jobs: []grid.JobID{j.rec.Job.ID}, Attempts: []grid.AttemptID{later}, All: true})
	if j.rec.State != grid.Assigned || j.rec.Epoch != later.Epoch {
		t.Fatalf("it is %s at %s", j.rec.State, j.rec.Epoch)
	}
	effects := c.Step(c.now+1, Progressed{Progress: grid.Progress{ID: later, Phase: grid.Waiting, Local: "l"}})
	for end := c.now + 2*c.cfg.RetryMax; c.now < end; {
		at, _ := c.Next()
		effects = append(effects, c.Step(at, Tick{})...)
	}
	if w, is := only[Withdraw](effects); !is || w.ID != later {
		t.Errorf("it is not withdrawn: %v", w)
	}
}
