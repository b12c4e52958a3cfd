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
