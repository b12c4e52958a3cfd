package broker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/reserve"
	"gbroker/wire"
)

// Reserver holds nodes in the batch system. What it makes was read back; every call may be repeated.
type Reserver interface {
	// Reserve makes a reservation, or changes the one of that name. An error that wraps grid.ErrInvalid is final.
	Reserve(ctx context.Context, r grid.Reservation, change bool) error
	Release(ctx context.Context, id grid.ReservationID) error
	Reservations(ctx context.Context) ([]core.HeldReservation, error)
}

// reserveLimit bounds one command; it is more than a batch system takes that answers at all.
const reserveLimit = 90 * time.Second

var errNoReserver = errors.New("this batch system makes no reservations")

func (b *Broker) reserve(ctx context.Context, e core.Reserve) {
	ctx, cancel := context.WithTimeout(ctx, reserveLimit)
	defer cancel()
	err := errNoReserver
	if b.ports.Reserver != nil {
		err = b.ports.Reserver.Reserve(ctx, e.Reservation, e.Change)
	}
	kind := grid.Temporary
	if errors.Is(err, grid.ErrInvalid) && !errors.Is(err, grid.ErrUnavailable) || err == errNoReserver {
		kind = grid.Permanent
	}
	b.Post(core.Reserved{ID: e.Reservation.ID, Place: e.Reservation.Place(), Err: err, Kind: kind})
}

func (b *Broker) unreserve(ctx context.Context, id grid.ReservationID) {
	ctx, cancel := context.WithTimeout(ctx, reserveLimit)
	defer cancel()
	var err error
	if b.ports.Reserver != nil {
		err = b.ports.Reserver.Release(ctx, id)
	}
	b.Post(core.Unreserved{ID: id, Err: err})
}

func (b *Broker) listReservations(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reserveLimit)
	defer cancel()
	var all []core.HeldReservation
	var err error
	if b.ports.Reserver != nil {
		if all, err = b.ports.Reserver.Reservations(ctx); err != nil {
			b.ports.Log.Warn("listing the reservations of the batch system", zap.Error(err))
		}
	}
	b.Post(core.ReservationsListed{All: all, Err: err})
}

// Reserve asks a site for a reservation of a user here, and confirms it.
func (b *Broker) Reserve(ctx context.Context, at grid.PeerID, m wire.Reserve) (r grid.Reservation, slack grid.Tick, err error) {
	a, err := b.request(ctx, func(t core.Token) core.Request { return core.ReserveRequest{Token: t, To: at, Reserve: m} })
	return a.Reservation, a.Slack, err
}

// Release gives a reservation up, which the caller may do.
func (b *Broker) Release(ctx context.Context, id grid.ReservationID, by string) (grid.Reservation, error) {
	a, err := b.request(ctx, func(t core.Token) core.Request { return core.ReleaseRequest{Token: t, ID: id, By: by} })
	return a.Reservation, err
}

// ChangeReservation gives a reservation another place, which the caller may do; what is 0 stays.
func (b *Broker) ChangeReservation(ctx context.Context, id grid.ReservationID, start, length grid.Tick, nodes int) (grid.Reservation, error) {
	a, err := b.request(ctx, func(t core.Token) core.Request {
		return core.ChangeRequest{Token: t, ID: id, Start: start, Length: length, Nodes: nodes}
	})
	return a.Reservation, err
}

// Reserves tells whether the batch system makes reservations for this broker.
func (b *Broker) Reserves() bool { return b.ports.Reserver != nil }

// SetReserving takes up other rules of the operator.
func (b *Broker) SetReserving(rules reserve.Rules) { b.Post(core.ReservingChanged{Rules: rules}) }

// Reservation is one of [Broker.Reservations]; known is false where there is none.
func (b *Broker) Reservation(id grid.ReservationID) (r grid.Reservation, known bool) {
	is, known := b.reservations.get(string(id))
	if known {
		r = *is
	}
	return r, known
}

// Reservations are those of the nodes here, and those that users here hold elsewhere, as they were last made durable.
func (b *Broker) Reservations() []grid.Reservation {
	var list []grid.Reservation
	for _, r := range b.reservations.list() {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b grid.Reservation) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.ID, b.ID)) })
	return list
}

// Allocation is how far a co-allocated job of this home is, if it is one.
func (b *Broker) Allocation(id grid.JobID) (*grid.Allocation, bool) {
	return b.allocations.get(string(id))
}
