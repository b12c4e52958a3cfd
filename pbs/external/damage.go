package external

import (
	"context"
	"fmt"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// Where control files are damaged or lost, the batch system says what becomes of an attempt:
// one that it shows waits or runs, one whose end it has told has ended, and so has one that good
// listings lack for long and whose identifier it does not know. Of any other nothing is known,
// least of all that it does not run. A listing that cannot be had says nothing of damage.

// progressByListing is for an attempt of which the control files say nothing that can be
// believed, for the reason why.
func (s *System) progressByListing(ctx context.Context, p grid.Progress, e *entry, why error) (grid.Progress, error) {
	got, err := s.poller.cached(ctx)
	if err != nil {
		return p, fmt.Errorf("%v; and %w", why, err)
	}
	for _, j := range s.locals(got.Jobs, p.ID) {
		if j.State == Done {
			continue
		}
		p.Local = j.Local
		switch j.State {
		case Odd:
		case Running:
			p.Phase, p.Started = grid.Started, j.Started
		default:
			p.Phase = grid.Waiting
		}
		return p, why
	}
	if e == nil {
		return p, why
	}
	var end control.End
	switch v := s.view(e); {
	case v.over != nil && v.over.NeverStarted:
		end = neverRan(*v.over)
	case v.over != nil:
		end = endOf(v, v.Killed)
	case v.Done, v.Local != "" && v.missing >= lostListings && time.Since(v.doubt) >= lostTime:
		end = control.End{At: control.Now(), Cause: grid.Disappeared, Detail: "the batch system does not know it any more"}
	default:
		return p, why
	}
	p.Phase, p.Finished, p.ExitCode, p.Signal, p.Cause = grid.Ended, end.At, end.ExitCode, end.Signal, end.Cause
	p.Detail = fmt.Sprintf("%s; its control files cannot be read: %v", end.Detail, why)
	return p, why
}

// killByListing takes an attempt out of the batch system whose control files are of no use.
func (s *System) killByListing(ctx context.Context, at grid.AttemptID) error {
	done, err := s.alone(ctx, at.String())
	if err != nil {
		return fmt.Errorf("ending %s: %w", at, err)
	}
	defer done()
	if e := s.entry(at); e != nil && s.view(e).Local != "" {
		if err := s.change(e, func(e *entry) { e.Killed = true }); err != nil {
			return err
		}
		if err := s.remove(ctx, e); err != nil {
			return fmt.Errorf("ending %s: %w", at, err)
		}
		return nil
	}
	got, err := s.poller.fresh(ctx)
	if err != nil {
		return fmt.Errorf("ending %s: %w", at, err)
	}
	for _, j := range s.locals(got.Jobs, at) {
		if _, _, err := s.act(ctx, at, j.Local, s.config.Client.Remove); err != nil {
			return fmt.Errorf("ending %s: %w", at, err)
		}
	}
	return nil
}
