package external

import (
	"context"
	"errors"
	"fmt"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// Progress is told by the control files, and where they say nothing by the listing. Where they
// are damaged the error says so, and the progress what the listing tells.
func (s *System) Progress(ctx context.Context, at grid.AttemptID, dir string) (grid.Progress, error) {
	p := grid.Progress{ID: at}
	e := s.entry(at)
	if e != nil {
		p.Local = s.view(e).Local
	}
	got, err := s.progressByFiles(ctx, p, e, dir)
	if errors.Is(err, grid.ErrDamaged) {
		return s.progressByListing(ctx, p, e, err)
	}
	return got, err
}

func (s *System) progressByFiles(ctx context.Context, p grid.Progress, e *entry, dir string) (grid.Progress, error) {
	at := p.ID
	var listed grid.Usage
	if e != nil {
		listed = s.view(e).used
	}
	token, taken, err := control.ReadToken(dir, at)
	if err != nil {
		return p, fmt.Errorf("looking for %s: %w", at, err)
	}
	control.AddArrival(&p, dir)
	switch {
	case taken && token.Holder == control.Broker:
		p.Phase = grid.Withdrawn
		return p, nil
	case taken:
		ended, err := readStarted(&p, dir, token)
		switch {
		case err != nil:
		case ended:
			p.Usage = p.Usage.Or(listed)
		case e == nil:
			s.keepStarted(at, dir)
		case !s.view(e).Blind && !token.Inferred && token.Process == (control.Process{}):
			p.Phase, p.Started = grid.Waiting, 0 // writeEnd has the token, and is about to tell the end
		}
		return p, err
	}
	return s.unstarted(ctx, p, e, dir)
}

// readStarted reads what an attempt whose token is taken has written.
func readStarted(p *grid.Progress, dir string, token control.Token) (ended bool, err error) {
	if ended, err = control.ReadStarted(p, dir, token); !ended || err != nil {
		return ended, err
	}
	if p.Cause == grid.Disappeared {
		// A node may see the wish too late, through a network file system.
		asked, err := control.KillAsked(dir, p.ID)
		if err != nil {
			return false, err
		}
		if asked {
			p.Cause = grid.ByRequest
		}
	}
	return true, nil
}

// unstarted is for an attempt whose token nobody has taken.
func (s *System) unstarted(ctx context.Context, p grid.Progress, e *entry, dir string) (grid.Progress, error) {
	if e == nil {
		said, err := control.Submitted(dir, p.ID)
		if !said || err != nil {
			return p, err // never submitted
		}
	}
	got, err := s.poller.cached(ctx)
	if err != nil {
		return p, fmt.Errorf("looking for %s: %w", p.ID, err)
	}
	for _, j := range s.locals(got.Jobs, p.ID) {
		if j.State != Done {
			p.Phase, p.Local = grid.Waiting, j.Local
			return p, nil
		}
	}
	if e == nil {
		return p, nil
	}
	if v := s.view(e); !v.Done && v.Local != "" && (v.answered >= got.number || v.over != nil) {
		p.Phase = grid.Waiting // accepted since, or its end is being looked into
	}
	return p, nil
}

// Attempts lists those of ours that wait or run, or were accepted since the last look.
func (s *System) Attempts(ctx context.Context) ([]grid.AttemptID, error) {
	got, err := s.poller.cached(ctx)
	if err != nil {
		return nil, err
	}
	seen := make(map[grid.AttemptID]bool)
	var list []grid.AttemptID
	for _, j := range got.Jobs {
		at, is := s.attempt(j)
		if !is || j.State == Done || seen[at] {
			continue
		}
		seen[at] = true
		if e := s.entry(at); e == nil || !s.view(e).Done {
			list = append(list, at)
		}
	}
	for _, e := range s.all() {
		if v := s.view(e); !seen[v.ID] && since(v, got.number) {
			list = append(list, v.ID)
		}
	}
	return list, nil
}

// since tells that an attempt was accepted after a poll began, and still counts.
func since(e entry, number uint64) bool {
	return !e.Done && !e.Withdrawn && e.Local != "" && e.answered >= number
}
