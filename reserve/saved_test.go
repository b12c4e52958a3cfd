package reserve

import (
	"testing"

	"gbroker/grid"
)

// What the holder is told, and what is saved: every renewal, every change, every word of the batch system that counts.
func TestWhatIsSavedAndTold(t *testing.T) {
	t.Parallel()
	b := deep(grid.Tentative, func(r *grid.Reservation) { r.Until = span(90) })
	b.Confirm(span(50), "r", alice.Home, 0)
	if get(b).Until != 0 {
		t.Error("confirmed for ever it has the limit that it had before")
	}
	b.Changed()
	b.Confirm(span(60), "r", alice.Home, span(30))
	if changed, _ := b.Changed(); len(changed) != 1 || changed[0].Until != span(90) {
		t.Errorf("a renewal is not saved: %+v", changed)
	}
	is := get(b)
	b.Change(span(61), "r", alice.Home, Wish{Number: 1, For: "j", Place: is.Place(), Details: []grid.Variable{{}}})
	if r := get(b); r.Seq != is.Seq+1 || len(r.Details) != 1 || r.Holding != grid.Placed {
		t.Errorf("with details it is %+v", r)
	}
	at := is.Place()
	at.End += grid.Second
	seq := get(b).Seq
	b.Change(span(62), "r", alice.Home, Wish{Number: 2, Place: at, Move: true})
	if r := get(b); r.Seq != seq || r.Holding != grid.Changing {
		t.Errorf("its new place is told before the batch system has it: %+v", r)
	}
	if b.Made(span(63), "r", at, nil); get(b).Seq != seq+1 {
		t.Error("its new place is not told")
	}
	b = deep(grid.Tentative, func(r *grid.Reservation) { r.Until, r.Holding = span(90), grid.Making })
	is = get(b)
	other := is.Place()
	other.End += grid.Second
	if b.Made(span(51), "r", other, nil); get(b).Holding != grid.Making {
		t.Error("what was made of an older wish counts")
	}
	if b.Made(span(51), "r", is.Place(), nil); get(b).Seq != is.Seq+1 || get(b).Holding != grid.Placed {
		t.Errorf("made it is %+v", get(b))
	}
	seq = get(b).Seq
	if b.Made(span(52), "r", is.Place(), nil); get(b).Seq != seq {
		t.Error("made again it is told again")
	}
	b = deep(grid.Confirmed, func(r *grid.Reservation) {
		r.Kind, r.Holding, r.Nodes, r.Bandwidth = grid.DeliveryReserved, grid.NotPlaced, nil, 4
	})
	_, why := b.Change(span(50), "r", alice.Home, Wish{Number: 1, For: "j", Place: grid.Place{Start: span(120), End: span(180)}})
	if r := get(b); why != nil || r.Start != span(120) || r.Holding != grid.NotPlaced || r.Was != nil {
		t.Errorf("bandwidth that was moved is %+v, %v", r, why)
	}
}

// What runs stays where the operator comes, and what is over is remembered until the batch system has let go of it, and then
// for a while.
func TestWhatStays(t *testing.T) {
	t.Parallel()
	for _, s := range []grid.ReservationState{grid.Active, grid.Bound} {
		b := deep(s, nil)
		rules := b.Rules()
		rules.Maintenance = []Window{{Name: "pump", Start: span(90), End: span(120)}}
		if b.SetRules(span(50), rules); (get(b).State == grid.ReservationLost) != (s == grid.Bound) {
			t.Errorf("%v: it is %v", s, get(b).State)
		}
	}
	b := deep(grid.Bound, nil)
	b.Release(span(50), "r", alice.Home, "")
	b.Pass(span(50) + 2*defaultKeep)
	if _, known := b.Get("r"); !known {
		t.Error("it is forgotten while the batch system has it")
	}
	b = deep(grid.Bound, nil)
	b.Release(span(50), "r", alice.Home, "")
	if b.Ended("r"); b.Next() != span(50)+defaultKeep {
		t.Errorf("it is forgotten at %v", b.Next())
	}
	b.Pass(span(50) + defaultKeep)
	if _, known := b.Get("r"); known {
		t.Error("it is remembered for ever")
	}
}

// One that is being changed and had no known cores, as its nodes were not listed yet, or no price: it has none again when the
// batch system refuses, also after a start.
func TestAChangeOfOneWithoutCoresOrPrice(t *testing.T) {
	t.Parallel()
	for _, had := range []float64{0, 1.5} {
		b := deep(grid.Confirmed, func(r *grid.Reservation) {
			was := r.Place()
			was.End += grid.Second
			r.Cores, r.Price, r.Holding, r.Was, r.WasPrice = 8, 2.5, grid.Changing, &was, had
		})
		b = New(b.Rules(), b.All())
		is := get(b)
		b.Made(span(50), "r", is.Place(), &grid.Refusal{Kind: grid.Permanent, Reason: "no"})
		if r := get(b); r.End != is.End+grid.Second || r.Cores != 0 || r.Price != had {
			t.Errorf("it is %v with %d cores at %g", r.Place(), r.Cores, r.Price)
		}
	}
}
