package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// Each tenure numbers its reports anew. A job of another home was here for long, or its journal was rolled back, was given away, and comes
// back as the candidate declines it, or as the control directory tells of an attempt at a later epoch: the word of its home on the first
// report of the new tenure counts, whatever numbers the last one had.
func TestTheWordOfTheHomeCountsInANewTenure(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	was := grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{
		Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 7, Certificates: []grid.Certificate{certificate(j, her, 1, me)},
	}}
	for name, comesBack := range map[string]func(c *Core, k *job){
		"the candidate declines it": func(c *Core, k *job) {
			c.ownership.makeOffer(k, him, 0, 1)
			id := c.ownership.handoffID(k)
			c.Step(1_000_002, Message{him, wire.Ready{Handoff: id}})
			c.Step(1_000_003, Message{him, wire.Declined{Handoff: id}})
		},
		"its directory knows a later epoch": func(c *Core, k *job) {
			k.reconciled = false
			later := grid.AttemptID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 9}, Attempt: 1}
			c.Step(1_000_002, Reconciled{Jobs: []grid.JobID{j.ID}, Attempts: []grid.AttemptID{later}, All: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := signed(was)
			k := c.jobs[j.ID]
			c.Step(1_000_001, Message{her, wire.ReportAck{Job: j.ID, Epoch: was.Epoch, Number: k.rec.Report}})
			comesBack(c, k)
			if k.rec.Role != grid.Owning || !was.Epoch.Before(k.rec.Epoch) {
				t.Fatalf("it is %v at %v", k.rec.Role, k.rec.Epoch)
			}
			k.homeHeard = 0
			c.Step(1_000_004, Message{her, wire.ReportAck{Job: j.ID, Epoch: k.rec.Epoch, Number: k.rec.Report}})
			if !c.gates.hearsHome(k) {
				t.Errorf("report %d was acknowledged, and it waits for one from %d on", k.rec.Report, k.since)
			}
		})
	}
}

// What was true of the one that had a job is not of who has it now: that he was not heard, and, where it is found to be here, when it was to
// start with him, and why it did not.
func TestNothingOfTheLastOwnerIsLeft(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	at := func(hop uint32) grid.Epoch { return grid.Epoch{Term: 1, Hop: hop} }
	given := []grid.Certificate{certificate(j, me, 1, her)}
	back := wire.HandoffID{Job: j.ID, Epoch: at(2), To: me, Digest: wire.JobDigest(j)}
	onward := append(given, certificate(j, her, 2, him))
	for name, k := range map[string]struct {
		role  grid.Role
		to    grid.Handoff
		event Event
	}{
		"he declined it":     {grid.Watching, grid.Handoff{Phase: grid.Committed, To: her, Epoch: at(1)}, Message{her, wire.Declined{Handoff: wire.HandoffID{Job: j.ID, Epoch: at(1), To: her, Digest: back.Digest}}}},
		"he gives it back":   {grid.Prepared, grid.Handoff{To: me, Epoch: at(2)}, Message{her, wire.Commit{Handoff: back, Certificate: certificate(j, her, 2, me)}}},
		"he has given it on": {grid.Watching, grid.Handoff{}, Message{her, wire.Moved{Job: j.ID, Certificates: onward, Version: back.Digest}}},
		"it has been here since": {grid.Watching, grid.Handoff{}, Reconciled{
			Jobs: []grid.JobID{j.ID}, Attempts: []grid.AttemptID{{Job: j.ID, Epoch: at(5), Attempt: 1}}, All: true,
		}},
	} {
		c := signed()
		was := grid.Record{
			Job: j, State: grid.Assigned, Reason: "b has no idle core", EstimateNow: 5_000_000,
			Tenure: grid.Tenure{Role: k.role, Owner: her, Epoch: at(1), Handoff: k.to, Certificates: given, ContactLost: 900_000},
		}
		turnedFrom(c, &was)
		c.Step(c.now+1, k.event)
		r := c.jobs[j.ID].rec
		if !was.Epoch.Before(r.Epoch) || r.ContactLost != 0 {
			t.Errorf("%s: %v at %v, not heard since %d", name, r.Role, r.Epoch, r.ContactLost)
		}
		if _, found := k.event.(Reconciled); found && (r.Role != grid.Owning || r.EstimateNow != 0 || r.Reason != "") {
			t.Errorf("%s: %v, to start at %d: %s", name, r.Role, r.EstimateNow, r.Reason)
		}
	}
}

// A job that comes back has failed here no more often than since, and no site is passed over for what it said before.
func TestNothingThatFailedIsCountedInANewTenure(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	k := c.jobs[j.ID]
	k.fails, k.blocked = maxFails, map[grid.PeerID]grid.Tick{him: c.now + grid.Hour}
	c.ownership.makeOffer(k, her, 0, 1)
	id := c.ownership.handoffID(k)
	c.Step(1_000_002, Message{her, wire.Ready{Handoff: id}})
	c.Step(1_000_003, Message{her, wire.Declined{Handoff: id}})
	if k.blocked[him] != 0 || k.blocked[her] == 0 {
		t.Errorf("not asked are %v", k.blocked)
	}
	c.execution.launch(k, "chosen")
	if k.rec.State != grid.Assigned {
		t.Errorf("it is %s: %s", k.rec.State, k.rec.Reason)
	}
}

// Who offered a job was forgotten, and it was declined. He is a neighbour again, and offers it anew: that he was forgotten before, and that this
// site did not listen before, says nothing of this offer.
func TestAnOfferIsNotDeclinedForTheLastOne(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed()
	offer := func(hop uint32) {
		o := offerOf(j, hop, grid.Hour)
		c.Step(c.now+1, Message{her, o})
		c.Step(c.now+1, shot(c.now+1))
	}
	offer(1)
	c.Step(c.now+1, Stall{Span: grid.Minute})
	for _, p := range []grid.PeerID{her, him, it} {
		c.Step(c.now+1, Message{p, wire.Seen{}})
	}
	k := c.jobs[j.ID]
	c.Step(c.now+1, Forget{Token: 1, Site: her, By: "root"})
	if k.rec.Role != grid.Declined {
		t.Fatalf("he was forgotten, and it is %v", k.rec.Role)
	}
	offer(2)
	c.ownership.declineRemoved(k)
	if k.rec.Role != grid.Prepared || k.stalled {
		t.Errorf("it is %v; after a stall %t", k.rec.Role, k.stalled)
	}
}
