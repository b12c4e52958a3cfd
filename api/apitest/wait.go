package apitest

import (
	"context"

	"gbroker/api"
	"gbroker/grid"
)

// Wait waits for a change of state.
func (s *Service) Wait(ctx context.Context, who api.Identity, id grid.JobID, since grid.State) (grid.Record, error) {
	return s.until(ctx, who, id, func(r *grid.Record) bool { return r.State != since || r.State.Terminal() })
}

func (s *Service) until(ctx context.Context, who api.Identity, id grid.JobID, done func(*grid.Record) bool) (grid.Record, error) {
	for {
		s.mu.Lock()
		j, err := s.find(who, id)
		if err != nil {
			s.mu.Unlock()
			return grid.Record{}, err
		}
		r, changed := j.record, s.changed
		s.mu.Unlock()
		if done(&r) {
			return r, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r, nil
		}
	}
}

func (s *Service) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}
