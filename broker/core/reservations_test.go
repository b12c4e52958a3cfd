package core

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/reserve"
	"gbroker/wire"
)

// desk is a site that takes reservations, with a batch system that fails, and loses answers, and may
// be down. What it was made durable is kept over crashes.
type desk struct {
	t     *testing.T
	core  *Core
	rnd   *rand.Rand
	cfg   Config
	now   grid.Tick
	disk  map[grid.ReservationID]grid.Reservation
	holds map[grid.ReservationID]grid.Place
	down  bool
	errs  float64
	queue []Event // of the batch system, in order
	sent  []wire.Message
	acks  bool
	taken bool // somebody has taken something out of the batch system
}

func newDesk(t *testing.T, seed uint64) *desk {
	d := &desk{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), now: 1_000_000, cfg: signer(me, "a"),
		disk: map[grid.ReservationID]grid.Reservation{}, holds: map[grid.ReservationID]grid.Place{}, acks: true,
	}
	d.cfg.Reserving = reserve.Rules{Offered: true, Limit: grid.Minute}
	d.begin()
	return d
}

// begin is a life.
func (d *desk) begin() { d.life() }

// life is one with such jobs: the batch system forgets no reservation, and gives no answer of before.
func (d *desk) life(jobs ...grid.Record) {
	d.queue = nil
	cfg := d.cfg
	for _, r := range d.disk {
		cfg.Reservations = append(cfg.Reservations, r)
	}
	d.core = New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, jobs)
	d.step(Boot{})
	d.step(PeerChanged{her, grid.Alive})
}

func (d *desk) step(ev Event) []Effect {
	effects := d.core.Step(d.now, ev)
	if d.core.failed != nil {
		d.t.Fatal(d.core.failed)
	}
	for _, e := range effects { // the saves first
		if s, is := e.(Save); is && s.Change.Kind == grid.KindReservation {
			id := grid.ReservationID(s.Change.Key)
			if s.Change.Record == nil {
				delete(d.disk, id)
			} else {
				d.disk[id] = *s.Change.Record.(*grid.Reservation)
			}
		}
	}
	for _, e := range effects {
		d.effect(e)
	}
	return effects
}

func (d *desk) effect(e Effect) {
	failed := d.down || d.rnd.Float64() < d.errs
	done := !d.down && (!failed || d.rnd.IntN(2) == 0)
	text := ""
	if failed {
		text = "the controller does not answer"
	}
	switch e := e.(type) {
	case Reserve:
		if done {
			d.holds[e.Reservation.ID] = e.Reservation.Place()
		}
		d.queue = append(d.queue, Reserved{ID: e.Reservation.ID, Place: e.Reservation.Place(), Err: text, Kind: grid.Temporary})
	case Unreserve:
		if done {
			delete(d.holds, e.ID)
		}
		d.queue = append(d.queue, Unreserved{ID: e.ID, Err: text})
	case ListReservations:
		ev := ReservationsListed{Err: text}
		for id, p := range d.holds {
			ev.All = append(ev.All, HeldReservation{ID: id, Place: p})
		}
		d.queue = append(d.queue, ev)
	case Send:
		d.heard(e)
	}
}

// heard checks what a holder is told: nothing but what is on disk and held.
func (d *desk) heard(s Send) {
	var r grid.Reservation
	switch m := s.Message.(type) {
	case wire.Reserved:
		d.sent = append(d.sent, m)
		if r = m.Reservation; m.Refusal != nil {
			return
		}
	case wire.ReservationWord:
		d.sent = append(d.sent, m)
		if r = m.Reservation; d.acks {
			defer d.step(Message{s.To, wire.ReservationAck{ID: r.ID, Seq: r.Seq}})
		}
	default:
		return
	}
	if r.State == 0 || r.State.Over() {
		return
	}
	if saved := d.disk[r.ID]; saved.State != r.State || saved.Seq < r.Seq {
		d.t.Errorf("%s is told of %s as %v, and on disk it is %v", s.To, r.ID, r.State, saved.State)
	}
	if _, there := d.holds[r.ID]; !there && r.Holding != grid.Changing && !d.taken {
		d.t.Errorf("%s is told of %s as %v, and the batch system does not have it", s.To, r.ID, r.State)
	}
}

// work has the batch system answer.
func (d *desk) work() {
	for len(d.queue) > 0 {
		ev := d.queue[0]
		d.queue = d.queue[1:]
		d.step(ev)
	}
}

// pass lets time pass, with all its timers.
func (d *desk) pass(span grid.Tick) {
	for end := d.now + span; ; {
		at, ok := d.core.Next()
		if !ok || at > end {
			d.now = end
			return
		}
		d.now = max(d.now, at)
		d.step(Tick{})
		d.work()
	}
}

func (d *desk) reserveFor(id grid.ReservationID, start, length grid.Tick, nodes ...grid.NodeName) wire.Reserve {
	return wire.Reserve{
		ID: id, Holder: grid.User{Home: her, Name: "alice"}, What: grid.NodesReserved, Nodes: nodes,
		From: start, Until: start + length, Length: length, Limit: 30 * grid.Second, Grace: 10 * grid.Second, Sent: 7,
	}
}

func (d *desk) says(m wire.Message) []wire.Message {
	d.sent = nil
	d.step(Message{her, m})
	d.work()
	return d.sent
}

// apart: no two overlap in the batch system.
func (d *desk) apart() {
	for a, p := range d.holds {
		for b, q := range d.holds {
			if a < b && p.Start < q.End && q.Start < p.End && d.now < min(p.End, q.End) {
				for _, n := range p.Nodes {
					for _, m := range q.Nodes {
						if n == m {
							d.t.Fatalf("%s and %s overlap on %s", a, b, n)
						}
					}
				}
			}
		}
	}
}

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
type rolledBack struct{}

func (rolledBack) beforeStrays() gate { return untilAll }

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

func (d *desk) anything() {
	id := grid.ReservationID(fmt.Sprint("r", d.rnd.IntN(8)))
	start := d.now/1000*1000 + grid.Tick(d.rnd.IntN(60)+1)*grid.Second
	length := grid.Tick(d.rnd.IntN(60)+1) * grid.Second
	node := grid.NodeName(fmt.Sprint("n", d.rnd.IntN(3)))
	var m wire.Message
	switch d.rnd.IntN(12) {
	case 0, 1, 2:
		m = d.reserveFor(id, start, length, node)
	case 3, 4:
		m = wire.Confirm{ID: id, Lease: length}
	case 5:
		m = wire.Release{ID: id}
	case 6:
		m = wire.Change{ID: id, Number: d.disk[id].Number + 1, Start: start, End: start + length, Nodes: []grid.NodeName{node}}
	case 7:
		d.down = !d.down
	case 8:
		d.begin()
	case 9:
		d.pass(grid.Tick(d.rnd.IntN(20_000)))
	default:
		d.work()
	}
	if m != nil {
		d.step(Message{her, m})
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
				State: state, Holding: map[bool]grid.Holding{true: grid.NotHeld, false: grid.Held}[state.Over()], Ended: d.now,
			}
			d.holds["r1"] = grid.Place{Nodes: []grid.NodeName{"n1"}, Start: d.now, End: d.now + grid.Hour}
		}
		d.life(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at.Epoch}, Run: grid.Run{Attempt: 1, Local: "l"}})
		if got := slices.Contains(d.step(Progressed{Progress: grid.Progress{ID: at, Phase: grid.Waiting, Local: "l"}}), Effect(Withdraw{at})); got != want {
			t.Errorf("%v: withdrawn %t", state, got)
		}
	}
}
