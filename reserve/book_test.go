package reserve

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

func span(seconds int) grid.Tick { return grid.Tick(seconds) * grid.Second }

// world drives a book and its twin with the same words.
type world struct {
	*rapid.T
	book *Book
	twin *twin
	now  grid.Tick
}

func (w *world) n(low, high int, what string) int { return rapid.IntRange(low, high).Draw(w.T, what) }

func (w *world) id() grid.ReservationID {
	return grid.ReservationID(fmt.Sprintf("r%d", w.n(0, 3, "id")))
}

func (w *world) user() grid.User {
	n := max(0, w.n(-4, 3, "user"))
	return grid.User{Home: grid.PeerID(fmt.Sprintf("m%d", n/2)), Name: fmt.Sprintf("u%d", n%2)}
}

func (w *world) place() grid.Place {
	p := grid.Place{Start: span(w.n(0, 60, "start"))}
	p.End = p.Start + span(w.n(1, 30, "length"))
	mask := w.n(1, 7, "nodes")
	for i := range 3 {
		if mask>>i&1 == 1 {
			p.Nodes = append(p.Nodes, grid.NodeName(fmt.Sprintf("n%d", i)))
		}
	}
	return p
}

// of is what both have of a reservation.
func (w *world) of(id grid.ReservationID) (r grid.Reservation, e *entry) {
	r, _ = w.book.Get(id)
	return r, w.twin.all[id]
}

func (w *world) pass() {
	w.now += span(w.n(0, 15, "passes"))
	w.twin.to(w.now)
	w.book.Pass(w.now)
}

func (w *world) reserve() {
	a := Ask{ID: w.id(), Holder: w.user(), Kind: grid.NodesReserved, Place: w.place(), Limit: span(w.n(1, 20, "limit")), Grace: span(w.n(0, 9, "grace")), Early: w.n(0, 3, "early") == 0}
	if w.n(0, 3, "kind") == 0 {
		a.Kind, a.Place.Nodes, a.Bandwidth = grid.DeliveryReserved, nil, int64(w.n(1, 6, "rate"))
	}
	if w.twin.all[a.ID] != nil {
		before, _ := w.book.Get(a.ID)
		r, why := w.book.Reserve(w.now, "site", a)
		if mine := before.Holder.Home == a.Holder.Home; mine && (r.State != before.State || r.Start != before.Start || (why != nil) != before.State.Over()) || !mine && why == nil {
			w.Fatalf("%s again: %+v, %v", a.ID, r, why)
		}
		return
	}
	_, why := w.book.Reserve(w.now, "site", a)
	if did := w.twin.reserve(a); did != (why == nil) {
		w.Fatalf("the twin reserves %+v: %t, the book: %+v", a, did, why)
	}
}

func (w *world) made() {
	id := w.id()
	r, e := w.of(id)
	if e == nil || r.Holding != grid.Making && r.Holding != grid.Changing {
		return
	}
	switch w.n(0, 3, "made") {
	case 0: // for now
		w.book.Made(w.now, id, r.Place(), &grid.Refusal{Kind: grid.Temporary})
	case 1: // for ever
		w.book.Made(w.now, id, r.Place(), &grid.Refusal{Kind: grid.Permanent})
		if e.Holding == grid.Making {
			e.State, e.Holding, e.Ended = grid.Released, grid.Ending, w.now
		} else {
			e.Nodes, e.Start, e.End, e.Holding, e.at = e.at[1].Nodes, e.at[1].Start, e.at[1].End, grid.Placed, e.at[1:]
		}
	default:
		stale := r.Place()
		stale.End += grid.Second
		w.book.Made(w.now, id, stale, nil) // of another wish
		w.book.Made(w.now, id, r.Place(), nil)
		e.Holding, e.at = grid.Placed, e.at[:1]
	}
	w.twin.to(w.now)
	w.book.Pass(w.now)
}

func (w *world) ended() {
	id := w.id()
	w.book.Ended(id)
	if _, e := w.of(id); e != nil && e.Holding == grid.Ending {
		e.Holding, e.at = grid.NotPlaced, nil
	}
}

func (w *world) confirm() {
	id, by, lease := w.id(), w.user(), span(w.n(0, 20, "lease"))
	_, e := w.of(id)
	_, why := w.book.Confirm(w.now, id, by.Home, lease)
	if may := e != nil && e.Holder.Home == by.Home && !e.State.Over() && e.Holding != grid.Making; may != (why == nil) {
		w.Fatalf("confirmed: %v", why)
	} else if may {
		if e.State == grid.Tentative {
			e.State = grid.Confirmed
		}
		if e.Until = 0; lease > 0 {
			e.Until = w.now + lease
		}
	}
}

func (w *world) release() {
	id, by := w.id(), w.user()
	_, e := w.of(id)
	w.book.Release(w.now, id, by.Home, "")
	switch {
	case e == nil:
		w.twin.all[id] = &entry{Reservation: grid.Reservation{ID: id, Kind: grid.NodesReserved, Holder: grid.User{Home: by.Home}, State: grid.Released}}
	case e.Holder.Home == by.Home && !e.State.Over():
		if e.State = grid.Released; e.Holding != grid.NotPlaced {
			e.Holding = grid.Ending
		}
	}
}

func (w *world) bind() {
	id, user, job := w.id(), w.user(), grid.JobID(fmt.Sprint("j", max(0, w.n(-3, 1, "job"))))
	_, e := w.of(id)
	r, why := w.book.Bind(w.now, id, job, user)
	may := e != nil && e.Kind == grid.NodesReserved && e.Holder == user && (e.State == grid.Confirmed || e.State == grid.Bound || e.State == grid.Active) && (e.For == "" || e.For == job)
	if may != (why == nil) {
		w.Fatalf("bound %+v: %v", e, why)
	}
	if may && e.State == grid.Confirmed {
		e.State, e.For = grid.Bound, job
		if r.Holding == grid.Changing && e.Holding == grid.Placed { // it begins early: only where that is free
			if to := (&entry{Reservation: r, at: []grid.Place{r.Place()}}); !r.Early || r.Start >= e.Start || r.Start < w.now || !w.twin.free(to) {
				w.Fatalf("it was moved from %v to %v at %v", e.Start, r.Start, w.now)
			}
			e.at = []grid.Place{r.Place(), e.at[0]}
			e.Start, e.End, e.Holding = r.Start, r.End, grid.Changing
		}
	}
}

func (w *world) job() {
	id, job := w.id(), grid.JobID(fmt.Sprint("j", max(0, w.n(-3, 1, "job"))))
	_, e := w.of(id)
	mine := e != nil && e.For == job
	switch w.n(0, 2, "word") {
	case 0:
		w.book.Arrived(w.now, id, job)
		if mine && e.State == grid.Bound && e.Came == 0 {
			e.Came = w.now
		}
	case 1:
		w.book.Started(w.now, id, job)
		if mine && e.State == grid.Bound {
			e.State, e.Came = grid.Active, w.now
		}
	default:
		w.book.Left(w.now, id, job, "")
		if mine && (e.State == grid.Confirmed || e.State == grid.Bound || e.State == grid.Active) {
			if e.State = grid.Released; e.Holding != grid.NotPlaced {
				e.Holding = grid.Ending
			}
		}
	}
}

func (w *world) change() {
	id, by := w.id(), w.user()
	r, e := w.of(id)
	if e == nil || r.Holder.Home != by.Home || r.State.Over() {
		return
	}
	wish := Wish{Number: r.Number + uint64(w.n(0, 1, "number")), For: r.For, Place: w.place()}
	if w.n(0, 1, "unbind") == 0 {
		wish.For, wish.Place = "", r.Place()
	}
	if r.Kind == grid.DeliveryReserved {
		wish.Place.Nodes = nil
	}
	was := e.Reservation
	got, why := w.book.Change(w.now, id, by.Home, wish)
	switch {
	case wish.Number == r.Number:
		if why != nil || got.Start != r.Start {
			w.Fatalf("an old wish: %+v, %v", got, why)
		}
		return
	case e.Holding == grid.Making || e.Holding == grid.Changing, wish.For != e.For && (e.State == grid.Tentative || e.State == grid.Active):
		if why == nil {
			w.Fatalf("%+v was changed by %+v", e, wish)
		}
		return
	}
	to := &entry{Reservation: e.Reservation, at: []grid.Place{wish.Place}}
	to.Nodes, to.Start, to.End = wish.Place.Nodes, wish.Place.Start, wish.Place.End
	moves := !same(wish.Place, e.Place())
	grows := to.Start == e.Start && len(to.Nodes) == len(e.Nodes) && share(append(to.Nodes, "none"), append(e.Nodes, "none")) && to.End >= e.End && same(grid.Place{Nodes: to.Nodes}, grid.Place{Nodes: e.Nodes})
	may := !moves || to.End > w.now && !tooLate(to, w.now) && w.twin.within(to) && w.twin.free(to) && (e.State != grid.Active || grows)
	if may != (why == nil) {
		w.Fatalf("changing %+v by %+v: %v", e, wish, why)
	}
	if !may {
		return
	}
	if moves {
		e.at = []grid.Place{wish.Place}
		if e.Holding == grid.Placed {
			e.Holding, e.at = grid.Changing, append(e.at, was.Place())
		}
		e.Nodes, e.Start, e.End = wish.Place.Nodes, wish.Place.Start, wish.Place.End
	}
	if e.State == grid.Confirmed || e.State == grid.Bound {
		if e.For = wish.For; e.For == "" && e.State == grid.Bound {
			e.State, e.Came = grid.Confirmed, 0
		}
	}
	w.twin.to(w.now)
	w.book.Pass(w.now)
}

func (w *world) maintain() {
	p := w.place()
	if w.n(0, 3, "all") == 0 {
		p.Nodes = nil
	}
	w.twin.rules.Maintenance = []Window{{Name: "pump", Nodes: p.Nodes, Start: p.Start, End: p.End}}
	w.twin.to(w.now)
	w.book.SetRules(w.now, w.twin.rules)
}

// compare looks at all of both.
func (w *world) compare() {
	w.twin.to(w.now)
	w.book.Pass(w.now)
	if err := w.book.Check(w.now); err != nil {
		w.Fatal(err)
	}
	for id, e := range w.twin.all {
		r, known := w.book.Get(id)
		if !known || r.State != e.State || r.Holding != e.Holding || r.Start != e.Start || r.End != e.End || r.For != e.For && !r.State.Over() {
			w.Fatalf("at %v the book has %s as %+v, the twin as %+v", w.now, id, r, e.Reservation)
		}
	}
	if next := w.book.Next(); next != 0 && next <= w.now {
		w.Fatalf("something was due at %v, and it is %v", next, w.now)
	}
}

// The book and its twin say the same of all that can be said to them.
func TestBookAndTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := Rules{
			Offered: true,
			Limit:   span(12), Member: Quota{Number: 4, NodeSeconds: 200, Horizon: span(100)}, User: Quota{Number: 3, NodeSeconds: 120, Horizon: span(80)},
			Deliveries: Quota{Number: 2, NodeSeconds: 1, Horizon: span(90)},
			Uplink:     8, Keep: grid.Day,
		}
		w := &world{T: t, book: New(rules, nil), twin: &twin{rules: rules, all: map[grid.ReservationID]*entry{}}}
		words := []func(){w.reserve, w.reserve, w.made, w.made, w.confirm, w.confirm, w.bind, w.bind, w.job, w.job, w.release, w.change, w.ended, w.pass, w.maintain}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			words[w.n(0, len(words)-1, "word")]()
			w.compare()
			if w.n(0, 9, "restart") == 0 {
				w.book = New(w.book.Rules(), w.book.All())
			}
		}
	})
}
