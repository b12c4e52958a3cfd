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
