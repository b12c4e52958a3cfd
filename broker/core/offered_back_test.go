package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A job that was here, and went back to its home, is offered here again, and not given. The home is put back to before it went
// back, and asks for it: it hears still to whom it went.
func TestWhoHadAJobTellsWhereItWentAfterAnOffer(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	here, back := certificate(j, her, 1, me), certificate(j, me, 2, her)
	for name, ends := range map[string]func(c *Core, b wire.HandoffID) Event{
		"it is withdrawn": func(_ *Core, b wire.HandoffID) Event { return Message{her, wire.Abort{Handoff: b}} },
		"it is declined":  func(*Core, wire.HandoffID) Event { return Message{her, wire.Recount{}} },
	} {
		was := grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Tombstone, Owner: her, Epoch: back.Epoch, Certificates: []grid.Certificate{here, back}}}
		c := signed(was)
		now := c.now + 1
		c.Step(now, Reconciled{All: true})
		o := offerOf(j, 3, 0)
		c.Step(now+1, Message{her, o})
		c.Step(now+1, shot(now+1))
		if r := c.job(j.ID).rec; r.Role != grid.Prepared {
			t.Fatalf("%s: it is %v", name, r.Role)
		}
		c.Step(now+2, ends(c, o.Handoff))
		told := sentTo(c.Step(now+3, Message{her, wire.Recall{Job: j.ID}}), her)
		moved := false
		for _, m := range told {
			if m, is := m.(wire.Moved); is && len(m.Certificates) == 2 && m.Certificates[1].To == her {
				moved = true
			}
		}
		if !moved {
			t.Errorf("%s: as %v it tells %+v", name, c.job(j.ID).rec.Role, told)
		}
	}
}
