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

// A broker that starts anew while it asks knows of whom it need not wait, and that one may have its jobs. Who was removed, and is
// a member again, is asked.
func TestTheUnheardAfterAStart(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	all := []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}
	for name, k := range map[string]struct {
		word    Event
		members []grid.Member
		state   grid.State
	}{
		"removed":                    {MembersChanged{all[:1]}, all[:1], grid.Lost},
		"removed, and back":          {MembersChanged{all[:1]}, all, grid.Ready},
		"forgotten":                  {Forget{Token: 1, Site: him}, all, grid.Lost},
		"forgotten and fenced off":   {Forget{Token: 1, Site: him, Fenced: true}, all, grid.Ready},
		"removed, back, and removed": {MembersChanged{all[:1]}, all[:1], grid.Lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := New(signer(me, "a"), all, []grid.Record{ready(j)})
			begin(c)
			c.recovery.rolledBack("a test", grid.JournalID{Incarnation: 1, Sequence: 90})
			state := lastState(t, c.Step(c.now+1, k.word))
			if name == "removed, back, and removed" {
				state = lastState(t, c.Step(c.now+1, MembersChanged{all}))
				if len(state.Unheard) > 0 {
					t.Fatalf("back, and unheard: %v", state.Unheard)
				}
				state = lastState(t, c.Step(c.now+1, MembersChanged{all[:1]}))
			}
			cfg := signer(me, "a")
			cfg.State = state
			c = New(cfg, k.members, []grid.Record{c.job(j.ID).rec})
			begin(c)
			heardAll(c)
			r := c.peek(j.ID).rec
			if r.State != k.state || r.Uncertain {
				t.Errorf("it is %s (%s), waited for: %v", r.State, r.Reason, c.recovery.waitedFor())
			}
		})
	}
}

// lastState is what was saved of the site last.
func lastState(t *testing.T, effects []Effect) grid.SiteState {
	t.Helper()
	var state *grid.SiteState
	for _, e := range effects {
		if s, is := e.(Save); is {
			if is, ok := s.Change.Record.(*grid.SiteState); ok {
				state = is
			}
		}
	}
	if state == nil {
		t.Fatalf("nothing is saved of the site: %+v", effects)
	}
	return *state
}
