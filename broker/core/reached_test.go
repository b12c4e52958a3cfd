package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// GO was said to a site that was just killed, or by a home that had no connection yet: it is said again as soon as the two are
// connected, to that site alone, and not when its turn comes, by which the parts would begin seconds apart.
func TestGoIsSaidToWhoIsConnected(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Going)
	c.pass(grid.Second / 5)
	c.want("")
	c.m.reached(PeerJournal{Peer: "b"})
	c.want("Gather>b, Confirm>b")
	c.m.reached(PeerJournal{Peer: "d"}) // has no part
	c.want("")
}

// The home of jobs comes back before others took it for dead: what it was told meanwhile, that a part has arrived or begun, it hears at once.
func TestAHomeThatIsConnectedHearsReports(t *testing.T) {
	t.Parallel()
	for name, acked := range map[string]bool{"it has not heard it": false, "it has heard it": true} {
		j := jobOf(her, "b", "1")
		j.Part = &grid.Part{Of: "b.0000000000000000000000000W"}
		at := grid.Epoch{Term: 1, Hop: 1}
		c := signed(grid.Record{
			Job: j, State: grid.Running, Run: grid.Run{Attempt: 1, Started: 7},
			Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at, Report: 3, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
		})
		if acked {
			c.Step(1_000_001, Message{her, wire.ReportAck{Job: j.ID, Epoch: at, Number: c.jobs[j.ID].rec.Report}})
		}
		told := 0
		for _, m := range sentTo(c.Step(1_000_002, PeerJournal{Peer: her, Boot: 9}), her) {
			if _, is := m.(wire.Report); is {
				told++
			}
		}
		if (told == 0) != acked {
			t.Errorf("%s: told %d times", name, told)
		}
	}
}
