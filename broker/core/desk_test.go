package core

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gbroker/grid"
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
		d.queue = append(d.queue, Reserved{ID: e.Reservation.ID, Place: e.Reservation.Place(), Err: errOf(text), Kind: grid.Temporary})
	case Unreserve:
		if done {
			delete(d.holds, e.ID)
		}
		d.queue = append(d.queue, Unreserved{ID: e.ID, Err: errOf(text)})
	case ListReservations:
		ev := ReservationsListed{Err: errOf(text)}
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
