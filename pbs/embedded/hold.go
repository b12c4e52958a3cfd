package embedded

import (
	"context"
	"fmt"

	"gbroker/grid"
	"gbroker/pbs"
)

var _ pbs.Holder = (*System)(nil)

// Hold keeps a waiting attempt out of every pass until Release, also over restarts.
func (s *System) Hold(_ context.Context, at grid.AttemptID, _ string) error {
	if err := s.setHeld(at, true); err != nil {
		return fmt.Errorf("holding %s: %w", at, err)
	}
	return nil
}

// Unhold lets a held attempt take part again, in its old place.
func (s *System) Unhold(_ context.Context, at grid.AttemptID, _ string) error {
	if err := s.setHeld(at, false); err != nil {
		return fmt.Errorf("releasing %s: %w", at, err)
	}
	s.kick()
	return nil
}

func (s *System) setHeld(at grid.AttemptID, held bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.known[at]
	if e == nil || !e.waiting {
		return fmt.Errorf("%w: it does not wait here", grid.ErrInvalid)
	}
	if e.spec.Held == held {
		return nil
	}
	e.spec.Held = held
	if err := s.spool(e); err != nil {
		e.spec.Held = !held
		return err
	}
	return nil
}
