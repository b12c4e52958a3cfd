package wire

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

func (d draw) reservationID() grid.ReservationID {
	return grid.ReservationID(rapid.StringMatching(`[a-z0-9]{1,24}`).Draw(d.T, "reservation"))
}

func (d draw) maybeReservation() grid.ReservationID {
	if d.yes() {
		return ""
	}
	return d.reservationID()
}

func (d draw) interval() (from, to grid.Tick) {
	from = grid.Tick(d.n(1, 9e11)) * grid.Second
	return from, from + grid.Tick(d.n(1, int64(grid.MaxReservation/grid.Second)))*grid.Second
}

func (d draw) reserved() grid.Tick { return grid.Tick(d.n(0, int64(grid.MaxReservationSpan))) }

func (d draw) nodes(least int) []grid.NodeName {
	name := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,20}`)
	if names := rapid.SliceOfNDistinct(name, least, 4, rapid.ID).Draw(d.T, "nodes"); len(names) > 0 {
		return each(names, func(s string) grid.NodeName { return grid.NodeName(s) })
	}
	return nil
}

func (d draw) details() []grid.Variable {
	return many(d, 3, func() grid.Variable { return grid.Variable{Name: "n" + d.name(), Value: d.bytes()} })
}

func (d draw) reserve() Reserve {
	from, to := d.interval()
	m := Reserve{
		ID: d.reservationID(), Holder: grid.User{Home: d.peer(), Name: "u" + d.name()}, For: d.jobID(), From: from, Until: to, Length: grid.Tick(d.n(1, int64(to-from))),
		Queue: d.queue(), Limit: d.reserved(), Grace: d.reserved(), Early: d.yes(), Fee: float64(d.n(0, 1e9)), Sent: d.wait(), What: grid.NodesReserved,
	}
	switch d.n(0, 2) {
	case 0:
		m.Nodes = d.nodes(1)
	case 1:
		m.Demand = d.demand()
	default:
		m.What, m.Bandwidth = grid.DeliveryReserved, d.n(1, grid.MaxReservedRate)
	}
	return m
}

func (d draw) reservation() grid.Reservation {
	from, to := d.interval()
	return grid.Reservation{
		ID: d.reservationID(), Kind: grid.ReservationKind(d.n(1, 2)), Holder: grid.User{Home: d.peer(), Name: "u" + d.name()}, For: d.jobID(),
		Nodes: d.nodes(0), Cores: int(d.n(0, grid.MaxProcesses)), Start: from, End: to, Bandwidth: d.n(0, grid.MaxReservedRate),
		State: grid.ReservationState(d.n(1, int64(grid.ReservationLost))), Reason: d.word(), Until: d.wait(), Grace: d.reserved(), Came: d.wait(), Early: d.yes(),
		Price: float64(d.n(0, 1e9)), Details: d.details(), Seq: d.u64(), Number: d.u64(),
	}
}

// What a reservation may not say is named by its field.
func TestReservationsWithinLimits(t *testing.T) {
	t.Parallel()
	reserve := func(change func(*Reserve)) Message {
		m := exampleReserve()
		change(&m)
		return m
	}
	word := func(change func(*grid.Reservation)) Message {
		r := exampleReservation()
		change(&r)
		return ReservationWord{Reservation: r}
	}
	many := make([]grid.NodeName, grid.MaxReservedNodes+1)
	for i := range many {
		many[i] = grid.NodeName("n" + strings.Repeat("x", i%50) + string(rune('a'+i%26)))
	}
	for _, c := range []struct {
		field string
		m     Message
	}{
		{"id", reserve(func(m *Reserve) { m.ID = "Not" })},
		{"user.name", reserve(func(m *Reserve) { m.Holder.Name = "" })},
		{"what", reserve(func(m *Reserve) { m.What = 3 })},
		{"nodes", reserve(func(m *Reserve) { m.Nodes = nil })},
		{"nodes", reserve(func(m *Reserve) { m.Demand = exampleJob().Demand })},
		{"nodes", reserve(func(m *Reserve) { m.Nodes = many })},
		{"nodes[1].name", reserve(func(m *Reserve) { m.Nodes = []grid.NodeName{"a", "a"} })},
		{"nodes[0].name", reserve(func(m *Reserve) { m.Nodes = []grid.NodeName{"a;b"} })},
		{"from", reserve(func(m *Reserve) { m.From++ })},
		{"length", reserve(func(m *Reserve) { m.Length++ })},
		{"length", reserve(func(m *Reserve) { m.Length = 0 })},
		{"bandwidth", reserve(func(m *Reserve) { m.Bandwidth = 1 })},
		{"limit", reserve(func(m *Reserve) { m.Limit = grid.MaxReservationSpan + 1 })},
		{"grace", reserve(func(m *Reserve) { m.Grace = -1 })},
		{"fee", reserve(func(m *Reserve) { m.Fee = -1 })},
		{"lease", Confirm{ID: "r1", Lease: -1}},
		{"number", Change{ID: "r1", Start: 1000, End: 2000}},
		{"end", Change{ID: "r1", Number: 1, Start: 2000, End: 2000}},
		{"end", Change{ID: "r1", Number: 1, Start: 2000, End: 3000 + grid.MaxReservation}},
		{"details[0].name", Change{ID: "r1", Number: 1, Start: 1000, End: 2000, Details: []grid.Variable{{Name: "a b"}}}},
		{"details[0].value", Change{ID: "r1", Number: 1, Start: 1000, End: 2000, Details: []grid.Variable{{Name: "a", Value: strings.Repeat("x", grid.MaxDetail+1)}}}},
		{"of", Reserved{Of: KindOffer, Reservation: grid.Reservation{ID: "r1"}}},
		{"reservation.state", word(func(r *grid.Reservation) { r.State = 99 })},
		{"reservation.state", word(func(r *grid.Reservation) { r.State = 0 })},
		{"reservation.what", word(func(r *grid.Reservation) { r.Kind = 0 })},
		{"reservation.price", word(func(r *grid.Reservation) { r.Price = MaxPrice * 2 })},
	} {
		if _, err := Encode(c.m); err == nil || !strings.Contains(err.Error(), c.field+":") {
			t.Errorf("%s: %v", c.field, err)
		}
	}
}
