package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// heardAll steps a Core through the words of all that it waits for, and of its control directories.
func heardAll(c *Core) {
	for _, p := range []grid.PeerID{her, him, it} {
		c.Step(c.now+1, Message{p, wire.Recounted{}})
	}
	c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
	for range 3 {
		c.Step(c.now+grid.Minute, Tick{})
	}
}

// ready is a job of this home that waits here, and is in no queue.
func ready(j grid.Job) grid.Record {
	return grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}
}

// jobsHere are the jobs of all records.
func (c *Core) jobsHere() (list []grid.JobID) {
	for id := range c.jobs {
		list = append(list, id)
	}
	return list
}

// A member that was removed while all were asked about a lost branch cannot have got from there what came here after that: not from a duplicate
// either, that an administrator tells of later. It may have got what was here.
func TestTheUnheardMayHaveWhatWasHere(t *testing.T) {
	t.Parallel()
	known, later := jobOf(me, "a", "1"), jobOf(me, "a", "2")
	c := signed(ready(known))
	c.Step(c.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 1, Sequence: 90}}}})
	c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
	c.Durable(91)
	c.Step(c.now+1, MembersChanged{[]grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "d", Peer: it, Send: true}}})
	c.Durable(92)
	c.Step(c.now+1, Submit{Token: 1, Job: later, Key: "2"})
	c.Step(c.now+1, HadDuplicate{Token: 2})
	heardAll(c)
	if r := c.job(known.ID); r != nil && r.rec.State != grid.Lost {
		t.Errorf("what was here is %s (%s), asked: %v", r.rec.State, r.rec.Reason, c.recovery.waitedFor())
	}
	if r := c.job(later.ID).rec; r.State.Terminal() || r.Uncertain {
		t.Errorf("what came later is %s (%s)", r.State, r.Reason)
	}
}

// Who was forgotten is a neighbour all the same, of a duplicate too: it may have got from there what came here after that word. Where it has told of
// the duplicate itself it is asked.
func TestTheForgottenMayHaveWhatADuplicateHad(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		found Event
		state grid.State
	}{
		"its administrator says so": {HadDuplicate{Token: 2}, grid.Lost},
		"another has met it":        {Message{him, wire.Seen{Journals: []grid.JournalID{{Incarnation: 1, Life: 9, Sequence: 200}}}}, grid.Lost},
		"it has met it itself":      {Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 1, Life: 9, Sequence: 200}}}}, grid.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			later := jobOf(me, "a", "2")
			cfg := signer(me, "a")
			cfg.Journal = grid.JournalID{Incarnation: 1, Life: 5, Sequence: 80}
			c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}, {Name: "d", Peer: it, Send: true}}, nil)
			begin(c)
			c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90, Life: 5})
			c.Durable(91)
			c.Step(c.now+1, Forget{Token: 1, Site: her})
			c.Durable(92)
			c.Step(c.now+1, Submit{Token: 1, Job: later, Key: "2"})
			c.Durable(93)
			c.Step(c.now+1, k.found)
			if !c.job(later.ID).rec.Uncertain {
				t.Fatal("the duplicate cannot have had it")
			}
			heardAll(c)
			if r := c.peek(later.ID).rec; r.State != k.state || r.Uncertain {
				t.Errorf("it is %s (%s), asked: %v", r.State, r.Reason, c.recovery.waitedFor())
			}
		})
	}
}

// One that is no neighbour any more goes in the same word in which another comes, that was removed in the part of the journal that is lost: that one is asked.
func TestWhoComesAsTheLastOneGoesIsAsked(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Rerunnable = true
	c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{ready(j)})
	begin(c)
	c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
	effects := c.Step(c.now+1, MembersChanged{[]grid.Member{{Name: "c", Peer: him, Send: true}}})
	if !c.recovery.recounting() || len(sentTo(effects, him)) == 0 || len(sentTo(effects, her)) > 0 {
		t.Errorf("it waits for %v, and sends %v", c.recovery.waitedFor(), sent(effects))
	}
}

// An administrator forgets a member, and says only then that it is fenced off: nothing that it may have got is given up.
func TestFencedOffAfterItWasForgotten(t *testing.T) {
	t.Parallel()
	for _, fenced := range []bool{true, false} {
		j := jobOf(me, "a", "1")
		c := signed(ready(j))
		c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
		c.Step(c.now+1, Forget{Token: 1, Site: her})
		c.Step(c.now+1, Forget{Token: 2, Site: her, Fenced: fenced})
		heardAll(c)
		if r := c.peek(j.ID).rec; (r.State == grid.Lost) == fenced {
			t.Errorf("fenced off %t: it is %s (%s)", fenced, r.State, r.Reason)
		}
	}
}

// A broker that starts anew while it asks knows whom it has asked, and of whom it need not wait: who is no member any more, be it since it was
// stopped, may have its jobs. Who is a member again is asked.
func TestTheUnheardAfterAStart(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	all := []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}
	removed, back := MembersChanged{all[:1]}, MembersChanged{all}
	for name, k := range map[string]struct {
		words []Event
		then  []grid.Member
		state grid.State
	}{
		"nothing is said":            {nil, all, grid.Ready},
		"removed":                    {[]Event{removed}, all[:1], grid.Lost},
		"removed while it stands":    {nil, all[:1], grid.Lost},
		"removed, back while stands": {[]Event{removed}, all, grid.Ready},
		"removed, and back":          {[]Event{removed, back}, all, grid.Ready},
		"removed, back, and removed": {[]Event{removed, back, removed}, all[:1], grid.Lost},
		"heard, and removed":         {[]Event{Message{him, wire.Recounted{}}, removed}, all[:1], grid.Lost}, // what he told is not written down
		"forgotten":                  {[]Event{Forget{Token: 1, Site: him}}, all, grid.Lost},
		"forgotten and fenced off":   {[]Event{Forget{Token: 1, Site: him, Fenced: true}}, all, grid.Ready},
		"fenced off, and removed":    {[]Event{Forget{Token: 1, Site: him, Fenced: true}, removed}, all[:1], grid.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := New(signer(me, "a"), all, []grid.Record{ready(j)})
			begin(c)
			state := &grid.SiteState{}
			for _, ev := range append([]Event{Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 90}}}}}, k.words...) {
				state = lastState(c.Step(c.now+1, ev), state)
			}
			cfg := signer(me, "a")
			cfg.State = *state
			c = New(cfg, k.then, []grid.Record{c.job(j.ID).rec})
			begin(c)
			heardAll(c)
			if r := c.peek(j.ID).rec; r.State != k.state || r.Uncertain || c.recovery.rolled != nil {
				t.Errorf("it is %s (%s), waited for: %v", r.State, r.Reason, c.recovery.waitedFor())
			}
		})
	}
}

// lastState is what is saved of the site last.
func lastState(effects []Effect, state *grid.SiteState) *grid.SiteState {
	for _, e := range effects {
		if s, is := e.(Save); is {
			if of, is := s.Change.Record.(*grid.SiteState); is {
				state = of
			}
		}
	}
	return state
}

// The home of a job that is owned here was forgotten while all were asked, and the only other that was not heard is fenced off: nothing of the job runs there.
func TestAJobWhoseHomeIsForgottenGoesOn(t *testing.T) {
	t.Parallel()
	for _, fenced := range []bool{true, false} {
		c := signed(ownedHere(nil))
		j := c.sorted()[0]
		c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
		c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
		c.Step(c.now+1, Forget{Token: 1, Site: her})
		c.Step(c.now+1, Forget{Token: 2, Site: him, Fenced: fenced})
		heardAll(c)
		if (j.rec.End == 0) != fenced || c.recovery.recounting() {
			t.Errorf("fenced off %t: it is %s, and ends %s (%s)", fenced, j.rec.State, j.rec.End, j.rec.Reason)
		}
	}
}

// Such a job may run twice: it goes on, and what it was given to may run on there. As at a home, its cancel tells LOST then, and not KILLED.
func TestACancelOfAForeignJobThatTheForgottenMayHave(t *testing.T) {
	t.Parallel()
	for fenced, want := range map[bool]grid.State{true: grid.Killed, false: grid.Lost} {
		c := signed(ownedHere(func(r *grid.Record) { r.Job.Rerunnable = true }))
		j := c.sorted()[0]
		c.Step(c.now+1, Reconciled{All: true, Jobs: c.jobsHere()})
		c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
		c.Step(c.now+1, Forget{Token: 1, Site: him, Fenced: fenced})
		heardAll(c)
		if j.rec.End != 0 || c.recovery.recounting() {
			t.Fatalf("fenced off %t: it ends %s (%s)", fenced, j.rec.End, j.rec.Reason)
		}
		c.Step(c.now+1, Message{her, wire.Cancel{Job: j.rec.Job.ID, Epoch: j.rec.Epoch}})
		if j.rec.State != grid.StageOut || j.rec.End != want {
			t.Errorf("fenced off %t: it is %s, and ends %s (%s), want %s", fenced, j.rec.State, j.rec.End, j.rec.Reason, want)
		}
	}
}
