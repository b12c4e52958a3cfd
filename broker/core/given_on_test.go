package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// pass lets time go by.
func pass(c *Core, span grid.Tick) (effects []Effect) {
	for end := c.now + span; c.now < end; {
		at, any := c.Next()
		if !any {
			at = end
		}
		effects = append(effects, c.Step(at, Tick{})...)
	}
	return effects
}

// fencedUnheard is a home whose journal was put back, with jobs that wait. All have answered but b, which was fenced off: it may have given them to c, or d,
// after these had answered.
func fencedUnheard(records ...grid.Record) *Core {
	c := signed(records...)
	c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
	c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
	c.Step(c.now+1, Message{him, wire.Recounted{}})
	c.Step(c.now+1, Message{it, wire.Recounted{}})
	c.Step(c.now+1, Forget{Token: 1, Site: her, Fenced: true})
	return c
}

// successorsSay has those who are asked say that they have nothing of a job.
func successorsSay(c *Core, id grid.JobID) {
	for p := range c.jobs[id].successors {
		c.Step(c.now+1, Message{p, wire.Error{Of: wire.KindRecall, Job: id, At: c.jobs[id].rec.Epoch}})
	}
}

// What a fenced-off site may have had, and given on, does not start again at once, nor is its user told that nothing of it runs: who may have got it is
// asked first. The fenced-off site is not.
func TestWhatTheUnheardMayHaveGivenOn(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = again
		r := ready(j)
		r.CancelRequested = again
		c := fencedUnheard(r)
		k := c.jobs[j.ID]
		if c.recovery.recounting() || k.rec.Epoch.Term < 2 {
			t.Fatalf("it is at %s, waited for: %v", k.rec.Epoch, c.recovery.waitedFor())
		}
		k.recovered = false // its neighbours have spoken
		asked := pass(c, 2*silence*c.cfg.Digest)
		if k.rec.State.Terminal() || !again && c.gates.beforeStart(k) != untilReported {
			t.Errorf("may run twice %t: it is %s, and its start %s", again, k.rec.State, c.gates.beforeStart(k))
		}
		if len(sentTo(asked, him)) == 0 || k.successors[her] {
			t.Errorf("waited for: %v", k.successors)
		}
		successorsSay(c, j.ID)
		pass(c, c.cfg.RetryMax)
		if killed := k.rec.State == grid.Killed; killed != again || c.gates.beforeStart(k) == untilReported {
			t.Errorf("when they have answered it is %s, and its start %s", k.rec.State, c.gates.beforeStart(k))
		}
	}
}

// Nor does it fail before that, as what it depends on has failed in this branch of the journal.
func TestWhatTheUnheardMayHaveGivenOnDoesNotFail(t *testing.T) {
	t.Parallel()
	first, j := jobOf(me, "a", "1"), jobOf(me, "a", "2")
	j.Terms.After = []grid.Dependency{{Kind: grid.AfterOK, On: string(first.ID)}}
	c := fencedUnheard(ready(first), ready(j))
	k := c.jobs[j.ID]
	k.recovered = false
	c.Step(c.now+1, EndJob{Token: 2, Job: first.ID, Dead: true, By: "root"})
	pass(c, 2*silence*c.cfg.Digest)
	if r := c.peek(first.ID).rec; r.State != grid.Failed || k.rec.State != grid.Ready {
		t.Fatalf("the first is %s, and what depends on it %s (%s)", r.State, k.rec.State, k.rec.Reason)
	}
	successorsSay(c, j.ID)
	if pass(c, grid.Minute); k.rec.State != grid.Failed {
		t.Errorf("when they have answered it is %s", k.rec.State)
	}
}

// A home was put back to before it raised the term of a job, of which b tells that it has let go, and c that it owns it at the older one. The report of c
// is lost: it is waited for, as it is where a term is raised.
func TestATermThatWasRaisedBeforeTheJournalWasPutBack(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(ready(j))
	c.stamp = 50
	k := c.jobs[j.ID]
	c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
	c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
	c.Step(c.now+1, Message{her, wire.Recounted{Traces: []wire.Trace{{Job: j.ID, Epoch: grid.Epoch{Term: 40}}}}})
	c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
	c.Step(c.now+1, Message{him, wire.Recounted{Claims: []wire.Claim{{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}}}}})
	c.Step(c.now+1, Message{it, wire.Recounted{}})
	if c.recovery.recounting() || k.rec.Epoch != (grid.Epoch{Term: 40}) {
		t.Fatalf("it is at %s, waited for: %v", k.rec.Epoch, c.recovery.waitedFor())
	}
	k.recovered = false // its neighbours have spoken
	asked := pass(c, 2*silence*c.cfg.Digest)
	recalled := slices.Contains(sentTo(asked, him), wire.Message(wire.Recall{Job: j.ID, At: k.rec.Epoch}))
	if hold := c.gates.beforeStart(k); hold != untilReported || !recalled {
		t.Errorf("its start %s, and c is asked %t", hold, recalled)
	}
	successorsSay(c, j.ID)
	if hold := c.gates.beforeStart(k); hold == untilReported {
		t.Errorf("when they have answered its start %s: %v", hold, k.successors)
	}
}

// Likewise of a job for several sites, which the lost branch may have sent to one.
func TestAWholeThatTheUnheardMayHaveGivenOn(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		j := jobOf(me, "a", "1")
		j.Rerunnable, j.Coallocation = again, &grid.Coallocation{Sites: 2, PerSite: 1}
		r := ready(j)
		r.CancelRequested = again
		c := fencedUnheard(r)
		k := c.jobs[j.ID]
		k.recovered = false // its neighbours have spoken
		pass(c, 2*silence*c.cfg.Digest)
		if k.rec.Epoch.Term < 2 || k.rec.State.Terminal() || !again && c.gates.beforeRound(k) != untilReported {
			t.Fatalf("may run twice %t: it is %s at %s, and its round %s", again, k.rec.State, k.rec.Epoch, c.gates.beforeRound(k))
		}
		successorsSay(c, j.ID)
		pass(c, c.cfg.RetryMax)
		if killed := k.rec.State == grid.Killed; killed != again || c.gates.beforeRound(k) == untilReported {
			t.Errorf("when they have answered it is %s, and its round %s", k.rec.State, c.gates.beforeRound(k))
		}
	}
}
