package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A deadline is judged by the clock of each owner alone, and a clock may be wrong: that a job is to end by it is no wish of its
// user. Nobody else is told so: else its home, by whose clock there is time, would tell it KILLED, and nobody had asked for that.
func TestADeadlineIsNoWishOfItsUser(t *testing.T) {
	t.Parallel()
	for _, wished := range []bool{false, true} {
		j, at := jobOf(her, "b", "1"), grid.Epoch{Term: 1, Hop: 3}
		j.Terms.Deadline = 1_000_000 + grid.Hour
		c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at}, Run: grid.Run{Attempt: 1, Local: "17"}})
		effects := c.Step(1_000_000+grid.Hour, Tick{})
		if !c.jobs[j.ID].rec.CancelRequested {
			t.Fatal("its deadline passes, and it goes on")
		}
		if wished {
			effects = c.Step(c.now+1, Message{her, wire.Cancel{Job: j.ID, Epoch: at}})
		}
		effects = append(effects, c.Step(c.now+1, Message{her, wire.Recall{Job: j.ID}})...)
		effects = append(effects, c.Step(c.now+1, Message{him, wire.Inquire{Handoff: wire.HandoffID{Job: j.ID, Epoch: at, To: him}}})...)
		told := 0
		for _, m := range sent(effects) {
			is := false
			switch m := m.(type) {
			case wire.Report:
				is = m.Cancel
			case wire.Recalled:
				is = m.Cancel
			case wire.InquireReply:
				is = m.Cancel
			default:
				continue
			}
			if told++; is != wished {
				t.Errorf("wished %t: %T tells that it is to be cancelled: %t", wished, m, is)
			}
		}
		if told < 3 {
			t.Errorf("told %d times", told)
		}
	}
}

// A home whose clock says that the time is up asks nobody else for the end of a job, and does not carry that where the job goes.
func TestADeadlineStaysWithItsOwner(t *testing.T) {
	t.Parallel()
	j, at := jobOf(me, "a", "1"), grid.Epoch{Term: 1, Hop: 3}
	c := signed(grid.Record{Job: j, State: grid.Assigned, CancelRequested: true, Overdue: true, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at}})
	for _, m := range sentTo(c.Step(c.now+1, Message{her, wire.Report{Job: j.ID, Epoch: at, Number: 1, State: grid.Assigned, Attempt: 1}}), her) {
		if ack, is := m.(wire.ReportAck); is && ack.Cancel {
			t.Error("its acknowledgement asks for the end")
		}
	}
	for _, m := range sentTo(c.Step(c.now+grid.Hour, Tick{}), her) {
		if _, is := m.(wire.Cancel); is {
			t.Error("it asks for the end")
		}
	}
	o := offerOf(jobOf(her, "b", "2"), 4, 0)
	d := signed(grid.Record{
		Job: o.Job, State: grid.Assigned, CancelRequested: true, Overdue: true,
		Tenure: grid.Tenure{Role: grid.Tombstone, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 2}},
	})
	d.Step(d.now+1, Message{her, o})
	d.Step(d.now+1, shot(d.now+1))
	d.Step(d.now+1, Message{her, wire.Commit{Handoff: o.Handoff, Certificate: certificate(o.Job, her, 4, me)}})
	if r := d.jobs[o.Job.ID].rec; r.Role != grid.Owning || r.CancelRequested {
		t.Errorf("it comes back %s, to be cancelled %t: nobody asked for that", r.Role, r.CancelRequested)
	}
}

// What is beside the journal are wishes of users.
func TestADeadlineIsNotToldBesideTheJournal(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	for _, overdue := range []bool{false, true} {
		told := grid.Record{Job: grid.Job{ID: j.ID}, State: grid.Ready, CancelRequested: true, Overdue: overdue}
		c := New(signer(me, "a"), nil, []grid.Record{{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}})
		c.SetTold([]grid.Record{told}, nil)
		begin(c)
		if r := c.jobs[j.ID].rec; r.CancelRequested == overdue {
			t.Errorf("overdue %t: to be cancelled %t", overdue, r.CancelRequested)
		}
	}
}
