package external

import (
	"context"
	"fmt"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// Where the nodes do not see the control directories there is no start token on them. A job
// is then submitted on our hold, and released once its identifier is on disk, so that one
// whose answer was lost never starts. It is withdrawn by hold, look, remove, look: only one
// that is held and, by the system's own evidence, never started is certain not to. The token
// and the end are written here, by the listings; they are as true as those are, and a site
// that can show its folders to the nodes should.

// unblind releases a job from the hold that it was submitted on. From the first try on it may start; the hold is gone when the batch system has said so.
func (s *System) unblind(ctx context.Context, e *entry) error {
	if err := s.change(e, func(e *entry) { e.Released, e.Releasing = true, true }); err != nil {
		return err
	}
	_, done, err := s.act(ctx, e.ID, s.view(e).Local, s.config.Client.Release)
	if err != nil || !done {
		return err
	}
	return s.change(e, func(e *entry) { e.Releasing = false })
}

// aliveBlind goes on with a job of a blind site that waits or runs.
func (s *System) aliveBlind(ctx context.Context, e *entry, j Job) {
	v := s.view(e)
	switch {
	case j.State == Odd: // nothing is known of it
	case j.State == Running:
		control.Take(v.Control, v.ID, control.Supervisor, control.Process{}) // tend tells of it
	case v.seen == grid.Started && !j.NeverStarted: // put into the queue again: nothing else keeps it from a second start
		if time.Since(v.removed) >= removeAgain {
			s.remove(ctx, e)
		}
	case !v.Released || v.Releasing:
		if _, taken, err := control.ReadToken(v.Control, v.ID); err == nil && !taken { // else it was withdrawn, and that is not noted yet
			s.unblind(ctx, e)
		}
	}
}

// withdrawBlind decides by the system's evidence whether an attempt starts.
func (s *System) withdrawBlind(ctx context.Context, e *entry) (bool, error) {
	v := s.view(e)
	token, taken, err := control.ReadToken(v.Control, v.ID)
	if err != nil || taken {
		return taken && token.Holder == control.Broker, err
	}
	if v.Local != "" && v.Released {
		never, err := s.provenIdle(ctx, v)
		if err != nil {
			return false, fmt.Errorf("withdrawing %s, whose start the nodes cannot tell: %w", v.ID, err)
		}
		if !never {
			_, held, err := control.Take(v.Control, v.ID, control.Supervisor, control.Process{})
			return err == nil && held.Holder == control.Broker, err
		}
	}
	withdrawn, err := s.claim(v.ID, v.Control)
	if withdrawn {
		s.discard(ctx, e)
	}
	return withdrawn, err
}

// provenIdle holds a job, and tells whether it has never started and, being held, never will.
func (s *System) provenIdle(ctx context.Context, v entry) (bool, error) {
	for range 2 {
		j, there, err := s.look(ctx, v.ID, v.Local)
		switch {
		case err != nil:
			return false, err
		case !there:
			return false, fmt.Errorf("%w: the batch system does not know job %s", grid.ErrUnavailable, v.Local)
		case j.State == Running:
			return false, nil
		case j.State == Done, j.OurHold:
			return j.NeverStarted, nil
		}
		if err := s.config.Client.Hold(ctx, s.foreignAccount(j.User), v.Local); err != nil {
			return false, err
		}
	}
	return false, fmt.Errorf("%w: job %s does not stay held", grid.ErrUnavailable, v.Local)
}
