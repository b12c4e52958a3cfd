package wire

import "gbroker/grid"

// The kinds of reservations, between the broker of a holder and that of the site. All but the last two go
// from the holder; each is answered by Reserved, and repeated until then.
const (
	KindReserve Kind = 31 + iota
	KindReserved
	KindConfirm
	KindRelease
	KindChange
	KindReservationWord
	KindReservationAck
)

// Reserve asks for a tentative reservation. The same identifier is the same reservation. Instants are by
// the clock of the site.
type Reserve struct {
	ID     grid.ReservationID
	Holder grid.User // of the sender's site
	For    grid.JobID
	What   grid.ReservationKind
	Nodes  []grid.NodeName
	Demand grid.Demand // without Nodes: whole nodes are chosen that cover it
	Queue  grid.QueueName
	// From and Until bound it, For so long; what names its nodes fills the whole of it.
	From, Until grid.Tick
	Length      grid.Tick
	Bandwidth   int64 // of a delivery to or from the sender: bytes per second

	Limit grid.Tick // it vanishes when it was not confirmed for so long
	Grace grid.Tick // it is released when nobody has come so long after its start
	Early bool      // it may be moved to begin sooner, when its job is there
	Fee   float64   // the most that it may cost per core and hour; 0 is any price
	Sent  grid.Tick // the sender's clock
}

// Confirm keeps a tentative reservation, and renews the lease of a confirmed one.
type Confirm struct {
	ID    grid.ReservationID
	Lease grid.Tick // it is released when nothing was heard for so long; 0 is never
	Sent  grid.Tick
}

// Release gives a reservation up. A site that does not know it keeps the identifier from being used.
type Release struct {
	ID  grid.ReservationID
	Why string
}

// Change says what a reservation shall be: moved, shorter, longer, for another job or none, with other
// details. Later ones have higher numbers; all of it is done, or none.
type Change struct {
	ID         grid.ReservationID
	Number     uint64
	For        grid.JobID
	Nodes      []grid.NodeName
	Start, End grid.Tick
	Details    []grid.Variable
	Sent       grid.Tick
	// Move: nothing but its place changes; For and Details say nothing.
	Move bool
	// Count is how many nodes it shall have, where they are not named: as many as can be of those that it has. 0 is those.
	Count int
}

// Reserved answers all of them: what the reservation is now, and why what was asked was not done, if it
// was not. One that there is none of has the state 0.
type Reserved struct {
	Of          Kind             // what it answers
	Reservation grid.Reservation // what its holder may know of it
	Refusal     *grid.Refusal
	Slack       grid.Tick // it must be so much longer than its job's limit and grace
	Sent        grid.Tick // as in what it answers
	Clock       grid.Tick // the site's
}

// ReservationWord (site to holder) tells what a reservation has become. Repeated until ReservationAck.
type ReservationWord struct {
	Reservation grid.Reservation
	Clock       grid.Tick
}

// ReservationAck (holder to site): that word was heard, and is on disk.
type ReservationAck struct {
	ID  grid.ReservationID
	Seq uint64
}

func (Reserve) Kind() Kind         { return KindReserve }
func (Reserved) Kind() Kind        { return KindReserved }
func (Confirm) Kind() Kind         { return KindConfirm }
func (Release) Kind() Kind         { return KindRelease }
func (Change) Kind() Kind          { return KindChange }
func (ReservationWord) Kind() Kind { return KindReservationWord }
func (ReservationAck) Kind() Kind  { return KindReservationAck }
