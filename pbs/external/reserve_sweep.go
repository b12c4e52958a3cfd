package external

import (
	"context"

	"gbroker/grid"

	"go.uber.org/zap"
)

// sweepReservations ends, once after the start, reservations of ours that were never confirmed, or
// that the spool does not know.
func (s *System) sweepReservations(ctx context.Context) (done bool) {
	b, err := s.reserver()
	if err != nil {
		return true
	}
	free, err := s.alone(ctx, "reservations")
	if err != nil {
		return false
	}
	defer free()
	all, err := b.Reservations(ctx)
	if err != nil {
		return false
	}
	for _, x := range all {
		id, is := s.ourReservation(x)
		s.mu.Lock()
		k := s.reserved[id]
		s.mu.Unlock()
		if !is || k != nil && k.Confirmed {
			continue
		}
		s.log.Info("a reservation of a broker that ended is released", zap.String("reservation", x.Native))
		if err := b.EndReservation(ctx, x.Native); err != nil {
			s.log.Warn("a reservation cannot be released now", zap.String("reservation", x.Native), zap.Error(err))
			return false
		}
	}
	return true
}

// endReservations releases what is over, and what was never confirmed.
func (s *System) endReservations(ctx context.Context, got *poll) {
	b, err := s.reserver()
	if err != nil || len(s.overReservations(got.At)) == 0 {
		return
	}
	done, err := s.alone(ctx, "reservations")
	if err != nil {
		return
	}
	defer done()
	for _, id := range s.overReservations(got.At) {
		if err := s.endReservation(ctx, b, id); err != nil {
			s.log.Warn("a reservation that is over cannot be released now", zap.String("reservation", id), zap.Error(err))
		}
	}
}

// overReservations are the reservations whose jobs have ended, whose time is over, or that were
// never confirmed. One whose attempt was withdrawn waits for the next.
func (s *System) overReservations(now grid.Tick) (over []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.reserved {
		ended, live := 0, 0
		for _, e := range s.entries {
			switch {
			case e.Reservation != id || e.Withdrawn:
			case e.Done:
				ended++
			default:
				live++
			}
		}
		if ended > 0 && live == 0 || k.End <= now || !k.Confirmed {
			over = append(over, id)
		}
	}
	return over
}
