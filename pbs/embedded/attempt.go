package embedded

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/plan"
)

// Submit spools an attempt; its LocalID is its tag. A demand that this site can
// never hold is refused with grid.ErrInvalid.
func (s *System) Submit(_ context.Context, sub grid.Submission) (grid.LocalID, error) {
	local := grid.LocalID(sub.ID.Tag())
	if err := s.checkSubmission(sub); err != nil {
		return "", fmt.Errorf("submitting %s: %w", sub.ID, err)
	}
	_, taken, err := control.ReadToken(sub.Control, sub.ID)
	if err != nil {
		return "", fmt.Errorf("submitting %s: %w", sub.ID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if taken || s.known[sub.ID] != nil {
		return local, nil
	}
	if err := s.checkBinding(sub); err != nil {
		return "", fmt.Errorf("submitting %s: %w", sub.ID, err)
	}
	if len(s.known) >= s.config.MaxQueue {
		return "", fmt.Errorf("%w: submitting %s: the queue holds %d jobs already", grid.ErrUnavailable, sub.ID, len(s.known))
	}
	e := &entry{spec: s.specify(sub)}
	if err := s.spool(e); err != nil {
		return "", fmt.Errorf("submitting %s: %w", sub.ID, err)
	}
	s.known[sub.ID] = e
	s.enqueue(e)
	s.kick()
	return local, nil
}

func (s *System) checkSubmission(sub grid.Submission) error {
	if sub.ID.Job == "" || sub.Limit <= 0 || sub.Limit > 1<<50 {
		return fmt.Errorf("%w: job %q has the limit %d ms", grid.ErrInvalid, sub.ID.Job, sub.Limit)
	}
	if _, err := grid.ParseJobID(string(sub.ID.Job)); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	if !filepath.IsAbs(sub.Work) || !filepath.IsAbs(sub.Control) {
		return fmt.Errorf("%w: sandbox %q and control directory %q must be absolute paths", grid.ErrInvalid, sub.Work, sub.Control)
	}
	up := slices.Clone(s.config.Nodes)
	for i := range up {
		up[i].Down = false
	}
	if r := plan.Refuse(plan.Snapshot{Site: s.config.Site, Nodes: up, Queues: s.config.Queues},
		plan.Question{Demand: sub.Job.Demand, Queue: sub.Job.Queue, Limit: sub.Limit}); r != nil {
		return fmt.Errorf("%w: site %s can never run it: %s (asked %s, available %s)",
			grid.ErrInvalid, s.config.Site.Name, r.Reason, r.Asked, r.Available)
	}
	return nil
}

func (s *System) specify(sub grid.Submission) *supervise.Spec {
	s.sequence++
	return &supervise.Spec{
		ID: sub.ID, Name: sub.Job.Name, Work: sub.Work, Control: sub.Control,
		Limit: sub.Limit, Expected: max(sub.Expected, 0), Age: sub.Age,
		Arrived: control.Now(), Sequence: s.sequence, Grace: grid.Span(s.config.Grace),
		Site: s.config.Site.Name, Path: s.config.Path, Base: s.baseOf(&sub.Job.Demand),
		Demand: sub.Job.Demand, Queue: sub.Job.Queue, Program: sub.Job.Program, Warning: sub.Job.Warning,
		Reservation: sub.Reservation, FileLimit: s.config.FileLimit, Part: sub.Job.Part, Ports: s.config.Ports,
	}
}

// Withdraw takes the start token, if nobody has, and removes the job.
func (s *System) Withdraw(_ context.Context, at grid.AttemptID, dir string) (withdrawn bool, err error) {
	self, err := control.Self()
	if err != nil {
		return false, fmt.Errorf("%w: withdrawing %s: %w", grid.ErrUnavailable, at, err)
	}
	if held, taken, err := s.token(at, dir); taken && err == nil && held.Holder != control.Broker {
		return false, nil
	}
	_, held, err := control.Take(dir, at, control.Broker, self)
	if errors.Is(err, grid.ErrDamaged) && s.takeBack(at) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("withdrawing %s: %w", at, err)
	}
	if held.Holder != control.Broker {
		return false, nil
	}
	s.drop(at)
	return true, nil
}

// Kill tells the supervisor to end its program.
func (s *System) Kill(ctx context.Context, at grid.AttemptID, dir string) error {
	err := s.killByFiles(ctx, at, dir)
	if errors.Is(err, grid.ErrDamaged) {
		return s.killByProcesses(at)
	}
	return err
}

func (s *System) killByFiles(ctx context.Context, at grid.AttemptID, dir string) error {
	withdrawn, err := s.Withdraw(ctx, at, dir)
	if withdrawn || err != nil {
		return err
	}
	if _, ended, err := control.ReadEnd(dir, at); ended || err != nil {
		return err
	}
	if err := control.AskKill(dir, at); err != nil {
		return err
	}
	token, _, err := s.token(at, dir)
	if err != nil {
		return err
	}
	if token.Inferred && token.Process.PID == 0 {
		return s.killByProcesses(at)
	}
	err = terminate(token.Process)
	if errors.Is(err, errGone) { // ended, or vanished
		_, err = s.Progress(ctx, at, dir)
	}
	if err != nil {
		return fmt.Errorf("%w: ending %s: %w", grid.ErrUnavailable, at, err)
	}
	return nil
}

// Progress reads the control directory, and the queue where that says nothing. Where its
// files are damaged the error says so, and the progress what the processes here tell.
func (s *System) Progress(_ context.Context, at grid.AttemptID, dir string) (grid.Progress, error) {
	p := grid.Progress{ID: at, Local: grid.LocalID(at.Tag())}
	s.mu.Lock()
	e := s.known[at] // before the token, which may be taken meanwhile
	waiting, busy := e != nil && e.waiting, e != nil && !e.waiting
	s.mu.Unlock()
	got, err := s.progressByFiles(p, e != nil, busy, dir)
	if !errors.Is(err, grid.ErrDamaged) {
		return got, err
	}
	told, err := s.progressByProcesses(p, waiting, err)
	if told.Phase == grid.Ended { // its end may have been written between the two looks
		if got, err := s.progressByFiles(p, false, false, dir); !errors.Is(err, grid.ErrDamaged) {
			return got, err
		}
	}
	return told, err
}

func (s *System) progressByFiles(p grid.Progress, known, busy bool, dir string) (grid.Progress, error) {
	token, taken, err := s.token(p.ID, dir)
	if err != nil {
		return p, fmt.Errorf("looking for %s: %w", p.ID, err)
	}
	control.AddArrival(&p, dir)
	switch {
	case !taken && known:
		p.Phase = grid.Waiting
		return p, nil
	case !taken:
		return p, nil
	case token.Holder == control.Broker:
		p.Phase = grid.Withdrawn
		return p, nil
	}
	ended, err := control.ReadStarted(&p, dir, token)
	if ended || err != nil || busy {
		return p, err
	}
	return s.progressOfStray(p, dir, token)
}

// progressOfStray is for an attempt that has started and is not in the spool.
func (s *System) progressOfStray(p grid.Progress, dir string, token control.Token) (grid.Progress, error) {
	alive, err := token.Process.Alive()
	if err == nil && token.Inferred && !alive {
		_, alive, err = s.living(p.ID)
	}
	if alive || err != nil {
		return p, err
	}
	if err := s.disappeared(p.ID, dir, token, false); err != nil {
		return p, err
	}
	_, err = control.ReadStarted(&p, dir, token)
	return p, err
}
