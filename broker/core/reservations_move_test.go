package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// moves has a reservation changed, with a look at four nodes of four cores, and gives what its holder is told at last.
func (d *desk) moves(m wire.Change, running ...plan.Running) wire.Reserved {
	d.t.Helper()
	return d.movesOver([]int{4, 4, 4, 4}, m, running...)
}

// movesOver is moves at a site whose nodes n1, n2... have so many cores.
func (d *desk) movesOver(cores []int, m wire.Change, running ...plan.Running) wire.Reserved {
	d.t.Helper()
	d.sent = nil
	d.step(Message{her, m})
	look := shot(d.now)
	look.Snapshot.Nodes = nil
	for i, n := range cores {
		look.Snapshot.Nodes = append(look.Snapshot.Nodes, plan.Node{Name: grid.NodeName(fmt.Sprintf("n%d", i+1)), Cores: n})
	}
	look.Snapshot.Running = running
	d.step(look)
	d.work()
	for _, m := range slices.Backward(d.sent) {
		if r, is := m.(wire.Reserved); is && r.Of == wire.KindChange {
			return r
		}
	}
	d.t.Fatalf("%+v is not answered: %+v", m, d.sent)
	return wire.Reserved{}
}

// A reservation is moved, made shorter and longer, and grows where nodes are free: all that was asked, in the batch system too, or
// nothing, with why. Its job stays bound, and it is told when the batch system has it.
func TestReservationsAreChanged(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1", "n2"))
	d.says(wire.Confirm{ID: "r1"})
	d.says(d.reserveFor("r2", 2_000_000, 600_000, "n4"))
	d.says(wire.Confirm{ID: "r2"})
	number := uint64(0)
	change := func(start, end grid.Tick, count int) wire.Change {
		number = d.disk["r1"].Number + 1
		return wire.Change{ID: "r1", Number: number, Start: start, End: end, Move: true, Count: count}
	}
	is := func(start, end grid.Tick, nodes ...grid.NodeName) {
		t.Helper()
		if r, held := d.disk["r1"], d.holds["r1"]; !slices.Equal(r.Nodes, nodes) || r.Start != start || r.End != end || !slices.Equal(held.Nodes, nodes) || held.Start != start || held.End != end || r.Cores != 4*len(nodes) {
			t.Fatalf("it is %v with %d cores, and held %v", r.Place(), r.Cores, held)
		}
	}
	d.moves(change(2_000_000, 2_600_000, 2)) // the cores of nodes are known from now on
	for _, k := range []struct {
		start, end grid.Tick
		count      int
		nodes      []grid.NodeName
		why        string
	}{
		{2_000_000, 2_600_000, 3, []grid.NodeName{"n1", "n2", "n3"}, ""},
		{2_000_000, 2_300_000, 0, []grid.NodeName{"n1", "n2", "n3"}, ""},
		{2_000_000, 2_300_000, 4, nil, "so many nodes are not free"},
		{2_600_000, 2_900_000, 4, []grid.NodeName{"n1", "n2", "n3", "n4"}, ""},
		{2_500_000, 2_900_000, 0, nil, "its nodes are reserved"},
		{2_500_000, 2_900_000, 1, []grid.NodeName{"n1"}, ""},
	} {
		before := d.disk["r1"]
		got := d.moves(change(k.start, k.end, k.count))
		switch {
		case k.why == "" && got.Refusal != nil || k.why != "" && (got.Refusal == nil || !strings.Contains(got.Refusal.Reason, k.why)):
			t.Fatalf("%+v: %+v", k, got.Refusal)
		case k.why != "":
			is(before.Start, before.End, before.Nodes...)
		default:
			is(k.start, k.end, k.nodes...)
		}
	}
	busy := plan.Running{Job: "x", Start: d.now, End: 3_000_000, Shares: []plan.Share{{Node: 1, Cores: 1}, {Node: 2, Cores: 1}}}
	if got := d.moves(change(2_500_000, 2_900_000, 2), busy); got.Refusal == nil {
		t.Errorf("it grows over running jobs: %v", got.Reservation.Nodes)
	}
	j := jobOf(her, "b", "1")
	j.User.Name, j.Reservation, j.Walltime = "alice", "r1", 5*grid.Minute
	d.life(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}})
	if _, no := d.core.reservations.bind(d.core.jobs[j.ID]); no != nil {
		t.Fatal(no)
	}
	if got := d.moves(change(2_500_000, 2_620_000, 0)); got.Refusal == nil || !strings.Contains(got.Refusal.Reason, "too short") {
		t.Errorf("it becomes too short for its job: %+v", got)
	}
	if got := d.moves(change(2_550_000, 2_950_000, 0)); got.Refusal != nil || got.Reservation.For != j.ID || got.Reservation.State != grid.Bound {
		t.Errorf("its job is not bound any more: %+v, %+v", got.Reservation, got.Refusal)
	}
}

// Where a reservation is to begin so long ago that it would be over at once, as a home asks whose clock was set back, it stays as it is.
func TestAReservationIsNotMovedToItsEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1", "n2"))
	d.says(wire.Confirm{ID: "r1"})
	before := d.disk["r1"]
	got := d.moves(wire.Change{ID: "r1", Number: 1, Start: 900_000, End: before.End, Move: true})
	if got.Refusal == nil || !strings.Contains(got.Refusal.Reason, "nobody") {
		t.Errorf("its holder is told %+v, %+v", got.Reservation, got.Refusal)
	}
	if r := d.disk["r1"]; r.State != grid.Confirmed || r.Start != before.Start || r.Number != 0 || d.holds["r1"].Start != before.Start {
		t.Errorf("it is %+v, and held %+v", r, d.holds["r1"])
	}
}

// What the batch system refuses is as it was, also its cores; of others nobody learns anything.
func TestAChangeThatTheBatchSystemRefuses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1", "n2"))
	d.says(wire.Confirm{ID: "r1"})
	d.moves(wire.Change{ID: "r1", Number: 1, Start: 2_000_000, End: 2_601_000, Move: true, Count: 3})
	before := d.disk["r1"]
	d.step(Message{her, wire.Change{ID: "r1", Number: 2, Start: 2_000_000, End: 2_700_000, Move: true, Nodes: []grid.NodeName{"n1"}}})
	d.queue, d.sent = nil, nil
	wished := d.disk["r1"]
	d.step(Reserved{ID: "r1", Place: wished.Place(), Err: errors.New("no"), Kind: grid.Permanent})
	r := d.disk["r1"]
	if r.Start != before.Start || r.End != before.End || r.Cores != before.Cores || len(r.Nodes) != 3 || r.Was != nil {
		t.Errorf("it is %+v", r)
	}
	if len(d.sent) == 0 || d.sent[0].(wire.Reserved).Refusal == nil {
		t.Errorf("its holder is told %+v", d.sent)
	}
	d.step(Message{him, wire.Change{ID: "r1", Number: 9, Start: 2_000_000, End: 2_700_000, Move: true, Count: 4}})
	if got := d.sent[len(d.sent)-1].(wire.Reserved); got.Reservation.State != 0 || got.Refusal == nil {
		t.Errorf("another is told %+v", got)
	}
}

// What a reservation grows by has at least the cores of the smallest of its nodes, wherever that one stands; the smallest that will do come first.
func TestAReservationGrowsByNodesOfItsSize(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		cores []int
		is    []grid.NodeName
	}{
		{[]int{4, 8, 2, 4}, []grid.NodeName{"n1", "n2", "n4"}},
		{[]int{8, 4, 2, 4}, []grid.NodeName{"n1", "n2", "n4"}},
		{[]int{4, 4, 16, 8}, []grid.NodeName{"n1", "n2", "n4"}},
		{[]int{8, 8, 4, 4}, nil},
	} {
		d := newDesk(t, 1)
		d.says(d.reserveFor("r1", 2_000_000, 600_000, "n1", "n2"))
		d.says(wire.Confirm{ID: "r1"})
		d.movesOver(k.cores, wire.Change{ID: "r1", Number: d.disk["r1"].Number + 1, Start: 2_000_000, End: 2_500_000, Move: true, Count: 2}) // the cores of nodes are known from now on
		got := d.movesOver(k.cores, wire.Change{ID: "r1", Number: d.disk["r1"].Number + 1, Start: 2_000_000, End: 2_500_000, Move: true, Count: 3})
		if refused := got.Refusal != nil; refused != (k.is == nil) || !refused && !slices.Equal(d.disk["r1"].Nodes, k.is) {
			t.Errorf("nodes of %v cores: it is %v (%+v)", k.cores, d.disk["r1"].Nodes, got.Refusal)
		}
	}
}
