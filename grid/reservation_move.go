package grid

import "fmt"

// Teller is by whose word the state of a reservation changes.
type Teller uint8

// Tellers.
const (
	TheBook    Teller = 1 + iota // of its site, which decides
	TheSite                      // as its holder hears it: a word with a number, of which later ones count
	Unnumbered                   // as its holder hears it, when the word may be of before
	TheHolder                    // who gives it up, or waits for it no longer
)

func (t Teller) String() string {
	return [...]string{"nobody", "the book", "its site", "its site, unnumbered", "its holder"}[min(int(t), 4)]
}

// unreserved is the state of a reservation that is not known.
const unreserved ReservationState = 0

// reservationMoves is the machine of a reservation's states: all changes there are. The table in docs/protocol.md is made from it.
var reservationMoves = [...]struct {
	by       Teller
	from, to []ReservationState
}{
	{TheBook, []ReservationState{unreserved}, []ReservationState{Tentative, Released}}, // released: given up before it was asked for
	{TheBook, []ReservationState{Tentative}, []ReservationState{Confirmed, Released, Expired, ReservationLost}},
	{TheBook, []ReservationState{Confirmed}, []ReservationState{Bound, Released, ReservationLost}},
	{TheBook, []ReservationState{Bound}, []ReservationState{Confirmed, Active, Released, ReservationLost}},
	{TheBook, []ReservationState{Active}, []ReservationState{Released, ReservationLost}},

	// Words get lost, and the journal of a site may be put back: its holder follows it. But what was confirmed is not tentative again, as users were told.
	{TheSite, []ReservationState{unreserved}, []ReservationState{Tentative}},
	{TheSite, []ReservationState{unreserved, Tentative, Confirmed, Bound, Active}, []ReservationState{Confirmed, Bound, Active, Released, Expired, ReservationLost}},

	// Nothing is taken back, but that a job has left its reservation.
	{Unnumbered, []ReservationState{unreserved}, []ReservationState{Tentative}},
	{Unnumbered, []ReservationState{unreserved, Tentative, Bound}, []ReservationState{Confirmed}},
	{Unnumbered, []ReservationState{unreserved, Tentative, Confirmed}, []ReservationState{Bound}},
	{Unnumbered, []ReservationState{unreserved, Tentative, Confirmed, Bound}, []ReservationState{Active}},
	{Unnumbered, []ReservationState{unreserved, Tentative, Confirmed, Bound, Active}, []ReservationState{Released, Expired, ReservationLost}},

	{TheHolder, []ReservationState{Tentative, Confirmed, Bound, Active}, []ReservationState{Released}},
}

// reservationTable is reservationMoves by teller, from and to.
var reservationTable = func() (t [TheHolder + 1][ReservationLost + 1][ReservationLost + 1]bool) {
	for _, m := range reservationMoves {
		for _, from := range m.from {
			for _, to := range m.to {
				t[m.by][from][to] = true
			}
		}
	}
	return t
}()

// CanBecome reports that there is such a move. A state may always stay.
func (s ReservationState) CanBecome(t ReservationState, by Teller) bool {
	return s == t || s <= ReservationLost && t <= ReservationLost && by <= TheHolder && reservationTable[by][s][t]
}

// Become moves a state; where there is no such move it stays, and the error says so.
func (s *ReservationState) Become(t ReservationState, by Teller) error {
	if !s.CanBecome(t, by) {
		return fmt.Errorf("%w: a reservation that is %v does not become %v by the word of %v", ErrInvalid, *s, t, by)
	}
	*s = t
	return nil
}
