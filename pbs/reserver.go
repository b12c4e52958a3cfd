package pbs

import (
	"context"
	"errors"

	"gbroker/grid"
)

// ErrNoReservations tells that this batch system has no reservations.
var ErrNoReservations = errors.New("this batch system has no advance reservations")

// Reserver is what some batch systems can do besides: hold whole nodes for one job of
// ours over an interval. Those that cannot say so by not being one, or by
// ErrNoReservations, and take no part in co-allocation.
//
// Reservations are known by our own identifier, which the batch system keeps with them;
// every method may be repeated after a crash.
type Reserver interface {
	// Reserve makes a reservation exist as asked: it is read back before it counts. The
	// same one again changes nothing. One that would overlap another, on any of its nodes,
	// or lies on a node that is down, wraps grid.ErrInvalid and leaves nothing behind.
	Reserve(ctx context.Context, r Reservation) error
	// Change moves, shortens or lengthens a reservation of ours; on an error it is as it was.
	Change(ctx context.Context, r Reservation) error
	// Release ends a reservation; one that is not there is no error. Jobs that run in it go on.
	Release(ctx context.Context, id string) error
	// Reservations lists those of ours.
	Reservations(ctx context.Context) ([]Reservation, error)
	// Slack is how much longer than its job's limit a reservation must be.
	Slack() grid.Tick
}

// Reservation is whole nodes of this site for one job, from Start until just before End.
// A job is bound to it by grid.Submission.Reservation.
type Reservation struct {
	ID         string // 1 to 24 of a-z 0-9
	Nodes      []grid.NodeName
	Start, End grid.Tick // instants, milliseconds since 1970; systems keep whole seconds
	Account    string    // the local account whose jobs may use it; "" is the daemon's own
	// Others are the local jobs in it that are none of ours, where it is listed: access is by account, and another job of the
	// same may name it.
	Others []string
}
