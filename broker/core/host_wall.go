package core

import (
	"gbroker/grid"
)

// Batch systems reserve by the wall clock, and Core's time never goes back: where the wall clock was set since Core
// began, the two differ. The host moves the instants of reservations, and of parts that start in them, from the one to
// the other on their way, so that neither side knows of it.

// setWithin is how far the wall clock may be off before instants are moved anew: batch systems keep whole seconds.
const setWithin = 2 * grid.Second

// feelWall notes how far the wall clock is ahead, in whole seconds.
func (h *Host) feelWall(drift grid.Tick) {
	if far := drift - h.ahead; far > setWithin || far < -setWithin {
		h.ahead = up(drift - grid.Second/2)
	}
}

// byWall moves instants of effects to the wall clock.
func (h *Host) byWall(effects []Effect) []Effect {
	if h.ahead == 0 {
		return effects
	}
	for i, e := range effects {
		switch e := e.(type) {
		case Reserve:
			e.Reservation.Start += h.ahead
			e.Reservation.End += h.ahead
			effects[i] = e
		case Launch:
			if p := e.Submission.Job.Part; p != nil {
				part := *p
				part.Start += h.ahead
				e.Submission.Job.Part = &part
				effects[i] = e
			}
		}
	}
	return effects
}

// byCore moves instants of events to Core's time.
func (h *Host) byCore(ev Event) Event {
	if h.ahead == 0 {
		return ev
	}
	switch e := ev.(type) {
	case Reserved:
		e.Place.Start -= h.ahead
		e.Place.End -= h.ahead
		return e
	case ReservationsListed:
		all := make([]HeldReservation, len(e.All))
		for i, held := range e.All {
			held.Place.Start -= h.ahead
			held.Place.End -= h.ahead
			all[i] = held
		}
		e.All = all
		return e
	}
	return ev
}
