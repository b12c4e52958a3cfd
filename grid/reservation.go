package grid

import (
	"fmt"
	"strings"
)

// ReservationID is what its holder calls a reservation: 1 to 24 of a-z 0-9, random.
type ReservationID string

// CheckReservationID says why s names no reservation.
func CheckReservationID(s string) error {
	if s == "" || len(s) > 24 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return fmt.Errorf("%.40q names no reservation: use 1 to 24 of a-z 0-9", s)
	}
	return nil
}

// ReservationKind is what is reserved.
type ReservationKind uint8

// Kinds of reservations. The numbers are stored and sent: append only.
const (
	NodesReserved    ReservationKind = 1 + iota // whole nodes of a site
	DeliveryReserved                            // bandwidth of a site's uplink, to a peer
)

// Valid reports that k is one of the kinds.
func (k ReservationKind) Valid() bool { return k == NodesReserved || k == DeliveryReserved }

func (k ReservationKind) String() string {
	return [...]string{"none", "nodes", "delivery"}[min(int(k), 2)]
}

// ReservationState is where a reservation is in its life:
//
//	TENTATIVE ─► CONFIRMED ◄─► BOUND ─► ACTIVE ─► RELEASED
//	    └► EXPIRED    └──────────┴──────────┴───► RELEASED, LOST
//
// It changes by [ReservationState.Become] alone.
type ReservationState uint8

// The states. The numbers are stored and sent: append only.
const (
	Tentative       ReservationState = 1 + iota // held until its limit
	Confirmed                                   // its holder means to use it
	Bound                                       // for one job, which is here or on its way
	Active                                      // that job runs
	Released                                    // over: given up, used, or nobody came
	Expired                                     // over: it was not confirmed in time
	ReservationLost                             // over: the batch system, a node or the operator took it
)

var reservationStates = [...]string{"none", "TENTATIVE", "CONFIRMED", "BOUND", "ACTIVE", "RELEASED", "EXPIRED", "LOST"}

// Valid reports that s is one of the states.
func (s ReservationState) Valid() bool { return s >= Tentative && s <= ReservationLost }

// Over reports that nothing is reserved any more.
func (s ReservationState) Over() bool { return s >= Released && s <= ReservationLost }

func (s ReservationState) String() string {
	return reservationStates[min(int(s), len(reservationStates)-1)]
}

// Holding is how far the batch system has come with a reservation of nodes.
type Holding uint8

// Holdings. The numbers are stored: append only.
const (
	NotPlaced Holding = iota // it has none, or none any more
	Making                   // it was asked for it; nobody was told that there is one
	Placed                   // it has it: it was read back
	Changing                 // it has it, and was asked to change it
	Ending                   // it was asked to end it
)

// Limits of a reservation.
const (
	MaxReservedNodes   = 10_000
	MaxReservation     = MaxWalltime + Day // length
	MaxDetails         = 64                // of one reservation
	MaxDetail          = 4096              // bytes of one
	MaxReservedRate    = int64(1) << 50    // bytes per second
	MaxReservationSpan = MaxWalltime       // limit of a tentative one, lease, grace
)

// Reservation is nodes of a site, or its bandwidth to a peer, for one holder from Start until just before
// End. The site keeps it in its book, and the broker of its holder a copy of what it heard of it.
// Instants are by the site's own clock, Start and End in whole seconds.
type Reservation struct {
	ID     ReservationID
	Kind   ReservationKind
	Site   PeerID // whose nodes they are
	Holder User   // whose broker alone may change it
	For    JobID  // the one job that may use it; "" while none is bound

	Nodes      []NodeName
	Start, End Tick
	Bandwidth  int64  // of a delivery: bytes per second
	Peer       PeerID // of a delivery: from whom

	State  ReservationState
	Reason string  // of the state, for people
	Until  Tick    // of a tentative one its limit; later the end of its lease; 0 is none
	Grace  Tick    // it is released when nobody has come so long after Start
	Came   Tick    // when its job was there, and waited in it or ran
	Early  bool    // it is moved to begin sooner, if it can, when its job is there
	Price  float64 // per core and hour, frozen
	// Details are bound to it later: ports, host lists, local names.
	Details []Variable

	// Seq grows with each change that its holder is told of; Told is the last that it has acknowledged.
	Seq, Told uint64
	// Number is that of the holder's last wish for a change.
	Number uint64
	Made   Tick // when it was asked for
	Ended  Tick // when it was over
	Cores  int  // of its nodes, together

	Holding Holding // at the site
	// Was is what the batch system has, while it is asked to change that; WasCores and WasPrice were of it.
	Was      *Place
	WasCores int
	WasPrice float64
}

// Place is where and when something is reserved.
type Place struct {
	Nodes      []NodeName
	Start, End Tick
}

// AsPlaced is what there is to tell of it: while the batch system is asked to change it, it is where it was.
func (r Reservation) AsPlaced() Reservation {
	if r.Was != nil {
		r.Nodes, r.Start, r.End, r.Cores, r.Price = r.Was.Nodes, r.Was.Start, r.Was.End, r.WasCores, r.WasPrice
		r.Was, r.WasCores, r.WasPrice = nil, 0, 0
	}
	return r
}

// Place is where and when it is.
func (r *Reservation) Place() Place { return Place{r.Nodes, r.Start, r.End} }

// Entity says that the record is that of a reservation.
func (r *Reservation) Entity() (Kind, string) { return KindReservation, string(r.ID) }

// Live reports that it takes up what it reserves, as far as the book knows.
func (r *Reservation) Live() bool { return !r.State.Over() }
