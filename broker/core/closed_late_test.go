package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A job was here and has moved on, and its home says that it has ended: nothing of it is kept. Copies of the offer and the commit
// by which it had come here are late: they make this site no owner again.
func TestALateOfferOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	for hop, prepared := range map[uint32]bool{1: false, 2: false, 3: true} {
		c := signed(grid.Record{Job: j, State: grid.Moving, Ended: 5, Tenure: grid.Tenure{Role: grid.Tombstone, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 2}}})
		if c.Step(c.now+1, Message{her, wire.Closed{Job: j.ID, Term: 1}}); c.jobs[j.ID] != nil {
			t.Fatal("its tombstone stays")
		}
		c.Step(c.now+1, Message{her, offerOf(j, hop, 0)})
		if c.Step(c.now+1, shot(c.now+1)); (c.jobs[j.ID] != nil) != prepared {
			t.Errorf("offered at hop %d: PREPARED %t", hop, !prepared)
		}
	}
	c := signed()
	c.closed[j.ID] = closing{grid.Epoch{Term: 1, Hop: 2}, c.now - lateness - 1}
	if c.Step(c.now+2*grid.Hour, Tick{}); len(c.closed) != 0 {
		t.Error("it is remembered for ever")
	}
}
