package apitest

import (
	"cmp"
	"context"
	"fmt"

	"gbroker/api"
	"gbroker/grid"
)

// Reserve makes a reservation of nodes n1, n2 and so on.
func (s *Service) Reserve(_ context.Context, who api.Identity, n api.NewReservation) (grid.Reservation, error) {
	_, self := s.Self()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := grid.Reservation{
		ID: grid.ReservationID(fmt.Sprint("r", len(s.reserved)+1)), Kind: grid.NodesReserved, Site: self, Holder: grid.User{Home: self, Name: who.Name},
		Start: n.From, End: n.From + n.Length, State: grid.Confirmed,
	}
	for i := range n.Demand.Chunks[0].Count {
		r.Nodes = append(r.Nodes, grid.NodeName(fmt.Sprint("n", i+1)))
	}
	if s.fail == nil {
		s.reserved = append(s.reserved, r)
		s.moved(api.KindReservation, string(r.ID))
	}
	return r, s.fail
}

// Budgets are none.
func (s *Service) Budgets(context.Context, api.Identity) ([]grid.Budget, error) {
	return nil, nil
}

// Reservations lists them.
func (s *Service) Reservations(context.Context, api.Identity) ([]grid.Reservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reserved, s.fail
}

// Release gives one up.
func (s *Service) Release(_ context.Context, _ api.Identity, id grid.ReservationID) (grid.Reservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.reserved {
		if s.reserved[i].ID == id {
			s.reserved[i].State = grid.Released
			s.moved(api.KindReservation, string(id))
			return s.reserved[i], s.fail
		}
	}
	return grid.Reservation{}, fmt.Errorf("%w: reservation %s", grid.ErrNotFound, id)
}

// ChangeReservation gives one another place, all that is asked for.
func (s *Service) ChangeReservation(_ context.Context, _ api.Identity, id grid.ReservationID, to api.NewPlace) (grid.Reservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.reserved {
		if r := &s.reserved[i]; r.ID == id {
			length := cmp.Or(to.Length, r.End-r.Start)
			r.Start = cmp.Or(to.Start, r.Start)
			r.End = r.Start + length
			for n := len(r.Nodes); n < to.Nodes; n++ {
				r.Nodes = append(r.Nodes, grid.NodeName(fmt.Sprint("n", n+1)))
			}
			s.moved(api.KindReservation, string(id))
			return *r, s.fail
		}
	}
	return grid.Reservation{}, fmt.Errorf("%w: reservation %s", grid.ErrNotFound, id)
}
