package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// waiting is a job of this home in its batch system.
func waiting(j grid.Job) grid.Record {
	return grid.Record{
		Job: j, State: grid.Assigned,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
		Run:    grid.Run{Attempt: 1, Local: "7"},
	}
}

// rolledBackWith is a Core whose journal was rolled back, with a job that waits in its batch system.
func rolledBackWith(r grid.Record) *Core {
	c := signed(r)
	c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	return c
}

// settled lets time pass until all of that is over.
func settled(c *Core, now grid.Tick) bool {
	for end := now + grid.Minute; c.recovery.rolled != nil && now < end; now += 500 {
		c.Step(now, Tick{})
	}
	return c.recovery.rolled == nil
}

// A job of this home waits in the batch system, and a site that is not waited for may have got it. It
// does not start again at a new term before its attempt was seen here, or never starts.
func TestNothingStartsAgainBesideAnAttempt(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	was := waiting(j)
	id := grid.AttemptID{Job: j.ID, Epoch: was.Epoch, Attempt: 1}
	for name, k := range map[string]struct {
		word  []Event
		again bool
	}{
		"it waits here":   {[]Event{Progressed{Progress: grid.Progress{ID: id, Phase: grid.Waiting}}}, false},
		"it runs here":    {[]Event{Progressed{Progress: grid.Progress{ID: id, Phase: grid.Started, Started: 5}}}, false},
		"it never starts": {[]Event{Progressed{Progress: grid.Progress{ID: id, Phase: grid.Withdrawn}}, Withdrawn{ID: id, Done: true}}, true},
	} {
		c := rolledBackWith(was)
		for _, p := range []grid.PeerID{her, him, it} {
			c.Step(1_000_002, Forget{Site: p, Fenced: true, By: "root"})
		}
		c.Step(1_000_003, Progressed{Progress: grid.Progress{ID: id}, Err: errors.New("the listing is empty")})
		if settled(c, 1_000_004) || c.jobs[j.ID].rec.Epoch != was.Epoch {
			t.Errorf("%s: it goes on at %s, and nobody knows of its attempt", name, c.jobs[j.ID].rec.Epoch)
			continue
		}
		for _, ev := range k.word {
			c.Step(1_061_000, ev)
		}
		over := settled(c, 1_061_001)
		if again := c.jobs[j.ID].rec.Epoch.Term > 1; !over || again != k.again {
			t.Errorf("%s: goes on %t, starts again %t", name, over, again)
		}
	}
}

// Another had the job at a later epoch, and has forgotten it too: the attempt here is withdrawn first.
func TestATraceElsewhereWithdrawsTheAttempt(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Rerunnable = true
	c := rolledBackWith(waiting(j))
	id := c.attempt(c.jobs[j.ID])
	effects := c.Step(1_000_002, Message{her, wire.Recounted{Traces: []wire.Trace{{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 9}}}}})
	if w, asks := only[Withdraw](effects); !asks || w.ID != id {
		t.Errorf("its attempt stays: %+v", effects)
	}
	c.Step(1_000_003, Message{him, wire.Recounted{}})
	c.Step(1_000_003, Message{it, wire.Recounted{}})
	if settled(c, 1_000_004) {
		t.Fatalf("it goes on: %+v", c.jobs[j.ID].rec)
	}
	c.Step(1_061_000, Withdrawn{ID: id, Done: true})
	if !settled(c, 1_061_001) || c.jobs[j.ID].rec.Epoch.Term == 1 {
		t.Errorf("its attempt never starts: at %s, %s", c.jobs[j.ID].rec.Epoch, c.jobs[j.ID].rec.State)
	}
}

// An owner that has lost the certificates with its journal tells a home that has lost the job: it is LOST, and
// gains the result. A home that has lost nothing does not learn it.
func TestAnOwnerWithoutCertificatesIsLearntAsLost(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	at := grid.Epoch{Term: 1, Hop: 3}
	for name, lost := range map[string]bool{"its journal is new": true, "its journal is whole": false} {
		c := signed()
		c.recovery.bereft = lost
		c.Step(1_000_001, Message{her, wire.Recalled{Job: j, Epoch: at, Owning: true}})
		one := c.jobs[j.ID]
		if (one != nil) != lost {
			t.Errorf("%s: learnt %t", name, one != nil)
		}
		if !lost || one == nil {
			continue
		}
		if one.rec.State != grid.Lost || one.rec.Owner != her {
			t.Errorf("%s: %s of %s", name, one.rec.State, one.rec.Owner)
		}
		c.Step(1_000_002, Message{her, wire.Report{
			Job: j.ID, Epoch: at, Number: 7, State: grid.StageOut, Attempt: 1, End: grid.Completed,
			Started: wire.Ago{Span: 90, Known: true}, Finished: wire.Ago{Span: 80, Known: true},
		}})
		if one.rec.State != grid.Completed {
			t.Errorf("%s: its result does not count: %s", name, one.rec.State)
		}
	}
}

// A job is given away: all who live are told at once how far the journal has come, so that any of them
// knows that it was rolled back should it lose that.
func TestAHandoffIsSeenByAll(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	for _, p := range []grid.PeerID{her, him, it} {
		c.Step(1_000_001, PeerChanged{p, grid.Alive})
		c.Step(1_000_001, Message{p, wire.Seen{}})
	}
	c.Step(1_000_002, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
	c.ownership.makeOffer(c.jobs[j.ID], her, 0, 0)
	b := c.ownership.handoffID(c.jobs[j.ID])
	c.Durable(10)
	c.Step(1_000_003, Message{her, wire.Ready{Handoff: b}})
	if c.jobs[j.ID].rec.Owner != her {
		t.Fatalf("it is not given away: %+v", c.jobs[j.ID].rec)
	}
	c.Durable(11)
	for _, m := range sentTo(c.Step(1_000_003+grid.Second, Tick{}), him) {
		if s, is := m.(wire.Seen); is && s.Mine.Sequence == 11 {
			return
		}
	}
	t.Error("a second later one that lives was not told")
}

// A member that comes back into the neighbours' file while a journal is known to have been rolled back is
// asked too: it was removed in the part that is lost, or since, and may know of it.
func TestWhoJoinsAfterARollbackIsAsked(t *testing.T) {
	t.Parallel()
	c := rolledBackWith(waiting(jobOf(me, "a", "1")))
	all := []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}, {Name: "d", Peer: it, Send: true}}
	c.Step(1_000_002, MembersChanged{all[:2]})
	if c.recovery.rolled.waiting[it] || len(c.recovery.rolled.unheard) != 1 {
		t.Fatalf("one that was removed is waited for: %+v", c.recovery.rolled)
	}
	effects := c.Step(1_000_003, MembersChanged{all})
	if !c.recovery.rolled.waiting[it] || len(c.recovery.rolled.unheard) != 0 {
		t.Errorf("it is back, and not waited for: %+v", c.recovery.rolled)
	}
	for _, m := range sentTo(effects, it) {
		if _, asks := m.(wire.Recount); asks {
			return
		}
	}
	t.Error("it is back, and not asked")
}

// The home says of a job that waits here that it has ended: nothing of it starts or is handed on before
// the home has acknowledged a report made since.
func TestClosedMakesAnOwnerAsk(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	for name, k := range map[string]struct {
		state grid.State
		waits bool
	}{"it waits": {grid.Ready, true}, "it runs": {grid.Running, false}} {
		c := signed(grid.Record{
			Job: j, State: k.state, Run: grid.Run{Attempt: 1},
			Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at, Report: 3, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
		})
		c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
		one := c.jobs[j.ID]
		one.homeHeard = 1_000_001
		if why := c.gates.beforeStart(one); why != open {
			t.Fatalf("%s: it %s", name, why)
		}
		was := one.rec.Report
		c.Step(1_000_002, Message{her, wire.Closed{Job: j.ID, Term: 1}})
		if asks := c.gates.beforeStart(one) != open; asks != k.waits {
			t.Errorf("%s: it asks its home: %t", name, asks)
		}
		c.Step(1_000_003, Message{her, wire.ReportAck{Job: j.ID, Epoch: at, Number: was}})
		if asks := c.gates.beforeStart(one) != open; asks != k.waits {
			t.Errorf("%s: an older word counts", name)
		}
		c.Step(1_000_004, Message{her, wire.ReportAck{Job: j.ID, Epoch: at, Number: one.rec.Report}})
		if why := c.gates.beforeStart(one); why != open {
			t.Errorf("%s: its home has spoken, and it %s", name, why)
		}
	}
}

// A home that lost its journal had taken a job back since, and run it again: the owner that reports it is
// of an older term. The home's own control directory speaks before that owner is let start it.
func TestALearntJobMayBeHere(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	at, since := grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{Term: 9}
	for name, here := range map[string]bool{"it was taken back": true, "it was not": false} {
		c := signed()
		c.recovery.bereft = true
		proof := []grid.Certificate{certificate(j, me, 1, her)}
		effects := c.Step(1_000_001, Message{her, wire.Recalled{Job: j, Epoch: at, Owning: true, Certificates: proof}})
		if e, asks := only[Reconcile](effects); !asks || len(e.Jobs) != 1 {
			t.Fatalf("%s: its control directory is not asked: %+v", name, effects)
		}
		report := wire.Report{Job: j.ID, Epoch: at, Number: 2, State: grid.Ready, Certificates: proof}
		acked := func(now grid.Tick) bool {
			for _, m := range sentTo(c.Step(now, Message{her, report}), her) {
				if _, is := m.(wire.ReportAck); is {
					return true
				}
			}
			return false
		}
		if acked(1_000_002) {
			t.Errorf("%s: the owner may start it already", name)
		}
		found := Reconciled{Jobs: []grid.JobID{j.ID}, All: true}
		if here {
			found.Attempts = []grid.AttemptID{{Job: j.ID, Epoch: since, Attempt: 1}}
		}
		c.Step(1_000_003, found)
		if r := c.jobs[j.ID].rec; (r.Role == grid.Owning && r.Epoch == since) != here {
			t.Errorf("%s: %s at %s", name, r.Role, r.Epoch)
		}
		if acked(1_000_004) == here {
			t.Errorf("%s: the owner may start it: %t", name, !here)
		}
	}
}

// An owner that let a job go, as its home had given it to another, tells that to the home which was rolled
// back: it had the job, and may have started it. Where the home had raised the term, it tells that, unless what may run once has started.
func TestWhoLetAJobGoTellsATrace(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 4}
	for name, k := range map[string]struct {
		tenure  grid.Tenure
		started grid.Tick
		told    grid.Epoch
	}{
		"let go":       {grid.Tenure{Role: grid.Tombstone, Owner: me, Epoch: at, Superseded: grid.Epoch{Term: 1, Hop: 9}}, 0, at},
		"by a term":    {grid.Tenure{Role: grid.Tombstone, Owner: me, Epoch: at, Superseded: grid.Epoch{Term: 9, Hop: 3}}, 0, grid.Epoch{Term: 9}},
		"and declined": {grid.Tenure{Role: grid.Declined, Owner: her, Epoch: at, Superseded: grid.Epoch{Term: 9}}, 0, grid.Epoch{Term: 9}},
		"it had run":   {grid.Tenure{Role: grid.Tombstone, Owner: me, Epoch: at, Superseded: grid.Epoch{Term: 9}}, 5, at},
		"ended here":   {grid.Tenure{Role: grid.Tombstone, Owner: me, Epoch: at, Closed: true}, 0, grid.Epoch{}},
		"handed on":    {grid.Tenure{Role: grid.Tombstone, Owner: him, Epoch: at}, 0, grid.Epoch{}},
		"still has it": {grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at}, 0, grid.Epoch{}},
	} {
		j := jobOf(her, "b", "1")
		c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: k.tenure, Run: grid.Run{Started: k.started}})
		c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
		for p, told := range map[grid.PeerID]bool{her: k.told != (grid.Epoch{}), him: false} {
			for _, m := range sentTo(c.Step(1_000_002, Message{p, wire.Recount{}}), p) {
				if r, is := m.(wire.Recounted); is && (len(r.Traces) == 1 && r.Traces[0] == (wire.Trace{Job: j.ID, Epoch: k.told})) != told {
					t.Errorf("%s: to %s %+v", name, p, r.Traces)
				}
			}
		}
	}
}
