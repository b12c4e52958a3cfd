package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A site whose job was superseded has let go of it, and knows no owner but itself: a cancel that comes late ends there. (It
// was passed on to that owner, which is the site itself, in the same step, for ever.)
func TestACancelEndsWhereTheJobWasSuperseded(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	c := signed(grid.Record{
		Job: j, State: grid.Ready,
		Tenure: grid.Tenure{Role: grid.Tombstone, Owner: me, Epoch: at, Superseded: at, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
	})
	for _, e := range c.Step(1_000_001, Message{her, wire.Cancel{Job: j.ID, Epoch: at}}) {
		if s, is := e.(Send); is && s.To == me {
			t.Errorf("it is sent on to %s: %+v", s.To, s.Message)
		}
	}
	if !c.jobs[j.ID].rec.CancelRequested {
		t.Error("the cancel is not noted")
	}
}
