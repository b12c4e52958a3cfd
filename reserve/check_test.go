package reserve

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// Check names each invariant that does not hold, and none of a book in which all do.
func TestCheckNamesWhatDoesNotHold(t *testing.T) {
	t.Parallel()
	window := []Window{{Name: "pump", Start: span(150), End: span(160)}}
	for name, c := range map[string]struct {
		state  grid.ReservationState
		change func(r *grid.Reservation)
		other  func(r *grid.Reservation)
		rules  func(r *Rules)
	}{
		"":        {state: grid.Confirmed},
		"apart":   {state: grid.Confirmed, other: func(r *grid.Reservation) { r.Start = span(199) }},
		"uplink":  {state: grid.Confirmed, change: func(r *grid.Reservation) { delivery(r, 9) }},
		"legal":   {state: grid.Bound, change: func(r *grid.Reservation) { r.For = "" }},
		"limited": {state: grid.Tentative, change: func(r *grid.Reservation) { r.Until = span(50) }},
		"clear":   {state: grid.Bound, rules: func(r *Rules) { r.Maintenance = window }},
	} {
		b := deep(c.state, c.change)
		if c.other != nil {
			o := get(b)
			o.ID = "s"
			c.other(&o)
			b.all["s"] = &o
		}
		if c.rules != nil {
			c.rules(&b.rules)
		}
		err := b.Check(span(50))
		if name == "" && err != nil || name != "" && (err == nil || !strings.HasPrefix(err.Error(), name+": ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := deep(grid.Active, nil)
	b.rules.Maintenance = window
	if err := b.Check(span(50)); err != nil {
		t.Errorf("what runs may stand in a window: %v", err)
	}
	if b.Release(span(50), "r", alice.Home, ""); b.Check(span(50)) != nil {
		t.Errorf("what is over may stand in a window: %v", b.Check(span(50)))
	}
}

// delivery makes a reservation one of bandwidth.
func delivery(r *grid.Reservation, rate int64) {
	r.Kind, r.Nodes, r.Bandwidth, r.For = grid.DeliveryReserved, nil, rate, ""
	r.Holding = grid.NotPlaced
}

// A move changes the place alone, whatever else it says; of a reservation that there is not it is refused.
func TestAMoveSaysNothingElse(t *testing.T) {
	t.Parallel()
	b := deep(grid.Bound, func(r *grid.Reservation) { r.Details = []grid.Variable{{Name: "port", Value: "1"}} })
	is := get(b)
	at := is.Place()
	at.End += grid.Second
	if r, why := b.Change(span(50), "r", alice.Home, Wish{Number: 1, Place: at, Move: true}); why != nil || r.For != "j" || len(r.Details) != 1 || r.State != grid.Bound {
		t.Errorf("moved it is %+v, %v", r, why)
	}
	if _, why := b.Change(span(50), "x", alice.Home, Wish{Number: 1, Place: at, Move: true}); why == nil {
		t.Error("a reservation that there is not is moved")
	}
	b = deep(grid.Bound, func(r *grid.Reservation) { r.Details = []grid.Variable{{Name: "port", Value: "1"}} })
	if r, why := b.Change(span(50), "r", alice.Home, Wish{Number: 1, Place: is.Place()}); why != nil || r.For != "" || r.Details != nil || r.State != grid.Confirmed {
		t.Errorf("unbound it is %+v, %v", r, why)
	}
}
