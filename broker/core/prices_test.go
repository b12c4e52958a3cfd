package core

import (
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/reserve"
	"gbroker/wire"
)

// priced is a site with prices, of two nodes with four cores each: one is busy until an hour from now, and then would run a
// local job of priority 3.
type priced struct {
	*testing.T
	c    *Core
	told []Displace
}

func newPriced(t *testing.T, prices *plan.Pricing) *priced {
	cfg := signer(me, "a")
	cfg.Prices, cfg.Reserves, cfg.Reserving = prices, true, reserve.Rules{Offered: true}
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, nil)
	c.Step(1_000_000, Boot{})
	return &priced{T: t, c: c}
}

// look is what the batch system shows.
func (p *priced) look() Looked {
	return Looked{Snapshot: plan.Snapshot{
		At: p.c.now, Site: grid.Site{Name: "a", Speed: 1}, Nodes: []plan.Node{{Name: "n1", Cores: 4}, {Name: "n2", Cores: 4}},
		Running: []plan.Running{{Shares: []plan.Share{{Node: 0, Cores: 4}}, End: p.c.now + grid.Hour}},
		Waiting: []plan.Waiting{{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 4}}}, Limit: grid.Hour, Priority: 3}},
	}}
}

// wants asks for a node for an hour, beginning so long from now; it gives the answer once the batch system has it.
func (p *priced) wants(id grid.ReservationID, from grid.PeerID, node grid.NodeName, in grid.Tick, fee float64) (last wire.Reserved) {
	start := p.c.now + in
	effects := p.c.Step(p.c.now, Message{from, wire.Reserve{
		ID: id, Holder: grid.User{Home: from, Name: "u"}, What: grid.NodesReserved, Nodes: []grid.NodeName{node},
		From: start, Until: start + grid.Hour, Length: grid.Hour, Limit: grid.Minute, Fee: fee,
	}})
	effects = append(effects, p.c.Step(p.c.now, p.look())...)
	if r, known := p.c.reservations.book.Get(id); known {
		effects = append(effects, p.c.Step(p.c.now, Reserved{ID: id, Place: r.Place()})...)
		effects = append(effects, p.c.Step(p.c.now, Message{from, wire.Confirm{ID: id}})...)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case Send:
			if m, is := e.Message.(wire.Reserved); is {
				last = m
			}
		case Displace:
			p.told = append(p.told, e)
		}
	}
	return last
}

// The rate of a reservation follows who would run there, and is frozen in it; who pays less is refused, with the numbers;
// the operator hears who gives way.
func TestReservationsCostTheirRate(t *testing.T) {
	t.Parallel()
	p := newPriced(t, &plan.Pricing{Base: 2, Priority: 0.5, Users: map[grid.User]float64{{Home: him}: 10}})
	if m := p.wants("r1", her, "n2", 90*grid.Minute, 4); m.Refusal == nil || m.Refusal.Reason != tooDear || m.Refusal.Asked != "4" || m.Refusal.Available != "5" {
		t.Errorf("%+v", m.Refusal)
	}
	if m := p.wants("r2", her, "n2", 90*grid.Minute, 5); m.Refusal != nil || m.Reservation.Price != 5 || len(p.told) != 1 || p.told[0].Jobs[0].Priority != 3 || p.told[0].Reservation.ID != "r2" {
		t.Errorf("%+v, %+v", m, p.told)
	}
	if m := p.wants("r3", her, "n2", 5*grid.Hour, 0); m.Refusal != nil || m.Reservation.Price != 2 || len(p.told) != 1 {
		t.Errorf("%+v, %+v", m, p.told)
	}
	if m := p.wants("r4", him, "n1", 5*grid.Hour, 0); m.Refusal != nil || m.Reservation.Price != 20 {
		t.Errorf("%+v", m)
	}
	p.c.Step(p.c.now, PricesChanged{&plan.Pricing{Base: 7}})
	if m := p.wants("r5", her, "n2", 8*grid.Hour, 0); m.Reservation.Price != 7 {
		t.Errorf("%+v", m)
	}
	if r, _ := p.c.reservations.book.Get("r2"); r.Price != 5 {
		t.Errorf("the rate was frozen at 5, and is %v", r.Price)
	}
	p.c.Step(p.c.now, PricesChanged{})
	if m := p.wants("r6", her, "n2", 10*grid.Hour, 0); m.Refusal != nil || m.Reservation.Price != 0 {
		t.Errorf("without prices: %+v", m)
	}
}

// Others have no more of the site at one time than its operator leaves them.
func TestShareOfOthers(t *testing.T) {
	t.Parallel()
	p := newPriced(t, &plan.Pricing{Base: 1, Share: 0.6})
	if m := p.wants("r1", her, "n2", 5*grid.Hour, 0); m.Refusal != nil {
		t.Fatalf("%+v", m.Refusal)
	}
	if n := p.c.reservations.grided(p.c.now, p.c.now+grid.Day); n != 4 {
		t.Errorf("others have %d cores", n)
	}
	if m := p.wants("r2", him, "n1", 5*grid.Hour+30*grid.Minute, 0); m.Refusal == nil || !strings.Contains(m.Refusal.Reason, "share") || m.Refusal.Available != "0 cores" {
		t.Errorf("%+v", m.Refusal)
	}
	if m := p.wants("r3", him, "n1", 6*grid.Hour, 0); m.Refusal != nil {
		t.Errorf("another time: %+v", m.Refusal)
	}
}

// Who gives way to a reservation that is moved is told when the batch system has moved it, and not where it refuses to.
func TestOnlyAReservationThatMovedDisplaces(t *testing.T) {
	t.Parallel()
	for err, displaced := range map[string]bool{"": true, "no": false} {
		p := newPriced(t, &plan.Pricing{Base: 2})
		p.wants("r1", her, "n2", 5*grid.Hour, 0)
		start := p.c.now + 90*grid.Minute
		effects := p.c.Step(p.c.now, Message{her, wire.Change{ID: "r1", Number: 1, Start: start, End: start + grid.Hour, Move: true}})
		effects = append(effects, p.c.Step(p.c.now, p.look())...)
		r, _ := p.c.reservations.book.Get("r1")
		if _, early := only[Displace](effects); early || r.Holding != grid.Changing || r.Start != start || len(p.told) > 0 {
			t.Fatalf("it is %+v; told early: %t, %+v", r, early, p.told)
		}
		told, is := only[Displace](p.c.Step(p.c.now, Reserved{ID: "r1", Place: r.Place(), Err: errOf(err), Kind: grid.Permanent}))
		if is != displaced || is && (told.Reservation.ID != "r1" || len(told.Jobs) != 1) {
			t.Errorf("%q: told %+v", err, told)
		}
	}
}

// A change that is refused displaces nobody, also not with the next one, which does.
func TestARefusedChangeDisplacesNobody(t *testing.T) {
	t.Parallel()
	p := newPriced(t, &plan.Pricing{Base: 2, Share: 0.6})
	p.wants("r1", her, "n2", 5*grid.Hour, 0)
	change := func(number uint64, start grid.Tick, nodes ...grid.NodeName) wire.Change {
		return wire.Change{ID: "r1", Number: number, Nodes: nodes, Start: start, End: start + grid.Hour, Move: true}
	}
	taken := p.c.now + 90*grid.Minute
	p.c.Step(p.c.now, Message{her, change(1, taken, "n1", "n2")})
	p.c.Step(p.c.now, p.look())
	r, _ := p.c.reservations.book.Get("r1")
	if r.Holding == grid.Changing {
		t.Fatal("more than its share is not refused")
	}
	p.c.Step(p.c.now, PricesChanged{}) // so the next one is not priced
	p.c.Step(p.c.now, Message{her, change(2, p.c.now+8*grid.Hour, "n2")})
	r, _ = p.c.reservations.book.Get("r1")
	if e, is := only[Displace](p.c.Step(p.c.now, Reserved{ID: "r1", Place: r.Place()})); is || r.Start != p.c.now+8*grid.Hour {
		t.Errorf("it is %+v, and %+v give way", r, e)
	}
}

// Who repeats what he asks for, as the batch system is slow, is told how that is, also where the operator leaves others less meanwhile; and the
// operator hears who gives way to it.
func TestAReservationThatIsAskedForAgain(t *testing.T) {
	t.Parallel()
	p := newPriced(t, &plan.Pricing{Base: 2, Share: 0.6})
	start := p.c.now + 90*grid.Minute
	ask := Message{her, wire.Reserve{
		ID: "r1", Holder: grid.User{Home: her, Name: "u"}, What: grid.NodesReserved, Nodes: []grid.NodeName{"n2"},
		From: start, Until: start + grid.Hour, Length: grid.Hour, Limit: grid.Minute,
	}}
	p.c.Step(p.c.now, ask)
	p.c.Step(p.c.now, p.look())
	p.c.Step(p.c.now, PricesChanged{&plan.Pricing{Base: 2, Share: 0.1}})
	if m, is := only[Send](p.c.Step(p.c.now, ask)); is {
		t.Errorf("while it is made: %+v", m)
	}
	r, _ := p.c.reservations.book.Get("r1")
	p.c.Step(p.c.now, Reserved{ID: "r1", Place: r.Place()})
	if told, is := only[Displace](p.c.Step(p.c.now, Message{her, wire.Confirm{ID: "r1"}})); !is || len(told.Jobs) != 1 {
		t.Errorf("gives way: %+v", told)
	}
}
