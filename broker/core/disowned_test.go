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
// only PREPARED, give it up, and the home makes c let go. b tells the home, which goes on with the job.
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
				c.Step(1_000_003, Message{her, m})
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
		Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at, Handoff: grid.Handoff{To: him, Epoch: grid.Epoch{Term: 1, Hop: 1}}},
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
