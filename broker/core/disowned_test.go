package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// preparedFor is b, PREPARED at 1.2 for a job of this home that c has offered to it.
func preparedFor(j grid.Job) *Core {
	hers := New(signer(her, "b"), []grid.Member{{Name: "a", Peer: me, Send: true}, {Name: "c", Peer: him, Send: true}}, []grid.Record{{
		Job: j, State: grid.Moving,
		Tenure: grid.Tenure{Role: grid.Prepared, Owner: him, Handoff: grid.Handoff{To: her, Epoch: grid.Epoch{Term: 1, Hop: 2}}},
	}})
	begin(hers)
	return hers
}

// c gave the job to b and told the home so, and was set back to before that. Its Recount, or its Abort, makes b, which was
// only PREPARED, give it up, and the home makes c let go. b tells the home, which asks c, and goes on with the job.
func TestAJobThatNobodyOwnsGoesOn(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 2}
	for name, gives := range map[string]wire.Message{
		"declined for a Recount": wire.Recount{Sequence: 50},
		"aborted":                wire.Abort{Handoff: wire.HandoffID{Job: jobOf(me, "a", "1").ID, Epoch: at, To: her}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := jobOf(me, "a", "1")
			c, hers := signed(watched(j, at)), preparedFor(j)
			hers.Step(1_000_001, Message{him, gives})
			c.jobs[j.ID].asked = c.now
			for _, m := range sentTo(hers.Step(1_000_002, Message{me, wire.Recall{Job: j.ID}}), me) {
				asked := sentTo(c.Step(1_000_003, Message{her, m}), him)
				if c.jobs[j.ID].raised != 0 || len(asked) != 1 {
					t.Fatalf("c may take it back, and is asked %v", asked)
				}
				his := New(signer(him, "c"), []grid.Member{{Name: "a", Peer: me, Send: true}}, nil)
				his.Step(1_000_003, Boot{})
				his.Step(1_000_003, Reconciled{All: true})
				for _, none := range sentTo(his.Step(1_000_004, Message{me, asked[0]}), me) {
					c.Step(1_000_005, Message{him, none})
				}
			}
			r, raised := c.jobs[j.ID].rec, c.jobs[j.ID].raised
			if r.Role != grid.Owning || r.Epoch.Term <= at.Term || raised == 0 {
				t.Errorf("it is %s at %s (%s), others are waited for: %t", r.Role, r.Epoch, r.Reason, raised != 0)
			}
		})
	}
}

// watched is a job that c has given to b at an epoch, as its home knows.
func watched(j grid.Job, at grid.Epoch) grid.Record {
	return grid.Record{
		Job: j, State: grid.Assigned, AtHome: grid.AtHome{Trail: []grid.PeerID{him}},
		Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at, Handoff: grid.Handoff{To: him, Epoch: grid.Epoch{Term: 1, Hop: 1}},
			Certificates: []grid.Certificate{certificate(j, me, 1, him), certificate(j, him, 2, her)}},
	}
}

// Who gave a job away that was declined takes it back, as long as nothing else is known of it: what it commits is no answer that it has
// nothing, and what it said before it was asked is none. What its administrator, or that of the home, says is.
func TestWhoGaveADeclinedJobTakesItBack(t *testing.T) {
	t.Parallel()
	at, j := grid.Epoch{Term: 1, Hop: 2}, jobOf(me, "a", "1")
	he := func(phase grid.HandoffPhase) wire.Message {
		r := watched(j, at)
		r.Role, r.Handoff = grid.Tombstone, grid.Handoff{Phase: phase, To: her, Epoch: at}
		his := New(signer(him, "c"), []grid.Member{{Name: "a", Peer: me, Send: true}}, []grid.Record{r})
		his.Step(1_000_000, Boot{})
		his.Step(1_000_000, Reconciled{All: true})
		said := sentTo(his.Step(1_000_001, Message{me, wire.Recall{Job: j.ID, At: at}}), me)
		return said[len(said)-1]
	}
	no := func(at grid.Epoch) wire.Message { return wire.Error{Of: wire.KindRecall, Job: j.ID, At: at} }
	lostRecord := func(had grid.Epoch) Message {
		return Message{him, wire.Error{Of: wire.KindRecall, Job: j.ID, At: at, Had: had}}
	}
	for name, k := range map[string]struct {
		word Event
		then grid.State // MOVING: it waits
		role grid.Role
	}{
		"he has committed it":             {Message{him, he(grid.Committed)}, grid.Assigned, grid.Watching},
		"it was owned, he hears":          {Message{him, he(grid.NoHandoff)}, grid.Ready, grid.Owning},
		"he has nothing":                  {Message{him, no(at)}, grid.Ready, grid.Owning},
		"he was put back, and had it":     {lostRecord(grid.Epoch{Term: 1, Hop: 1}), grid.Ready, grid.Owning}, // what he gives away he has withdrawn before
		"he was put back, and took it":    {lostRecord(grid.Epoch{Term: 1, Hop: 3}), grid.Lost, grid.Owning},
		"he had nothing before":           {Message{him, no(grid.Epoch{Term: 1, Hop: 1})}, grid.Assigned, grid.Watching},
		"another has nothing":             {Message{it, no(at)}, grid.Assigned, grid.Watching},
		"he is forgotten":                 {Forget{Site: him}, grid.Lost, grid.Watching},
		"he is fenced off":                {Forget{Site: him, Fenced: true}, grid.Ready, grid.Owning},
		"another is forgotten":            {Forget{Site: it}, grid.Assigned, grid.Watching},
		"nobody says anything":            {Tick{}, grid.Assigned, grid.Watching},
		"he took it back, and reports it": {Message{him, takenBack(j)}, grid.Assigned, grid.Watching},
	} {
		c := signed(watched(j, at))
		k0 := c.jobs[j.ID]
		k0.asked = c.now
		c.Step(1_000_001, Message{her, wire.Declined{Handoff: wire.HandoffID{Job: j.ID, Epoch: at, To: her}}})
		c.Step(1_000_002, k.word)
		if r := k0.rec; r.State != k.then || r.Role != k.role {
			t.Errorf("%s: it is %s, %s (%s)", name, r.State, r.Role, r.Reason)
		}
		if k0.successors[him] && name == "he is fenced off" {
			t.Error("who is fenced off is waited for")
		}
	}
}

// takenBack is the report of c, which took back at 1.3 what b has declined.
func takenBack(j grid.Job) wire.Report {
	return wire.Report{
		Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 3}, Number: 1, State: grid.Assigned, Version: wire.JobDigest(j),
		Certificates: []grid.Certificate{certificate(j, me, 1, him), certificate(j, him, 2, her), certificate(j, him, 3, him)},
	}
}

// Who gave the job away is no neighbour any more: he may have taken it back, and cannot be asked.
func TestWhoGaveADeclinedJobIsNoNeighbour(t *testing.T) {
	t.Parallel()
	at, j := grid.Epoch{Term: 1, Hop: 2}, jobOf(me, "a", "1")
	for _, again := range []bool{false, true} {
		j.Rerunnable = again
		c := signed(watched(j, at))
		c.Step(1_000_000, MembersChanged{[]grid.Member{{Name: "b", Peer: her, Send: true}}})
		k := c.jobs[j.ID]
		k.asked = c.now
		c.Step(1_000_001, Message{her, wire.Declined{Handoff: wire.HandoffID{Job: j.ID, Epoch: at, To: her}}})
		if lost := k.rec.State == grid.Lost; lost == again || k.rec.Unfenced != again {
			t.Errorf("may run again %t: it is %s (%s), unfenced %t", again, k.rec.State, k.rec.Reason, k.rec.Unfenced)
		}
	}
}

// That word does not let a job go on that may have been owned, or has begun.
func TestADeclinedJobMayStayWhereItIs(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 2}
	j := jobOf(me, "a", "1")
	for name, but := range map[string]func(*job){
		"nobody was asked":              func(j *job) { j.asked = 0 },
		"its owner has reported it":     func(j *job) { j.rec.Report = 1 },
		"it was given away by its home": func(j *job) { j.rec.Handoff.Epoch = at },
		"another owns it":               func(j *job) { j.rec.Owner = him },
		"it is known to have begun":     func(j *job) { j.rec.Started = 1 },
		"it is a part":                  func(j *job) { j.rec.Job.Part = &grid.Part{} },
	} {
		c := signed(watched(j, at))
		c.jobs[j.ID].asked = c.now
		but(c.jobs[j.ID])
		c.Step(1_000_001, Message{her, wire.Declined{Handoff: wire.HandoffID{Job: j.ID, Epoch: at, To: her}}})
		if r := c.jobs[j.ID].rec; r.Role != grid.Watching || r.Epoch != at {
			t.Errorf("%s: it is %s at %s", name, r.Role, r.Epoch)
		}
	}
}

// Such a job of which its user wants the end comes to it when all have said that there is nothing of it with them.
func TestADeclinedJobThatIsCancelledEnds(t *testing.T) {
	t.Parallel()
	at, j := grid.Epoch{Term: 1, Hop: 2}, jobOf(me, "a", "1")
	r := watched(j, at)
	r.CancelRequested = true
	c := signed(r)
	k := c.jobs[j.ID]
	k.asked = c.now
	c.Step(1_000_001, Message{her, wire.Declined{Handoff: wire.HandoffID{Job: j.ID, Epoch: at, To: her}}})
	c.Step(1_000_002, Message{him, wire.Error{Of: wire.KindRecall, Job: j.ID, At: at}})
	if k.rec.Role != grid.Owning || len(k.due) == 0 {
		t.Fatalf("it is %s, %s, and nothing is due", k.rec.Role, k.rec.State)
	}
	for range 100 {
		now := c.now + c.cfg.Digest
		for _, p := range []grid.PeerID{her, him, it} {
			c.Step(now, Message{p, wire.Error{Of: wire.KindRecall, Job: j.ID, At: k.rec.Epoch}})
		}
		c.Step(now, Tick{})
	}
	if k.rec.State != grid.Killed {
		t.Errorf("it is %s (%s)", k.rec.State, k.rec.Reason)
	}
}
