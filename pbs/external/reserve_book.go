package external

import "context"

// book is what the batch system holds, read anew for one who is about to change it.
type book struct {
	Reserver
	listing Listing
	all     []Reservation
}

// openBook reads it; nobody else changes a reservation until done.
func (s *System) openBook(ctx context.Context) (b book, done func(), err error) {
	if b.Reserver, err = s.reserver(); err != nil {
		return b, nil, err
	}
	if done, err = s.alone(ctx, "reservations"); err != nil {
		return b, nil, err
	}
	got, err := s.poller.fresh(ctx)
	if err == nil {
		b.listing = got.Listing
		b.all, err = b.Reservations(ctx)
	}
	if err != nil {
		done()
		return b, nil, err
	}
	return b, done, nil
}
