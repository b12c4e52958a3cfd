package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/wrapper"
	"gbroker/plan"

	"go.uber.org/zap"
)

// Submit hands an attempt over. After a lost answer the same attempt again first looks for
// its local job; if the command takes effect later still, the start token lets one of both
// start.
func (s *System) Submit(ctx context.Context, sub grid.Submission) (grid.LocalID, error) {
	local, err := s.submit(ctx, sub)
	if err != nil {
		return "", fmt.Errorf("submitting %s: %w", sub.ID, err)
	}
	return local, nil
}

func (s *System) submit(ctx context.Context, sub grid.Submission) (grid.LocalID, error) {
	done, err := s.alone(ctx, sub.ID.String())
	if err != nil {
		return "", err
	}
	defer done()
	if err := checkSubmission(sub); err != nil {
		return "", err
	}
	_, taken, err := control.ReadToken(sub.Control, sub.ID)
	if err != nil {
		return "", err
	}
	e := s.entry(sub.ID)
	if e != nil && e.Local != "" {
		return e.Local, s.renew(e, sub, taken)
	}
	if taken || e != nil && e.Withdrawn { // it has started, or never will; what the system called it is lost
		return grid.LocalID(sub.ID.Tag()), nil
	}
	if local, err := s.recall(ctx, e, sub); local != "" || err != nil {
		return local, err
	}
	return s.hand(ctx, e, sub)
}

func checkSubmission(sub grid.Submission) error {
	if _, err := grid.ParseJobID(string(sub.ID.Job)); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	if sub.Limit <= 0 || sub.Limit > grid.MaxWalltime {
		return fmt.Errorf("%w: the limit of %d ms must be from 1 to %d", grid.ErrInvalid, sub.Limit, grid.MaxWalltime)
	}
	if !filepath.IsAbs(sub.Work) || !filepath.IsAbs(sub.Control) {
		return fmt.Errorf("%w: sandbox %q and control directory %q must be absolute paths", grid.ErrInvalid, sub.Work, sub.Control)
	}
	return nil
}

// without are the nodes besides those of the hosts; none where any will do.
func without(nodes []plan.Node, hosts []string) (names []grid.NodeName) {
	if len(hosts) == 0 {
		return nil
	}
	for i := range nodes {
		if !slices.ContainsFunc(hosts, nodes[i].Called) {
			names = append(names, nodes[i].Name)
		}
	}
	return names
}

// renew says again that a waiting attempt was submitted out of this directory: it may have
// been made again since. Of one that is to end or has ended, nothing may start out of it.
func (s *System) renew(e *entry, sub grid.Submission, taken bool) error {
	if v := s.view(e); taken || v.Withdrawn || v.Killed || v.Done {
		return nil
	}
	if said, err := control.Submitted(sub.Control, sub.ID); said || err != nil {
		return err
	}
	return control.WriteSubmit(sub.Control, sub.ID)
}

// recall finds the local job of an attempt that may have been submitted before: whose
// answer was lost, or whose spool file.
func (s *System) recall(ctx context.Context, e *entry, sub grid.Submission) (grid.LocalID, error) {
	if e == nil {
		if said, err := control.Submitted(sub.Control, sub.ID); !said || err != nil {
			return "", err
		}
	}
	got, err := s.poller.fresh(ctx)
	if err != nil {
		return "", err
	}
	for _, j := range s.locals(got.Jobs, sub.ID) {
		if j.State == Done && (j.NeverStarted || !s.config.Blind) {
			continue // the token decides; without one, what has run does not run again
		}
		if e == nil {
			e = s.newEntry(sub, s.foreignAccount(j.User))
			if err := s.enter(e); err != nil {
				return "", err
			}
		}
		s.log.Info("a submission whose answer was lost is found", zap.Stringer("attempt", sub.ID), zap.String("local", string(j.Local)))
		return j.Local, s.accepted(ctx, e, sub, j.Local)
	}
	return "", nil
}

// foreignAccount is an account as entries name it.
func (s *System) foreignAccount(user string) string {
	if user == s.config.Own {
		return ""
	}
	return user
}

func (s *System) newEntry(sub grid.Submission, as string) *entry {
	return &entry{
		ID: sub.ID, Work: sub.Work, Control: sub.Control, As: as, Queue: s.queue(sub), Demand: sub.Job.Demand,
		Limit: sub.BatchLimit(), Reservation: sub.Reservation, Part: sub.Job.Part != nil, Submitted: control.Now(), Blind: s.config.Blind,
	}
}

// enter takes up the entry of an attempt, on disk.
func (s *System) enter(e *entry) error {
	if err := s.save(e); err != nil {
		return err
	}
	s.mu.Lock()
	s.entries[e.ID] = e
	s.mu.Unlock()
	return nil
}

func (s *System) queue(sub grid.Submission) grid.QueueName {
	if sub.Job.Queue != "" {
		return sub.Job.Queue
	}
	return s.config.Queue
}

// hand hands an attempt over: spool file and control file first, then the command.
func (s *System) hand(ctx context.Context, e *entry, sub grid.Submission) (grid.LocalID, error) {
	order, err := s.order(ctx, e, sub)
	if err != nil {
		return "", err
	}
	if err := s.admit(ctx, sub, order.As); err != nil {
		return "", err
	}
	first := e == nil
	if first {
		e = s.newEntry(sub, order.As)
		if err := s.enter(e); err != nil {
			return "", err
		}
	}
	if err := control.WriteSubmit(sub.Control, sub.ID); err != nil {
		return "", err
	}
	local, err := s.config.Client.Submit(ctx, order)
	if errors.Is(err, grid.ErrInvalid) && !errors.Is(err, grid.ErrUnavailable) {
		if first { // it was refused: there is no such job, but perhaps that of an answer that was lost
			s.forget(e)
		}
		return "", err
	}
	if err != nil {
		if !errors.Is(err, grid.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
		}
		return "", fmt.Errorf("no answer, so it may have been submitted: %w", err)
	}
	return local, s.accepted(ctx, e, sub, local)
}

// accepted notes what the system calls an attempt.
func (s *System) accepted(ctx context.Context, e *entry, sub grid.Submission, local grid.LocalID) error {
	err := s.change(e, func(e *entry) { e.Local, e.answered = local, s.poller.now() })
	if err == nil {
		err = s.renew(e, sub, false)
	}
	if err == nil && e.Blind {
		err = s.unblind(ctx, e)
	}
	s.Poll()
	return err
}

// order is an attempt as the Client takes it; it refuses what this site can never run. An
// attempt that was handed over before keeps its account, and whether there is a token.
func (s *System) order(ctx context.Context, e *entry, sub grid.Submission) (o Order, err error) {
	got, err := s.poller.cached(ctx)
	if err != nil {
		return o, err
	}
	if err := s.possible(got.Listing, sub); err != nil {
		return o, err
	}
	demand, _ := plan.Form(s.ground(got.Listing), sub.Job.Demand) // what it refuses is not possible
	as, blind := "", s.config.Blind
	if e != nil {
		as, blind = e.As, e.Blind
	} else if s.config.Accounts != nil {
		if as, err = s.config.Accounts(sub.Job.User); err != nil {
			return o, err
		}
		as = s.foreignAccount(as)
	}
	if blind && sub.Job.Part != nil {
		return o, fmt.Errorf("%w: the nodes of site %s do not see control directories, so no part of a co-allocated job can wait there", grid.ErrInvalid, s.config.Site.Name)
	}
	script, err := s.script(sub, blind)
	if err != nil {
		return o, err
	}
	o = Order{
		Tag: sub.ID.Tag(), Mark: markOf(s.config.Owner, sub.ID), Script: script, Work: sub.Work,
		Log: filepath.Join(sub.Control, "wrapper.log"), Demand: demand, Queue: s.queue(sub), Limit: sub.BatchLimit(),
		Parallel: sub.Job.Program.Parallel != "" || sub.Job.Program.Dialect != "", Rerunnable: sub.Job.Rerunnable, Held: blind,
		Account: cmp.Or(sub.Job.Account, s.config.Charge), As: as, Without: without(got.Nodes, demand.Hosts),
	}
	if blind {
		o.Log = "/dev/null"
	}
	if sub.Reservation != "" {
		o.Reservation, err = s.native(ctx, sub.Reservation)
	}
	return o, err
}

// possible refuses what this site can never run: some systems take it, and it waits for ever.
func (s *System) possible(l Listing, sub grid.Submission) error {
	shot := s.ground(l)
	for i := range shot.Nodes {
		shot.Nodes[i].Down = false
	}
	q := plan.Question{Demand: sub.Job.Demand, Queue: s.queue(sub), Limit: sub.BatchLimit()}
	if r := plan.Refuse(shot, q); r != nil {
		return fmt.Errorf("%w: site %s can never run it: %s (asked %s, available %s)",
			grid.ErrInvalid, s.config.Site.Name, r.Reason, r.Asked, r.Available)
	}
	return nil
}

func (s *System) script(sub grid.Submission, blind bool) ([]byte, error) {
	w := wrapper.Spec{
		ID: sub.ID, Site: s.config.Site.Name, Work: sub.Work, Control: sub.Control, Program: sub.Job.Program, Warning: sub.Job.Warning,
		Processes: sub.Job.Demand.Processes(), Limit: max(sub.Limit, s.config.Client.Traits().Least), Grace: s.config.Grace,
		Environment: s.config.Environment, Path: s.config.Path, Starters: s.config.Starters,
		Part: sub.Job.Part, Ports: s.config.Ports, Reached: sub.Reached,
	}
	if blind {
		w.Control = ""
	}
	return wrapper.Script(w)
}
