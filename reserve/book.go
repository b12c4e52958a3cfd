package reserve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
)

// Book holds the reservations of a site. It is not safe for concurrent use.
type Book struct {
	rules   Rules
	all     map[grid.ReservationID]*grid.Reservation
	changed map[grid.ReservationID]bool // since Changed was asked
	gone    []grid.ReservationID        // forgotten since
}

// New is a book with the reservations of the journal.
func New(rules Rules, list []grid.Reservation) *Book {
	b := &Book{rules: rules, all: map[grid.ReservationID]*grid.Reservation{}, changed: map[grid.ReservationID]bool{}}
	for i := range list {
		r := list[i]
		b.all[r.ID] = &r
	}
	return b
}

// Rules are those of now.
func (b *Book) Rules() Rules { return b.rules }

// SetRules are other rules; what stands in the way of a maintenance window is lost.
func (b *Book) SetRules(now grid.Tick, rules Rules) {
	b.Pass(now)
	b.rules = rules
	b.Pass(now)
}

// Get is a copy of a reservation.
func (b *Book) Get(id grid.ReservationID) (r grid.Reservation, known bool) {
	if of := b.all[id]; of != nil {
		return *of, true
	}
	return r, false
}

// All are copies of all, by start and identifier.
func (b *Book) All() []grid.Reservation {
	list := make([]grid.Reservation, 0, len(b.all))
	for _, r := range b.all {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(x, y grid.Reservation) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.ID, y.ID))
	})
	return list
}

// Changed are the reservations that have changed since it was asked last, and those that are forgotten.
func (b *Book) Changed() (changed []grid.Reservation, gone []grid.ReservationID) {
	for _, id := range slices.Sorted(maps.Keys(b.changed)) {
		if r := b.all[id]; r != nil {
			changed = append(changed, *r)
		}
	}
	clear(b.changed)
	gone, b.gone = b.gone, nil
	return changed, gone
}

// become changes the state, of which the holder is told.
func (b *Book) become(r *grid.Reservation, s grid.ReservationState, now grid.Tick, why string) {
	b.set(r, s, now, why)
	r.Seq++
}

// set changes the state without a word to the holder.
func (b *Book) set(r *grid.Reservation, s grid.ReservationState, now grid.Tick, why string) {
	if err := r.State.Become(s, grid.TheBook); err != nil {
		panic(fmt.Sprintf("reserve: %s: %v", r.ID, err))
	}
	r.Reason = why
	b.changed[r.ID] = true
	if !s.Over() {
		return
	}
	r.Ended = now
	if r.Holding != grid.NotPlaced {
		r.Holding = grid.Ending
	}
}

// found does what is due, and gives a reservation that the holder's broker may change.
func (b *Book) found(now grid.Tick, id grid.ReservationID, holder grid.PeerID) *grid.Reservation {
	b.Pass(now)
	if r := b.all[id]; r != nil && r.Holder.Home == holder {
		return r
	}
	return nil
}

// places are where the batch system may hold it.
func places(r *grid.Reservation) []grid.Place {
	switch {
	case r.State.Over() && r.Holding == grid.NotPlaced:
		return nil
	case r.Was != nil:
		return []grid.Place{r.Place(), *r.Was}
	}
	return []grid.Place{r.Place()}
}

func share(a, b []grid.NodeName) bool {
	return slices.ContainsFunc(a, func(n grid.NodeName) bool { return slices.Contains(b, n) })
}

func overlap(a, b grid.Place) bool {
	return a.Start < b.End && b.Start < a.End && share(a.Nodes, b.Nodes)
}

// Busy are the times at which the batch system may hold nodes for reservations, but for one.
func (b *Book) Busy(but grid.ReservationID) (list []grid.Place) {
	for _, r := range b.All() {
		if r.ID != but && r.Kind == grid.NodesReserved {
			list = append(list, places(b.all[r.ID])...)
		}
	}
	return list
}
