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

// A site that is put back has forgotten how much its holders have heard of it, and whom it has promised what. All is told again by numbers
// that they have not heard; and who holds what its journal lacks asks, and knows then.
func TestHoldersOfASiteThatIsPutBack(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		since func(h *deskHolder)
		want  grid.ReservationState // as its holder has it, and
		held  bool                  // whether the batch system does
	}{
		"it was given up": {func(h *deskHolder) {
			h.down = true
			h.asks(ReleaseRequest{Token: 3, ID: "r1"})
			h.down = false
		}, grid.Released, false},
		"it was changed": {func(h *deskHolder) {
			for n := range grid.Tick(5) {
				h.changes(ChangeRequest{ID: "r1", Start: 2_000_000 + n*1000})
			}
		}, grid.Confirmed, true},
		"it was made": {nil, grid.Released, false},
	} {
		h := newDeskHolder(t)
		h.later(grid.Minute)
		old := maps.Clone(h.disk)
		if k.since == nil {
			clear(old)
		} else {
			k.since(h)
		}
		h.disk = old
		h.cfg.State.RolledBack, h.cfg.State.Behind = 1, []grid.JournalID{{Sequence: 50}}
		h.taken, h.acks = true, false
		h.begin()
		h.core.reservations.stamp = 9 // the clock of this test is of before the first stamp
		h.asks(Message{me, wire.Recount{}})
		h.later(grid.Minute)
		for _, p := range []grid.PeerID{him, her} {
			h.step(PeerChanged{p, grid.Alive})
			h.step(Message{p, wire.Seen{}})
			h.step(Message{p, wire.Recounted{}})
		}
		h.later(2 * listEvery)
		_, held := h.holds["r1"]
		if got := h.home.holdings.all["r1"]; got == nil || got.State != k.want || held != k.held || held && got.Seq != h.disk["r1"].Seq {
			t.Errorf("%s: its holder has %+v, and the batch system: %v", name, got, held)
		}
	}
}

// A broker that is put back to before it reserved something for a user, or gave it up, is told of it by the site that it asks: what the user was
// told to have stays his, and what is over is not shown as his.
func TestAHolderThatIsPutBack(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]bool{"made": false, "given up": true} {
		h := newDeskHolder(t)
		h.later(grid.Minute)
		cfg := signer(her, "b")
		cfg.State.RolledBack = 1
		if given {
			cfg.Reservations = []grid.Reservation{*h.home.holdings.all["r1"]}
			h.asks(ReleaseRequest{Token: 3, ID: "r1"})
		}
		h.home = New(cfg, []grid.Member{{Name: "a", Peer: me, Send: true}}, nil)
		h.asks(Boot{})
		h.step(PeerChanged{her, grid.Alive})
		h.acks, h.sent = false, nil
		h.step(Message{her, wire.Recount{}})
		h.later(grid.Minute)
		got, want := h.home.holdings.all["r1"], grid.Confirmed
		if given {
			want = grid.Released
		}
		if got == nil || got.State != want || h.disk["r1"].State != want {
			t.Errorf("%s: it has %+v, and its site %v", name, got, h.disk["r1"].State)
		}
	}
}

// A user who was told that a site did not answer has nothing there, also if the site has heard the confirmation and not that it is given up.
func TestWhoWaitsTooLongHoldsNothing(t *testing.T) {
	t.Parallel()
	h := newDeskHolder(t)
	m := h.reserveFor("r2", 2_000_000, 600_000, "n3")
	h.home.Step(h.now, ReserveRequest{Token: 3, To: me, Reserve: m})
	for _, w := range h.desk.says(m) {
		h.home.Step(h.now, Message{me, w})
	}
	h.desk.says(wire.Confirm{ID: "r2"}) // whose answer is lost
	h.now += holdingLimit
	h.home.Step(h.now, Tick{}) // what it says is lost too
	h.acks = false
	h.later(grid.Minute)
	if r := h.disk["r2"]; !r.State.Over() || len(h.holds) != 1 {
		t.Errorf("its site has %+v", r)
	}
}

// What a broker had asked for when it ended is given up, also where its site hears nothing of it for long, and then not at once.
func TestWhatWasAskedForBeforeAStartIsGivenUp(t *testing.T) {
	t.Parallel()
	h := newDeskHolder(t)
	m := h.reserveFor("r2", 2_000_000, 600_000, "n3")
	m.Grace = 0
	h.home.Step(h.now, ReserveRequest{Token: 3, To: me, Reserve: m})
	for _, w := range h.desk.says(m) {
		h.home.Step(h.now, Message{me, w})
	}
	h.desk.says(wire.Confirm{ID: "r2"}) // whose answer the broker does not live to hear
	cfg := signer(her, "b")
	cfg.Reservations = []grid.Reservation{*h.home.holdings.all["r1"], *h.home.holdings.all["r2"]}
	h.home = New(cfg, []grid.Member{{Name: "a", Peer: me, Send: true}}, nil)
	h.home.Step(h.now, Boot{}) // the site is not reached
	h.now += 2 * holdingLimit
	h.home.Step(h.now, Tick{})
	h.acks, h.sent = false, nil
	h.pass(grid.Minute)
	for i, w := range h.sent {
		if effects := h.home.Step(h.now, Message{me, w}); i > 0 { // what it says first is lost
			for _, m := range sentTo(effects, me) {
				h.toSite(m)
			}
		}
		if word, is := w.(wire.ReservationWord); is && i == 0 && h.disk["r2"].Told >= word.Reservation.Seq {
			t.Error("it is acknowledged")
		}
	}
	if r := h.disk["r2"]; !r.State.Over() || h.home.holdings.all["r2"].State != grid.Released {
		t.Errorf("its site has %+v", r)
	}
	if r := h.disk["r1"]; r.State != grid.Confirmed {
		t.Errorf("the other one is %+v", r)
	}
}
