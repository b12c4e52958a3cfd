package external

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"

	"go.uber.org/zap"
)

// Withdraw decides by the start token, and takes the job out of the queue; where the batch
// system does not answer, that is tried again until a good listing shows it no more.
func (s *System) Withdraw(ctx context.Context, at grid.AttemptID, dir string) (withdrawn bool, err error) {
	done, err := s.alone(ctx, at.String())
	if err != nil {
		return false, fmt.Errorf("withdrawing %s: %w", at, err)
	}
	defer done()
	e, err := s.known(ctx, at, dir)
	if err != nil {
		return false, fmt.Errorf("withdrawing %s: %w", at, err)
	}
	if e != nil && e.Blind {
		return s.withdrawBlind(ctx, e)
	}
	withdrawn, err = s.claim(at, dir)
	if err != nil {
		return false, fmt.Errorf("withdrawing %s: %w", at, err)
	}
	if withdrawn && e != nil {
		s.discard(ctx, e)
	}
	return withdrawn, nil
}

// claim takes the start token in the broker's name. One of an attempt that was seen to have
// started is not free, also where all its files are lost.
func (s *System) claim(at grid.AttemptID, dir string) (bool, error) {
	if e := s.entry(at); e != nil && s.view(e).seen >= grid.Started {
		return false, nil
	}
	self, err := control.Self()
	if err != nil {
		return false, fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	}
	_, held, err := control.Take(dir, at, control.Broker, self)
	return err == nil && held.Holder == control.Broker, err
}

// discard takes a withdrawn job out of the queue, now or later.
func (s *System) discard(ctx context.Context, e *entry) {
	if v := s.view(e); v.Done || v.Withdrawn && !v.removed.IsZero() {
		return
	}
	if err := s.change(e, func(e *entry) { e.Withdrawn = true }); err != nil {
		s.log.Warn("a withdrawal is not on disk; after a restart the job is found by its mark", zap.Stringer("attempt", e.ID), zap.Error(err))
	}
	s.remove(ctx, e)
}

// remove removes the local job of an attempt; what fails is tried again after polls, ever more seldom.
func (s *System) remove(ctx context.Context, e *entry) error {
	v := s.view(e)
	if v.Local == "" {
		return nil // found by its mark, should it appear
	}
	if err := v.removal.early(); err != nil {
		return err
	}
	j, did, err := s.act(ctx, v.ID, v.Local, s.config.Client.Remove)
	if err != nil {
		s.mu.Lock()
		e.removal.failed(err)
		s.mu.Unlock()
		s.log.Warn("a local job cannot be removed now", zap.Stringer("attempt", v.ID), zap.Error(err))
		return err
	}
	number := s.poller.now()
	s.mu.Lock()
	e.removed, e.left, e.removal = time.Now(), number, pace{}
	s.mu.Unlock()
	if did {
		s.log.Info("a local job is removed", zap.Stringer("attempt", v.ID), zap.String("local", string(j.Local)))
		s.Poll()
	}
	return nil
}

// Kill withdraws an attempt, or asks for its end: on disk first, so that it is asked for
// again after a restart.
func (s *System) Kill(ctx context.Context, at grid.AttemptID, dir string) error {
	err := s.killByFiles(ctx, at, dir)
	if errors.Is(err, grid.ErrDamaged) {
		return s.killByListing(ctx, at)
	}
	return err
}

func (s *System) killByFiles(ctx context.Context, at grid.AttemptID, dir string) error {
	withdrawn, err := s.Withdraw(ctx, at, dir)
	if withdrawn || err != nil {
		return err
	}
	done, err := s.alone(ctx, at.String())
	if err != nil {
		return fmt.Errorf("ending %s: %w", at, err)
	}
	defer done()
	if _, ended, err := control.ReadEnd(dir, at); ended || err != nil {
		return err
	}
	if err := control.AskKill(dir, at); err != nil {
		return err
	}
	e := s.entry(at)
	if e == nil {
		return fmt.Errorf("%w: ending %s: its local job is not known here", grid.ErrUnavailable, at)
	}
	if err := s.change(e, func(e *entry) { e.Killed = true }); err != nil {
		return err
	}
	if err := s.remove(ctx, e); err != nil {
		return fmt.Errorf("ending %s: %w", at, err)
	}
	return nil
}
