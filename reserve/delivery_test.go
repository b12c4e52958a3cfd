package reserve

import (
	"fmt"
	"testing"

	"gbroker/grid"
)

// A rate that a site never has for others is refused for ever, another until there is room.
func TestUplinkThatIsNotOffered(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		uplink, rate int64
		kind         grid.RefusalKind
	}{{0, 20, grid.Permanent}, {19, 20, grid.Permanent}, {29, 20, grid.Temporary}} {
		b := New(Rules{Offered: true, Uplink: x.uplink}, nil)
		a := Ask{ID: "r1", Holder: grid.User{Home: "far", Name: "u"}, Kind: grid.DeliveryReserved, Place: grid.Place{Start: span(10), End: span(20)}, Bandwidth: 10}
		b.Reserve(span(1), "site", a)
		a.ID, a.Bandwidth = "r2", x.rate
		if _, why := b.Reserve(span(1), "site", a); why == nil || why.Kind != x.kind {
			t.Errorf("%d of %d: %+v", x.rate, x.uplink, why)
		}
	}
}

// What a site has reserved of its uplink for its own parts takes nothing of anybody's quota, and is forgotten when it is over;
// those of others have a quota of their own, beside that of nodes, and are remembered.
func TestDeliveriesHaveABookOfTheirOwn(t *testing.T) {
	t.Parallel()
	few := Quota{Number: 2}
	b := New(Rules{Offered: true, Uplink: 100, Member: few, User: few, Deliveries: few}, nil)
	ask := func(n int, home grid.PeerID, kind grid.ReservationKind) *grid.Refusal {
		a := Ask{ID: grid.ReservationID(fmt.Sprint(home, kind, n)), Holder: grid.User{Home: home, Name: "u"}, Kind: kind, Place: grid.Place{Start: span(10), End: span(20)}, Bandwidth: 1}
		if kind == grid.NodesReserved {
			a.Place.Nodes = []grid.NodeName{grid.NodeName(fmt.Sprint("n", home, n))}
		}
		_, why := b.Reserve(span(1), "site", a)
		return why
	}
	for n := range 5 {
		if why := ask(n, "site", grid.DeliveryReserved); why != nil {
			t.Errorf("delivery %d of the site is refused: %+v", n, why)
		}
		for _, home := range []grid.PeerID{"site", "far"} {
			if why := ask(n, home, grid.NodesReserved); (why != nil) != (n >= 2) {
				t.Errorf("nodes %d for %s: %+v", n, home, why)
			}
		}
		if why := ask(n, "far", grid.DeliveryReserved); (why != nil) != (n >= 2) {
			t.Errorf("delivery %d of another: %+v", n, why)
		}
	}
	b.Pass(span(21))
	for _, r := range b.All() {
		if r.Kind == grid.DeliveryReserved && r.Holder.Home == "site" {
			t.Errorf("%s is still in the book: %v", r.ID, r.State)
		}
	}
	if _, known := b.Get(grid.ReservationID(fmt.Sprint("far", grid.DeliveryReserved, 0))); !known {
		t.Error("the delivery of another is forgotten: a late word would make it anew")
	}
}
