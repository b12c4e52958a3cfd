package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// The journal of an owner that is not the home was rolled back. In the part that is lost it may have given the job to a site that its
// administrator says not to wait for, and of which the home has not heard either, though it acknowledges this owner: what may run once does not start here.
func TestAnOwnerStartsNothingThatItMayHaveGivenAway(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		again, fenced, here, heard bool
		lost                       bool
	}{
		"it may have been given away":     {lost: true},
		"it may run again":                {again: true},
		"nothing of it runs at that site": {fenced: true},
		"it waits in the batch system":    {here: true},
		"all were heard":                  {heard: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := jobOf(her, "b", "1")
			j.Rerunnable = k.again
			c := rolledBackWith(grid.Record{
				Job: j, State: grid.Assigned, Run: grid.Run{Attempt: 1, Local: "7"},
				Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
			})
			id := c.attempt(c.jobs[j.ID])
			if k.here {
				c.Step(1_000_002, Progressed{Progress: grid.Progress{ID: id, Phase: grid.Waiting, Local: "7"}})
			} else {
				c.Step(1_000_002, Progressed{Progress: grid.Progress{ID: id, Phase: grid.Withdrawn}})
				c.Step(1_000_003, Withdrawn{ID: id, Done: true})
			}
			r := &c.jobs[j.ID].rec
			c.Step(1_000_004, Message{her, wire.ReportAck{Job: j.ID, Epoch: r.Epoch, Number: r.Report}})
			c.Step(1_000_005, Message{her, wire.Recounted{}})
			c.Step(1_000_005, Message{him, wire.Recounted{}})
			if k.heard {
				c.Step(1_000_006, Message{it, wire.Recounted{}})
			} else {
				c.Step(1_000_006, Forget{Site: it, Fenced: k.fenced, By: "root"})
			}
			over := settled(c, 1_000_007)
			if lost := r.End == grid.Lost; !over || lost != k.lost || r.Uncertain {
				t.Errorf("goes on %t; it is %s, %s (%s), in doubt %t", over, r.State, r.End, r.Reason, r.Uncertain)
			}
		})
	}
}
