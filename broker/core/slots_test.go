package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// A site offers what its book says, also where the batch system was seen before: what is reserved since is not offered, and
// what is given up since is.
func TestSlotsAreThoseOfTheBook(t *testing.T) {
	d := newDesk(t, 1)
	d.cfg.Reserves = true
	d.begin()
	d.pass(grid.Second)
	start := (d.now/grid.Second + 100) * grid.Second
	asks := wire.Slots{
		Of: theWhole, Round: 1, Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}, Walltime: grid.Minute,
		User: grid.User{Home: her, Name: "u"}, To: grid.Hour, Sent: d.now,
	}
	shot := plan.Snapshot{At: d.now, Site: grid.Site{Name: "a", Speed: 1}, Nodes: []plan.Node{{Name: "n1", Cores: 4}}}
	offered := func(shot plan.Snapshot) (covered grid.Tick) {
		t.Helper()
		d.step(Message{her, asks})
		for _, e := range d.step(Looked{Snapshot: shot}) {
			if s, is := e.(Send); is && s.Message.Kind() == wire.KindSlotsReply {
				for _, slot := range s.Message.(wire.SlotsReply).Slots {
					covered += max(0, min(slot.End, start+grid.Minute)-max(slot.Start, start))
				}
			}
		}
		return covered
	}
	if n := offered(shot); n != grid.Minute {
		t.Errorf("before it offers %v of the minute", n)
	}
	d.says(d.reserveFor("r1", start, grid.Minute, "n1"))
	d.says(wire.Confirm{ID: "r1", Sent: d.now})
	if n := offered(shot); n != 0 {
		t.Errorf("what is reserved since the look is offered: %v", n)
	}
	d.says(wire.Release{ID: "r1", Why: "not wanted"})
	shot.Reservations = []plan.Reservation{{ID: "r1", Shares: []plan.Share{{Cores: 4}}, Start: start, End: start + grid.Minute}}
	if n := offered(shot); n != grid.Minute {
		t.Errorf("what was given up since the look is not offered but for %v", n)
	}
}
