package apitest

import (
	"context"
	"fmt"

	"gbroker/api"
	"gbroker/grid"
)

// Alter changes a job that waits.
func (s *Service) Alter(_ context.Context, who api.Identity, id grid.JobID, to grid.Alteration) (grid.Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.find(who, id)
	if err != nil {
		return grid.Record{}, false, err
	}
	if j.record.State >= grid.Running {
		return grid.Record{}, false, fmt.Errorf("%w: job %s is %s: only a job that waits is changed", grid.ErrInvalid, id, j.record.State)
	}
	next, err := j.record.Job.With(to)
	if err != nil {
		return grid.Record{}, false, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	j.record.Job = next
	s.wake()
	return j.record, true, nil
}

// Resubmit hands an ended job in again.
func (s *Service) Resubmit(ctx context.Context, who api.Identity, id grid.JobID, key string) (grid.Record, error) {
	r, err := s.Job(ctx, who, id)
	if err != nil {
		return r, err
	}
	if !r.State.Terminal() {
		return r, fmt.Errorf("%w: job %s has not ended", grid.ErrNotYet, id)
	}
	r, _, err = s.Submit(ctx, who, api.NewJob{Key: key, Job: r.Job})
	return r, err
}
