package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// The inputs of a job are gone where it is owned, and nobody can fetch them: it is not offered for ever.
// What is refused before it was accepted, or where they are here, is searched another place for.
func TestInputsThatAreGone(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		accepted bool
		missing  error
		local    grid.LocalID
		failed   bool
	}{
		"refused at once":           {},
		"all are here":              {accepted: true},
		"one is gone":               {accepted: true, missing: errors.New("data"), failed: true},
		"one is gone, and it waits": {accepted: true, missing: errors.New("data"), local: "7"},
	} {
		j := jobOf(me, "a", "1")
		j.Inputs = grid.Manifest{{Path: "data", Size: 3, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
		c := signed(grid.Record{
			Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Local: k.local},
		})
		c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
		one := c.jobs[j.ID]
		c.ownership.makeOffer(one, her, 0, 0)
		b := c.ownership.handoffID(one)
		if k.accepted {
			c.Step(1_000_002, Message{her, wire.Accept{Handoff: b}})
		}
		e, asks := only[Check](c.Step(1_000_003, Message{her, wire.Refuse{Handoff: b}}))
		if asks != k.accepted || asks && (e.Job != j.ID || len(e.Files) != 1) {
			t.Errorf("%s: looks for them: %t, %+v", name, asks, e)
		}
		if k.local != "" {
			c.ownership.makeOffer(one, him, 0, 0) // it waits in the local queue, and is offered again
		}
		c.Step(1_000_004, Checked{Job: j.ID, Epoch: one.rec.Epoch, Missing: k.missing})
		if failed := one.rec.State == grid.Failed; failed != k.failed {
			t.Errorf("%s: %s (%s)", name, one.rec.State, one.rec.Reason)
		}
	}
}
