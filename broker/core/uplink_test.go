package core

import (
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/reserve"
	"gbroker/wire"
)

// shares are what was told of the uplink.
func shares(effects []Effect) (list []Uplink) {
	for _, e := range effects {
		if u, is := e.(Uplink); is {
			list = append(list, u)
		}
	}
	return list
}

// A delivery that is reserved has its rate from its start until its end, and the others what is left; what is beyond the uplink
// is refused.
func TestUplinkIsShared(t *testing.T) {
	t.Parallel()
	cfg := signer(me, "a")
	cfg.Reserving = reserve.Rules{Offered: true, Uplink: 10_000_000}
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, nil)
	now := grid.Tick(1_000_000)
	step := func(at grid.Tick, ev Event) []Effect { now = at; return c.Step(at, ev) }
	if list := shares(step(now, Boot{})); len(list) != 1 || len(list[0].Reserved) != 0 || list[0].Rest != 0 {
		t.Fatalf("at its start %+v", list)
	}
	ask := func(id grid.ReservationID, from grid.PeerID, rate int64) Message {
		return Message{from, wire.Reserve{
			ID: id, Holder: grid.User{Home: from, Name: "u"}, What: grid.DeliveryReserved, Bandwidth: rate,
			From: 1_010_000, Until: 1_070_000, Length: grid.Minute,
		}}
	}
	step(now, ask("r1", her, 7_000_000))
	if list := shares(step(now, Message{her, wire.Confirm{ID: "r1"}})); len(list) != 0 {
		t.Errorf("before its start %+v", list)
	}
	refused := false
	for _, e := range step(now, ask("r2", him, 4_000_000)) {
		if s, is := e.(Send); is {
			m, is := s.Message.(wire.Reserved)
			refused = refused || is && m.Refusal != nil && m.Refusal.Available == "3000000"
		}
	}
	if !refused {
		t.Error("more than the uplink is reserved")
	}
	if c.reservations.at["r2"] != nil {
		t.Error("something is kept of what was refused")
	}
	if at, ok := c.Next(); !ok || at > 1_010_000 {
		t.Errorf("it looks again at %v", at)
	}
	if list := shares(step(1_010_000, Tick{})); len(list) != 1 || list[0].Reserved[her] != 7_000_000 || list[0].Rest != 3_000_000 {
		t.Errorf("at its start %+v", list)
	}
	c.reservations.book.SetRules(now, reserve.Rules{Offered: true, Uplink: 8_000_000})
	if list := shares(step(1_020_000, ask("r3", him, 9_000_000))); len(list) != 1 || list[0].Rest != 1_000_000 {
		t.Errorf("with another uplink %+v", list)
	}
	if list := shares(step(1_070_000, Tick{})); len(list) != 1 || len(list[0].Reserved) != 0 || list[0].Rest != 0 {
		t.Errorf("at its end %+v", list)
	}
}

// What the inputs of a part need is reserved of the home's uplink until its start, and only if there is so much.
func TestDeliveryOfAPart(t *testing.T) {
	t.Parallel()
	cfg := signer(me, "a")
	cfg.Reserving = reserve.Rules{Offered: true, Uplink: 1_000_000}
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, nil)
	c.Step(1_000_000, Boot{})
	u := grid.User{Home: me, Name: "u"}
	if why := c.reservations.delivers("a.1.1", u, her, 6_000_000, c.now+10*grid.Second); why != nil || c.reservations.uplink[her] != 600_001 {
		t.Fatalf("%v, %v", why, c.reservations.uplink)
	}
	if why := c.reservations.delivers("a.1.2", u, him, 6_000_000, c.now+10*grid.Second); why == nil || !strings.Contains(why.Reason, "its uplink is reserved") {
		t.Errorf("%v", why)
	}
	c.reservations.delivered("a.1.1")
	if len(c.reservations.uplink) != 0 {
		t.Errorf("%v", c.reservations.uplink)
	}
	if why := c.reservations.delivers("a.1.3", u, her, 1, c.now); why == nil {
		t.Error("in no time")
	}
	c.reservations.book.SetRules(c.now, reserve.Rules{Offered: true})
	if why := c.reservations.delivers("a.1.4", u, her, 1<<40, c.now+1); why != nil || len(c.reservations.uplink) != 0 {
		t.Errorf("without an uplink to reserve: %v", why)
	}
}

// A round has the deliveries of its parts reserved before its nodes; where one cannot be, it goes on without.
func TestDeliveriesOfARound(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.f.slow = map[grid.PeerID]*grid.Refusal{}
	c.upTo(grid.Confirming)
	c.reserved("b", wire.KindConfirm, grid.Confirmed)
	c.reserved("c", wire.KindConfirm, grid.Confirmed)
	if got := c.settled(); !strings.Contains(got, "delivered 1, delivered 2") {
		t.Error(got)
	}
	c = newCoallocated(t, 0, nil)
	c.f.slow = map[grid.PeerID]*grid.Refusal{"c": forNow("its uplink is reserved")}
	c.settled()
	c.slots("b", 0, 4)
	c.slots("c", 0, 4)
	if got := c.settled(); c.rec().State != grid.Reserving || !strings.Contains(got, "deliver 1>b, deliver 2>c") || !strings.Contains(got, "Reserve>") {
		t.Errorf("%v: %s", c.rec().State, got)
	}
}
