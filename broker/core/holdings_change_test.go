package core

import (
	"errors"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// deskHolder is a broker of users, and the desk that they hold a reservation at.
type deskHolder struct {
	*desk
	home   *Core
	before bool // the site runs a version that knows neither Move nor Count
	asked  []wire.Change
	told   []grid.Reservation // what the holder has of it, as it was saved
	answer *Answer
}

// newDeskHolder has the reservation r1 of the nodes n1 and n2, confirmed.
func newDeskHolder(t *testing.T) *deskHolder {
	h := &deskHolder{desk: newDesk(t, 1)}
	h.home = New(signer(her, "b"), []grid.Member{{Name: "a", Peer: me, Send: true}}, nil)
	h.asks(Boot{})
	h.asks(PeerChanged{me, grid.Alive})
	h.asks(ReserveRequest{Token: 1, To: me, Reserve: h.reserveFor("r1", 2_000_000, 600_000, "n1", "n2")})
	if h.answer == nil || h.answer.Err != nil || h.answer.Reservation.State != grid.Confirmed {
		t.Fatalf("%+v", h.answer)
	}
	return h
}

// asks has the broker of the users take an event, and both talk until neither has anything to say.
func (h *deskHolder) asks(ev Event) {
	effects := h.home.Step(h.now, ev)
	for _, e := range effects {
		switch e := e.(type) {
		case Answer:
			h.answer = &e
		case Save:
			if r, is := e.Change.Record.(*grid.Reservation); is {
				h.told = append(h.told, *r)
			}
		}
	}
	for _, m := range sentTo(effects, me) {
		if m, is := m.(wire.Change); is {
			h.asked = append(h.asked, m)
		}
		h.toSite(m)
	}
}

func (h *deskHolder) toSite(m wire.Message) {
	if change, is := m.(wire.Change); is && h.before {
		change.Move, change.Count = false, 0
		m = change
	}
	said := h.desk.says(m)
	for _, m := range said {
		h.asks(Message{me, m})
	}
}

// later lets time pass at the site, and its words come.
func (h *deskHolder) later(span grid.Tick) {
	h.sent = nil
	h.pass(span)
	for _, m := range h.sent {
		h.asks(Message{me, m})
	}
}

// changes is what a user is told of a change; nil is nothing yet.
func (h *deskHolder) changes(e ChangeRequest) *Answer {
	e.Token, h.answer, h.told = 2, nil, nil
	h.asks(e)
	return h.answer
}

// A user has his reservation moved, and made longer: what he does not say stays. His job stays bound, also at a site of the
// version before, to which For and Details say what there is to be.
func TestAHolderChangesAReservation(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		h := newDeskHolder(t)
		h.before = before
		bind := wire.Change{ID: "r1", Number: 1, For: "b.1", Start: 2_000_000, End: 2_600_000, Details: []grid.Variable{{Name: "port", Value: "7"}}}
		h.toSite(bind)
		h.later(10 * grid.Second)
		if r := h.home.holdings.all["r1"]; r.For != "b.1" || len(r.Details) != 1 {
			t.Fatalf("its holder has %+v", r)
		}
		a := h.changes(ChangeRequest{ID: "r1", Start: 3_000_000})
		if a == nil || a.Err != nil || a.Reservation.Start != 3_000_000 || a.Reservation.End != 3_600_000 {
			t.Fatalf("version before %t: %+v", before, a)
		}
		if r := h.disk["r1"]; r.For != "b.1" || len(r.Details) != 1 || r.Start != 3_000_000 || len(r.Nodes) != 2 {
			t.Errorf("version before %t: its site has %+v", before, r)
		}
		a = h.changes(ChangeRequest{ID: "r1", Length: 900_000})
		if a == nil || a.Err != nil || a.Reservation.Start != 3_000_000 || a.Reservation.End != 3_900_000 {
			t.Errorf("version before %t: longer it is %+v", before, a)
		}
	}
}

// A site of the version before does not know how many nodes there are to be: it is not taken for done.
func TestNodesThatASiteCannotCount(t *testing.T) {
	t.Parallel()
	h := newDeskHolder(t)
	h.before = true
	if a := h.changes(ChangeRequest{ID: "r1", Nodes: 3}); a == nil || !errors.Is(a.Err, grid.ErrNotYet) {
		t.Errorf("%+v", a)
	}
}

// What cannot be changed is refused before its site is asked, with why.
func TestChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	h := newDeskHolder(t)
	h.home.holdings.all["d1"] = &grid.Reservation{ID: "d1", Site: me, Kind: grid.DeliveryReserved, State: grid.Confirmed, Start: 2_000_000, End: 2_600_000}
	h.home.holdings.all["o1"] = &grid.Reservation{ID: "o1", Site: me, Kind: grid.NodesReserved, State: grid.Released, Reason: "given up"}
	part := h.home.wholes.add(grid.Allocation{Of: "b.1", State: grid.Reserving, Round: 1, Parts: []grid.AllocatedPart{{Round: 1, Peer: me, Reservation: "p1"}}})
	h.home.holdings.all["p1"] = &grid.Reservation{ID: "p1", Site: me, Kind: grid.NodesReserved, State: grid.Confirmed, Start: 2_000_000, End: 2_600_000}
	h.asked = nil
	for id, want := range map[grid.ReservationID]error{"x1": grid.ErrNotFound, "d1": grid.ErrInvalid, "o1": grid.ErrInvalid, "p1": grid.ErrInvalid} {
		if a := h.changes(ChangeRequest{ID: id, Nodes: 2}); a == nil || !errors.Is(a.Err, want) || len(h.asked) > 0 {
			t.Errorf("%s: %+v, asked %v", id, a, h.asked)
		}
	}
	delete(h.home.wholes.all, part.rec.Of)
	if a := h.changes(ChangeRequest{ID: "r1", Start: 1_000}); a == nil || !errors.Is(a.Err, grid.ErrInvalid) || !strings.Contains(a.Err.Error(), "it is over already") {
		t.Errorf("to what is past: %+v", a)
	}
	if r := h.disk["r1"]; r.Start != 2_000_000 || r.Holding != grid.Placed {
		t.Errorf("its site has %+v", r)
	}
}

// While the batch system fails its holder has what that has, and why it is not changed; then what it is.
func TestAChangeThatTheBatchSystemPutsOff(t *testing.T) {
	t.Parallel()
	h := newDeskHolder(t)
	h.down = true
	if a := h.changes(ChangeRequest{ID: "r1", Start: 3_000_000}); a != nil || len(h.told) > 0 || h.disk["r1"].Holding != grid.Changing {
		t.Fatalf("it answers %+v, and has heard %+v", a, h.told)
	}
	for _, m := range h.desk.says(wire.Confirm{ID: "r1", Lease: grid.Hour, Sent: 9}) { // a renewal
		if r, is := m.(wire.Reserved); is && (r.Reservation.Start != 2_000_000 || len(r.Reservation.Nodes) != 2) {
			t.Errorf("its holder is told of %v", r.Reservation.Place())
		}
	}
	h.now += holdingLimit
	if h.asks(Tick{}); h.answer == nil || !errors.Is(h.answer.Err, grid.ErrUnavailable) || !strings.Contains(h.answer.Err.Error(), "the controller does not answer") {
		t.Errorf("when it has waited: %+v", h.answer)
	}
	h.down = false
	h.later(10 * grid.Second)
	if r := h.home.holdings.all["r1"]; r.Start != 3_000_000 || h.disk["r1"].Holding != grid.Placed {
		t.Errorf("at last its holder has %v, and its site %+v", r.Place(), h.disk["r1"])
	}
}

// A reservation at a site that is not heard is refused at once: nobody waits for it.
func TestAReservationAtASiteThatIsSilent(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 1)
	for to, said := range map[grid.PeerID]string{him: "c is not alive", her: ""} {
		m := d.reserveFor(grid.ReservationID("r"+string(to[:1])), 2_000_000, 600_000, "n1")
		var told string
		for _, e := range d.step(ReserveRequest{Token: 1, To: to, Reserve: m}) {
			if a, is := e.(Answer); is && a.Err != nil {
				told = a.Err.Error()
			}
		}
		if !strings.Contains(told, said) || (told == "") != (said == "") {
			t.Errorf("of %s it is told %q, not %q", to, told, said)
		}
	}
}
