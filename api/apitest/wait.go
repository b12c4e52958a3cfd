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
		if !s.rest(ctx, changed) {
			return r, nil
		}
	}
}

// Resting is how many calls wait for a change just now.
func (s *Service) Resting() int { return int(s.resting.Load()) }

// rest waits for a change; false where ctx ended before.
func (s *Service) rest(ctx context.Context, changed <-chan struct{}) bool {
	s.resting.Add(1)
	defer s.resting.Add(-1)
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Service) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}
