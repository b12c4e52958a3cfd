package core

import (
	"maps"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A site is put back to before it changed a reservation, of which its holder was told: the batch system knows its place, and so does the book
// then. Else the site would tell the place of before, or that it is lost, and end it. What was not put back and is elsewhere, as somebody has
// moved it by hand, is lost.
func TestAChangedReservationOfASiteThatIsPutBack(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]grid.Place{
		"later":   {Nodes: []grid.NodeName{"n1"}, Start: 3_000_000, End: 3_060_000},
		"sooner":  {Nodes: []grid.NodeName{"n1"}, Start: 1_900_000, End: 1_960_000},
		"longer":  {Nodes: []grid.NodeName{"n1"}, Start: 2_000_000, End: 2_120_000},
		"shorter": {Nodes: []grid.NodeName{"n1"}, Start: 2_000_000, End: 2_030_000},
		"nodes":   {Nodes: []grid.NodeName{"n2"}, Start: 2_000_000, End: 2_060_000},
	} {
		for _, when := range []string{"seen first", "listed first", "found before", "by hand"} {
			d := newDesk(t, 1)
			d.says(d.reserveFor("r1", 2_000_000, 60_000, "n1"))
			d.says(wire.Confirm{ID: "r1"})
			old := maps.Clone(d.disk)
			d.says(wire.Change{ID: "r1", Number: 1, Nodes: to.Nodes, Start: to.Start, End: to.End, Move: true})
			if r := d.disk["r1"]; r.Start != to.Start || r.End != to.End || r.Holding != grid.Placed {
				t.Fatalf("%s: it is not changed: %+v", name, r)
			}
			d.disk = old
			if when == "found before" {
				d.cfg.State.RolledBack = 1
			}
			d.begin()
			seen := func(m wire.Seen) {
				d.step(PeerChanged{him, grid.Alive})
				d.step(Message{her, m})
				d.step(Message{him, wire.Seen{}})
			}
			later := wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}
			switch when {
			case "seen first", "found before":
				seen(later)
				d.work()
			case "listed first":
				d.work()
				seen(later)
				d.work()
			case "by hand":
				d.work()
				seen(wire.Seen{})
				d.work()
			}
			d.pass(2 * listEvery)
			r := d.disk["r1"]
			if byHand := when == "by hand"; byHand && name != "longer" {
				if r.State != grid.ReservationLost {
					t.Errorf("%s, %s: it is %+v", name, when, r)
				}
			} else if !byHand && (r.State != grid.Confirmed || r.Start != to.Start || r.End != to.End || r.Nodes[0] != to.Nodes[0] || r.Cores != old["r1"].Cores) {
				t.Errorf("%s, %s: it is %+v", name, when, r)
			}
		}
	}
}
