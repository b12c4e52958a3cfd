package external

import (
	"context"
	"fmt"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// Hold keeps a waiting attempt from starting, until Unhold.
func (s *System) Hold(ctx context.Context, at grid.AttemptID, dir string) error {
	err := s.whileWaiting(ctx, at, dir, func(e *entry, j Job) error {
		if err := s.config.Client.Hold(ctx, s.foreignAccount(j.User), j.Local); err != nil {
			return err
		}
		// Some systems take a hold of what has just started, and let it run.
		now, there, err := s.look(ctx, at, j.Local)
		if err == nil && (!there || now.State == Running || now.State == Done) {
			err = fmt.Errorf("%w: it has started meanwhile", grid.ErrInvalid)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("holding %s: %w", at, err)
	}
	return nil
}

// Unhold ends our own hold; one that is not held stays as it is.
func (s *System) Unhold(ctx context.Context, at grid.AttemptID, dir string) error {
	err := s.whileWaiting(ctx, at, dir, func(e *entry, j Job) error {
		if !j.OurHold {
			return nil
		}
		return s.config.Client.Release(ctx, s.foreignAccount(j.User), j.Local)
	})
	if err != nil {
		return fmt.Errorf("releasing %s: %w", at, err)
	}
	return nil
}

// whileWaiting does something to an attempt that waits, right after a fresh look.
func (s *System) whileWaiting(ctx context.Context, at grid.AttemptID, dir string, do func(*entry, Job) error) error {
	done, err := s.alone(ctx, at.String())
	if err != nil {
		return err
	}
	defer done()
	_, taken, err := control.ReadToken(dir, at)
	if err != nil {
		return err
	}
	e := s.entry(at)
	if taken || e == nil || s.view(e).Local == "" {
		return fmt.Errorf("%w: it waits in no queue: it was never submitted, has started or was withdrawn", grid.ErrInvalid)
	}
	j, there, err := s.look(ctx, at, s.view(e).Local)
	if err != nil {
		return err
	}
	if !there || j.State == Running || j.State == Done {
		return fmt.Errorf("%w: job %s of the batch system waits no more", grid.ErrInvalid, s.view(e).Local)
	}
	defer s.Poll()
	return do(e, j)
}

// Status is what the batch system says of an attempt's local job now; false where it knows none.
func (s *System) Status(ctx context.Context, at grid.AttemptID) (Job, bool, error) {
	e := s.entry(at)
	if e == nil || s.view(e).Local == "" {
		return Job{}, false, nil
	}
	return s.look(ctx, at, s.view(e).Local)
}
