package grid

import (
	"fmt"
	"strings"
	"testing"
)

// reservationTableText is the machine of a reservation's states, as docs/protocol.md shows it.
func reservationTableText() string {
	var b strings.Builder
	b.WriteString("| from |")
	for by := TheBook; by <= TheHolder; by++ {
		fmt.Fprintf(&b, " %v |", by)
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", int(TheHolder)+1) + "\n")
	for from := unreserved; from <= ReservationLost; from++ {
		name := from.String()
		if from == unreserved {
			name = "not known"
		}
		fmt.Fprintf(&b, "| %s |", name)
		for by := TheBook; by <= TheHolder; by++ {
			var list []string
			for to := unreserved; to <= ReservationLost; to++ {
				if from != to && from.CanBecome(to, by) {
					list = append(list, to.String())
				}
			}
			fmt.Fprintf(&b, " %s |", strings.Join(list, " "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// What is over stays so, whoever says otherwise; nothing is unreserved again, or tentative that was more; and a move that there is not changes nothing.
func TestReservationsAreOneMachine(t *testing.T) {
	t.Parallel()
	for by := range TheHolder + 2 {
		for from := range ReservationLost + 2 {
			for to := range ReservationLost + 2 {
				is := from
				err := is.Become(to, by)
				if moved := is != from; moved != (err == nil && from != to) || moved && is != to {
					t.Errorf("%v, and then %v of %v: %v, %v", from, to, by, is, err)
				}
				back := from.Over() || to == unreserved || to == Tentative && from != unreserved || !from.Valid() && from != unreserved || !to.Valid()
				if nobody := by == 0 || by > TheHolder; err == nil && from != to && (back || nobody) {
					t.Errorf("%v becomes %v by the word of %v", from, to, by)
				}
			}
		}
	}
}

// A line of the table says each of its moves once.
func TestTheTableOfReservationsSaysNothingTwice(t *testing.T) {
	t.Parallel()
	says := saysOnce[Teller, ReservationState](t)
	for _, m := range reservationMoves {
		says(m.by, m.from, m.to)
	}
}
