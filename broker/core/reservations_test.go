package core

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// A reservation is told of when it is held and saved; not confirmed it is gone at its limit, and that is
// told until it is acknowledged.
func TestATentativeReservationGoes(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	m := d.reserveFor("r1", 2_000_000, 60_000, "n1")
	if d.step(Message{her, m}); len(d.sent) > 0 || d.disk["r1"].Holding != grid.Making {
		t.Fatalf("before the batch system has it: %+v, on disk %+v", d.sent, d.disk["r1"])
	}
	d.work()
	if r, ok := d.sent[0].(wire.Reserved); !ok || r.Reservation.State != grid.Tentative || r.Sent != 7 || r.Clock != d.now {
		t.Fatalf("answered %+v", d.sent)
	}
	if again := d.says(m); len(again) != 1 || again[0].(wire.Reserved).Reservation.Seq != d.disk["r1"].Seq {
		t.Errorf("the same again is answered %+v", again)
	}
	d.acks = false
	d.pass(29 * grid.Second)
	if len(d.holds) != 1 {
		t.Fatal("it is gone before its limit")
	}
	d.sent = nil
	d.pass(10 * grid.Second)
	words := 0
	for _, m := range d.sent {
		if w, ok := m.(wire.ReservationWord); ok && w.Reservation.State == grid.Expired {
			words++
		}
	}
	if len(d.holds) != 0 || words < 3 {
		t.Errorf("after its limit: %v, and told %d times", d.holds, words)
	}
	d.step(Message{her, wire.ReservationAck{ID: "r1", Seq: d.disk["r1"].Seq}})
	if d.sent = nil; len(d.holds) == 0 {
		if d.pass(grid.Minute); len(d.sent) > 0 {
			t.Errorf("it is told after it was acknowledged: %+v", d.sent)
		}
	}
}

// Whoever is not the holder changes nothing.
func TestReservationsOfOthers(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 60_000, "n1"))
	before := d.disk["r1"]
	for _, m := range []wire.Message{wire.Confirm{ID: "r1"}, wire.Release{ID: "r1"}, wire.Change{ID: "r1", Number: 9, Start: 3_000_000, End: 3_001_000}, wire.ReservationAck{ID: "r1", Seq: 99}} {
		d.step(Message{him, m})
		if now := d.disk["r1"]; now.State != before.State || now.Start != before.Start || now.Told != before.Told {
			t.Errorf("%T of another: %+v", m, now)
		}
	}
	mine := d.reserveFor("r2", 2_000_000, 60_000, "n2")
	mine.Holder.Home = him
	if got := d.says(mine); len(d.holds) != 1 || got[0].(wire.Reserved).Refusal == nil {
		t.Errorf("for a user of another site: %+v", got)
	}
}

// What is given up before it was asked for is never made, and the answer can be sent.
func TestReleasedBeforeItIsReserved(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	for _, m := range []wire.Message{wire.Release{ID: "r1"}, d.reserveFor("r1", 2_000_000, 60_000, "n1")} {
		answer := d.says(m)
		if len(answer) != 1 || answer[0].(wire.Reserved).Reservation.State != 0 || len(d.holds) > 0 {
			t.Fatalf("%T is answered %+v, held are %v", m, answer, d.holds)
		}
		if _, err := wire.Encode(answer[0]); err != nil {
			t.Errorf("%T: %v", m, err)
		}
	}
}

// What is in no book is ended, and what the batch system has lost is LOST.
func TestReservationsReconciled(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.says(d.reserveFor("r1", 2_000_000, 60_000, "n1"))
	d.says(wire.Confirm{ID: "r1"})
	delete(d.holds, "r1")
	d.taken = true
	d.holds["stray"] = grid.Place{Nodes: []grid.NodeName{"n9"}, Start: 1, End: 9_000_000}
	d.sent = nil
	d.begin()
	d.work()
	if _, there := d.holds["stray"]; there || d.disk["r1"].State != grid.ReservationLost {
		t.Errorf("after a restart: %v, %+v", d.holds, d.disk["r1"])
	}
	if w, ok := d.sent[len(d.sent)-1].(wire.ReservationWord); !ok || w.Reservation.State != grid.ReservationLost {
		t.Errorf("its holder hears %+v", d.sent)
	}
}

// Also where the book is empty, the batch system does not answer at once, and its answer comes before all were asked.
func TestAStrayReservationIsNotForgotten(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	d.taken = true
	d.holds["stray"] = grid.Place{Nodes: []grid.NodeName{"n9"}, Start: 1, End: 9_000_000}
	d.down = true
	d.begin()
	d.work()
	d.pass(2 * listEvery)
	known := d.core.reservations.gates
	d.down, d.core.reservations.gates = false, rolledBack{}
	d.pass(2 * listEvery)
	if _, there := d.holds["stray"]; !there {
		t.Fatal("it is ended though the journal was rolled back")
	}
	d.core.reservations.gates = known
	d.errs = 1
	d.pass(2 * listEvery)
	d.errs = 0
	d.pass(2 * listEvery)
	if _, there := d.holds["stray"]; there {
		t.Error("it is held for ever")
	}
	if d.core.reservations.unsure {
		t.Error("what is gone is still looked for")
	}
}

// rolledBack is the gate of a broker that has not asked all.
type rolledBack struct{ *gates }

func (rolledBack) beforeStrays() gate { return untilAll }
func (rolledBack) beforeLosing() gate { return untilAll }

// A demand is met by whole nodes, beside what is reserved already; also where no job can ask for nodes of its own.
func TestNodesAreFound(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	look := shot(d.now)
	look.Snapshot.Nodes = []plan.Node{{Name: "n1", Cores: 4}, {Name: "n2", Cores: 4}, {Name: "n3", Cores: 4}}
	look.Snapshot.Shapes = plan.Shapes{Mingles: true, Nameless: true}
	ask := func(id grid.ReservationID) grid.Reservation {
		m := d.reserveFor(id, 1_100_000, 60_000)
		m.Until += 60_000
		m.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 1}}, DistinctNodes: true}
		d.step(Message{her, m})
		look.Snapshot.At = d.now
		d.step(look)
		d.work()
		return d.disk[id]
	}
	first, second := ask("r1"), ask("r2")
	if len(first.Nodes) != 2 || first.Start != 1_100_000 || len(second.Nodes) != 2 || second.Start != first.End {
		t.Errorf("found %+v and %+v", first.Place(), second.Place())
	}
	if first.Cores != 8 {
		t.Errorf("%d cores", first.Cores)
	}
	if third := ask("r3"); third.State != 0 {
		t.Errorf("found %+v", third)
	}
}

// Holders, a batch system that fails and goes down, and crashes at any step: what is told is held and on
// disk, nothing overlaps, and at the end nothing is left.
func TestReservationsUnderFaults(t *testing.T) {
	t.Parallel()
	base := rand.Uint64()
	for n := range uint64(60) {
		d := newDesk(t, base+n)
		d.errs = 0.3
		for range 120 {
			d.anything()
			d.apart()
		}
		d.down, d.errs = false, 0
		d.begin()
		d.work()
		d.pass(2 * grid.Hour)
		if len(d.holds) > 0 || t.Failed() {
			t.Fatalf("seed %d: %v are left, of %+v", base+n, d.holds, d.disk)
		}
	}
}

// A job whose reservation is over is withdrawn as long as it is seen to wait: what was to be done at once may have been
// lost in a crash. One whose reservation stands waits.
func TestWaitsForNothing(t *testing.T) {
	t.Parallel()
	for state, want := range map[grid.ReservationState]bool{grid.Released: true, grid.Bound: false, 0: true} {
		d := newDesk(t, 1)
		j := jobOf(her, "b", "1")
		j.Reservation, j.Part = "r1", &grid.Part{Of: "b.0", Sites: []grid.PartSite{{Name: "a", Processes: 1}}}
		at := grid.AttemptID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Attempt: 1}
		if state != 0 {
			d.disk["r1"] = grid.Reservation{
				ID: "r1", Kind: grid.NodesReserved, Site: me, Holder: j.User, For: j.ID, Nodes: []grid.NodeName{"n1"}, Start: d.now, End: d.now + grid.Hour,
				State: state, Holding: map[bool]grid.Holding{true: grid.NotPlaced, false: grid.Placed}[state.Over()], Ended: d.now,
			}
			d.holds["r1"] = grid.Place{Nodes: []grid.NodeName{"n1"}, Start: d.now, End: d.now + grid.Hour}
		}
		d.life(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at.Epoch}, Run: grid.Run{Attempt: 1, Local: "l"}})
		if got := slices.Contains(d.step(Progressed{Progress: grid.Progress{ID: at, Phase: grid.Waiting, Local: "l"}}), Effect(Withdraw{at})); got != want {
			t.Errorf("%v: withdrawn %t", state, got)
		}
	}
}

// What the batch system is at for a reservation is counted: each word of it, that one is made or ended, answers one question, and none answers
// less than none.
func TestWhatTheBatchSystemIsAtIsCounted(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]func(*reservations){
		"made":  func(m *reservations) { m.made(Reserved{ID: "r1"}) },
		"ended": func(m *reservations) { m.ended(Unreserved{ID: "r1"}) },
	} {
		for asked, want := range []int{0, 0, 1, 2} {
			d := newDesk(t, 1)
			d.says(d.reserveFor("r1", 2_000_000, 60_000, "n1"))
			w := d.core.reservations.work("r1")
			w.asked = asked
			if word(d.core.reservations); w.asked != want {
				t.Errorf("%s, with %d asked: %d are left, not %d", name, asked, w.asked, want)
			}
		}
	}
}

// Of the reservations of a journal those of this site are in its book, and those of other sites are what its users hold there.
func TestReservationsOfAJournal(t *testing.T) {
	t.Parallel()
	cfg := signer(me, "a")
	cfg.Reservations = []grid.Reservation{{ID: "r1", Site: me, State: grid.Confirmed, End: 2_000_000}, {ID: "r2", Site: her, State: grid.Confirmed, End: 2_000_000}}
	c := New(cfg, nil, nil)
	own, all := c.reservations.book.All(), c.holdings.all
	if len(own) != 1 || own[0].ID != "r1" || len(all) != 1 || all["r2"] == nil {
		t.Errorf("the book has %v, held elsewhere are %v", own, all)
	}
}
