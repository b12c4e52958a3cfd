package reserve

import (
	"slices"

	"gbroker/grid"
)

// Pass does what is due.
func (b *Book) Pass(now grid.Tick) {
	for _, is := range b.sorted() {
		if s, why, due := b.due(is, now); due {
			b.become(is, s, now, why)
		}
		if is.State.Over() && is.Holding == grid.NotPlaced && now >= is.Ended+b.rules.keep(is) {
			delete(b.all, is.ID)
			delete(b.changed, is.ID)
			b.gone = append(b.gone, is.ID)
		}
	}
}

func (b *Book) sorted() []*grid.Reservation {
	list := make([]*grid.Reservation, 0, len(b.all))
	for _, r := range b.all {
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y *grid.Reservation) int {
		if x.ID < y.ID {
			return -1
		}
		return 1
	})
	return list
}

// due is what a reservation becomes by time alone.
func (b *Book) due(is *grid.Reservation, now grid.Tick) (s grid.ReservationState, why string, due bool) {
	at, s, why := b.deadline(is)
	switch {
	case is.State.Over():
		return 0, "", false
	case is.State != grid.Active && b.displacedBy(is) != nil:
		return grid.ReservationLost, b.displacedBy(is).reason(), true
	}
	return s, why, at != 0 && now >= at
}

// deadline is when a reservation is over by time alone, and how.
func (b *Book) deadline(is *grid.Reservation) (at grid.Tick, s grid.ReservationState, why string) {
	if is.State.Over() {
		return 0, 0, ""
	}
	at, s, why = is.End, grid.Released, "its time is over"
	if is.State == grid.Tentative {
		s = grid.Expired
	}
	first := func(t grid.Tick, text string) {
		if t < at {
			at, why = t, text
		}
	}
	switch is.State {
	case grid.Tentative:
		if !b.rules.Without.TentativeNeverExpires {
			first(is.Until, "it was not confirmed in time")
		}
	case grid.Confirmed, grid.Bound:
		if is.Until > 0 && !b.rules.Without.LeaseNotChecked {
			first(is.Until, "its lease is over: nothing was heard of its holder")
		}
	}
	if by := comesBy(is); by > 0 {
		first(by, "nobody came")
	}
	return at, s, why
}

// comesBy is by when somebody has to come to a reservation; 0 is never.
func comesBy(is *grid.Reservation) grid.Tick {
	if is.Grace == 0 || is.Came > 0 || is.State == grid.Active || is.Kind != grid.NodesReserved {
		return 0
	}
	return is.Start + is.Grace
}

// displacedBy is the maintenance that takes the place of a reservation; nil is none.
func (b *Book) displacedBy(is *grid.Reservation) *Window {
	for i := range b.rules.Maintenance {
		w := &b.rules.Maintenance[i]
		if slices.ContainsFunc(places(is), func(p grid.Place) bool { return w.wants(is, p) }) {
			return w
		}
	}
	return nil
}

// reason is what the holder of a reservation that is displaced is told.
func (w *Window) reason() string {
	return "the operator needs its place: maintenance " + w.Name + " from " + w.Start.Stamp() + " to " + w.End.Stamp()
}

// Next is when something is due; 0 is never.
func (b *Book) Next() (next grid.Tick) {
	for _, is := range b.all {
		at, _, _ := b.deadline(is)
		if is.State.Over() && is.Holding == grid.NotPlaced {
			at = max(1, is.Ended+b.rules.keep(is))
		}
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}
