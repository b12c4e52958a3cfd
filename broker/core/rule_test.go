package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// onItsWay is a job of b that waits here, and is offered to c at 1.2.
func onItsWay(phase grid.HandoffPhase) (grid.Record, wire.HandoffID) {
	j := jobOf(her, "b", "1")
	next := grid.Epoch{Term: 1, Hop: 2}
	r := grid.Record{
		Job:    j,
		State:  grid.Moving,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 2, Handoff: grid.Handoff{Phase: phase, To: him, Epoch: next}, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
		Run:    grid.Run{Attempt: 1, Local: "l"},
	}
	return r, wire.HandoffID{Job: j.ID, Epoch: next, To: him, Digest: wire.JobDigest(j)}
}

// offering is a Core with that offer open, and its home heard.
func offering(phase grid.HandoffPhase) (*Core, *job, wire.HandoffID) {
	r, handoff := onItsWay(phase)
	c := signed()
	k := &job{rec: r, ofTenure: ofTenure{heard: c.now}, ofOwnership: ofOwnership{began: c.now}, ofHome: ofHome{homeHeard: c.now}}
	c.jobs[r.Job.ID], c.live[r.Job.ID] = k, k
	return c, k, handoff
}

func committed(effects []Effect) bool {
	for _, m := range sent(effects) {
		if _, ok := m.(wire.Commit); ok {
			return true
		}
	}
	return false
}

// A candidate that has another job ready than the one offered does not get it.
func TestReadyIsForTheJobOffered(t *testing.T) {
	t.Parallel()
	c, k, handoff := offering(grid.Offering)
	handoff.Digest[0]++
	if c.Step(c.now+1, Message{him, wire.Ready{Handoff: handoff}}); k.rec.Handoff.Phase != grid.NoHandoff {
		t.Errorf("the offer goes on: phase %d", k.rec.Handoff.Phase)
	}
}

// An owner whose home was not heard hands nothing over: neither is the attempt withdrawn
// for it, nor is a withdrawal that was under way followed by the commit.
func TestAnUnheardHomeStopsAHandoff(t *testing.T) {
	t.Parallel()
	for _, heard := range []bool{true, false} {
		c, k, handoff := offering(grid.Offering)
		if !heard {
			k.homeHeard = 0
		}
		_, withdraws := only[Withdraw](c.Step(c.now+1, Message{him, wire.Ready{Handoff: handoff}}))
		if withdraws != heard {
			t.Errorf("home heard %t: withdrawn for the move %t", heard, withdraws)
		}
		c, k, _ = offering(grid.Withdrawing)
		if !heard {
			k.homeHeard = 0
		}
		effects := c.Step(c.now+1, Withdrawn{ID: c.attempt(k), Done: true})
		if committed(effects) != heard || (k.rec.Role == grid.Owning) == heard {
			t.Errorf("home heard %t: %s after the withdrawal, committed %t", heard, k.rec.Role, committed(effects))
		}
	}
}

// The digest of an offer is that of the job in it.
func TestAnOfferIsOfItsOwnJob(t *testing.T) {
	t.Parallel()
	o := offerOf(jobOf(her, "b", "1"), 1, 0)
	o.Handoff.Digest[0]++
	c := bare()
	c.Step(c.now+1, Message{her, o})
	if c.Step(c.now+1, shot(c.now+1)); c.jobs[o.Job.ID] != nil {
		t.Error("prepared")
	}
}

// Closed lets go of the tombstones of its term and of older ones.
func TestClosedIsOfItsTerm(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	for term, gone := range map[uint32]bool{1: false, 2: true, 3: true} {
		c := bare(grid.Record{Job: j, State: grid.Moving, Ended: 5, Tenure: grid.Tenure{Role: grid.Tombstone, Owner: him, Epoch: grid.Epoch{Term: 2, Hop: 1}}})
		if c.Step(c.now+1, Message{her, wire.Closed{Job: j.ID, Term: term}}); (c.jobs[j.ID] == nil) != gone {
			t.Errorf("closed at term %d: gone %t", term, c.jobs[j.ID] == nil)
		}
	}
}

// A home that knows nothing of a stall of the candidate may have given the job to another
// before the Commit came.
func TestACommitAfterAStallWaitsForTheHome(t *testing.T) {
	t.Parallel()
	for _, stall := range []bool{false, true} {
		j := jobOf(her, "b", "1")
		o := offerOf(j, 1, 0)
		c := signed()
		c.Step(c.now+1, Message{her, o})
		c.Step(c.now+1, shot(c.now+1))
		if stall {
			c.Step(c.now+1, Stall{grid.Hour})
			tellNothingSeen(c)
		}
		_, launched := only[Launch](c.Step(c.now+1, Message{her, wire.Commit{Handoff: o.Handoff, Certificate: certificate(j, her, 1, me)}}))
		if launched == stall {
			t.Errorf("stall %t: launched %t", stall, launched)
		}
		if !stall {
			continue
		}
		ack := wire.ReportAck{Job: j.ID, Epoch: o.Handoff.Epoch} // of no report: said when the job was held, or altered
		if _, launched := only[Launch](c.Step(c.now+1, Message{her, ack})); launched {
			t.Error("launched at a word that the home may have said before the stall")
		}
		ack.Number = c.jobs[j.ID].rec.Report
		if _, launched := only[Launch](c.Step(c.now+1, Message{her, ack})); !launched {
			t.Error("the home acknowledges its report, and it does not go on")
		}
	}
}

// What the batch system holds may be of a record that a rollback lost, and that its home has.
func TestStraysOutliveARollback(t *testing.T) {
	t.Parallel()
	c := lived(7, grid.JournalID{Incarnation: 5, Sequence: 1})
	c.Step(c.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 5, Sequence: 50}}}})
	at := grid.AttemptID{Job: jobOf(me, "a", "1").ID, Epoch: grid.Epoch{Term: 1}, Attempt: 1}
	for range 2 * strayLooks {
		if _, ok := only[Withdraw](c.Step(c.now+1, Attempts{[]grid.AttemptID{at}})); ok {
			t.Fatal("withdrawn, and not all neighbours were asked")
		}
	}
}

// What the home acknowledges is of the epoch that this site owns at, and the home's word;
// and it does not close what has not ended here.
func TestAnAcknowledgementIsOfItsEpoch(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 3}
	for _, k := range []struct {
		name   string
		from   grid.PeerID
		epoch  grid.Epoch
		end    grid.State
		closes bool
	}{
		{"of an older epoch", her, grid.Epoch{Term: 1, Hop: 1}, grid.Completed, false},
		{"of another than the home", him, at, grid.Completed, false},
		{"of a job that runs", her, at, 0, false},
		{"of the end", her, at, grid.Completed, true},
	} {
		state := grid.Running
		if k.end != 0 {
			state = grid.StageOut
		}
		c := bare(grid.Record{Job: j, State: state, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at, Report: 4}, Run: grid.Run{End: k.end, Attempt: 1, Started: 5}})
		c.Step(c.now+1, Message{k.from, wire.ReportAck{Job: j.ID, Epoch: k.epoch, Number: 4, Closed: true}})
		if closed := c.jobs[j.ID].rec.Role == grid.Tombstone; closed != k.closes {
			t.Errorf("%s: closed %t", k.name, closed)
		}
	}
}

// The jobs whose files are being fetched are bounded.
func TestAcceptedOffersAreBounded(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxAccepted - 1, maxAccepted} {
		c := bare()
		for i := range n {
			id := grid.JobID(string(rune('a'+i/26)) + string(rune('a'+i%26)))
			c.accepted[id] = &acceptance{from: him}
		}
		o := offerOf(jobOf(her, "b", "1"), 1, grid.Day)
		c.Step(c.now+1, Message{her, o})
		refused := false
		for _, m := range sentTo(c.Step(c.now+1, shot(c.now+1)), her) {
			r, is := m.(wire.Refuse)
			refused = refused || is && r.Estimate.Refusal != nil && r.Estimate.Refusal.Reason == tooMany
		}
		if refused != (n == maxAccepted) {
			t.Errorf("with %d accepted: refused %t", n, refused)
		}
	}
}

// A third member neither ends nor decides the handoff of two others.
func TestAStrangerDecidesNoHandoff(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	o := offerOf(j, 1, 0)
	for _, m := range []wire.Message{
		wire.Abort{Handoff: o.Handoff}, wire.InquireReply{Handoff: o.Handoff, Verdict: wire.VerdictAborted},
		wire.InquireReply{Handoff: o.Handoff, Verdict: wire.VerdictCommitted, Certificate: certificate(j, her, 1, me)},
	} {
		c := signed()
		c.Step(c.now+1, Message{her, o})
		c.Step(c.now+1, shot(c.now+1))
		if c.Step(c.now+1, Message{him, m}); c.jobs[j.ID] == nil || c.jobs[j.ID].rec.Role != grid.Prepared {
			t.Errorf("%T of a stranger counts", m)
		}
	}
	at := grid.Epoch{Term: 1, Hop: 1}
	c := signed(grid.Record{Job: jobOf(me, "a", "1"), State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at}})
	id := jobOf(me, "a", "1").ID
	c.Step(c.now+1, Message{him, wire.Unknown{Handoff: wire.HandoffID{Job: id, Epoch: at, To: him}}})
	if r := c.jobs[id].rec; r.Reason != "" || r.ContactLost != 0 {
		t.Errorf("lost by the word of a stranger: %s", r.Reason)
	}
}
