package pool

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
)

// Checkpoint is the environment variable by which a job says that it writes a checkpoint, and which file
// or folder that is, relative to its sandbox.
const Checkpoint = grid.CheckpointVariable

// Network is the environment variable by which a job asks for the network, with any value but "" and "0".
const Network = grid.NetworkVariable

// Twice is the environment variable by which a job says that it may run on several computers at once, with any value but "" and "0".
const Twice = grid.TwiceVariable

// Submit spools an attempt; its LocalID is its tag. What no computer of the pool can ever run is refused
// with grid.ErrInvalid.
func (s *System) Submit(_ context.Context, sub grid.Submission) (grid.LocalID, error) {
	local, err := s.submit(sub)
	if err != nil {
		return "", fmt.Errorf("submitting %s: %w", sub.ID, err)
	}
	return local, nil
}

func (s *System) submit(sub grid.Submission) (grid.LocalID, error) {
	local := grid.LocalID(sub.ID.Tag())
	if err := checkSubmission(sub); err != nil {
		return "", err
	}
	_, taken, err := control.ReadToken(sub.Control, sub.ID)
	if err != nil {
		return "", err
	}
	if taken {
		return local, nil
	}
	e, err := s.accept(sub)
	switch {
	case err != nil:
		return "", err
	case e == nil:
		return local, nil
	}
	if e.Deadline != 0 {
		s.admission.Lock()
		defer s.admission.Unlock()
		if err := s.late(e); err != nil {
			return "", err
		}
	}
	if err := s.enqueue(sub, e); err != nil {
		return "", err
	}
	if e.Deadline != 0 {
		s.admission.take()
	}
	return local, nil
}

// accept makes an entry of a submission that some computer can run; nil where there is one already.
func (s *System) accept(sub grid.Submission) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[sub.ID] != nil {
		return nil, nil
	}
	e := newEntry(s.specify(sub))
	return e, s.refuse(e)
}

// enqueue lets an entry wait, once it is spooled.
func (s *System) enqueue(sub grid.Submission, e *entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[sub.ID] != nil {
		return nil
	}
	if len(s.known) >= s.config.MaxQueue {
		return fmt.Errorf("%w: the queue holds %d jobs already", grid.ErrUnavailable, len(s.known))
	}
	if err := control.WriteSubmit(sub.Control, sub.ID); err != nil {
		return err
	}
	if err := s.spool(e); err != nil {
		return err
	}
	s.known[e.id], s.byTag[e.tag] = e, e
	s.again(e)
	return nil
}

func checkSubmission(sub grid.Submission) error {
	if sub.ID.Job == "" || sub.Limit <= 0 || sub.Limit > 1<<50 {
		return fmt.Errorf("%w: job %q has the limit %d ms", grid.ErrInvalid, sub.ID.Job, sub.Limit)
	}
	if _, err := grid.ParseJobID(string(sub.ID.Job)); err != nil {
		return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	if sub.Job.User.Name == "" { // who is to be kept apart from others, and may be left out by owners
		return fmt.Errorf("%w: a pool runs jobs of users alone, and this one has none", grid.ErrInvalid)
	}
	if !filepath.IsAbs(sub.Work) || !filepath.IsAbs(sub.Control) {
		return fmt.Errorf("%w: sandbox %q and control directory %q must be absolute paths", grid.ErrInvalid, sub.Work, sub.Control)
	}
	if sub.Job.Part != nil || sub.Reservation != "" {
		return fmt.Errorf("%w: a pool has no reservations, so it takes no part of a co-allocated job", grid.ErrInvalid)
	}
	p := &sub.Job.Program
	for _, text := range slices.Concat([]string{p.Executable, p.Input, p.Output, p.Error, p.Directory}, p.Arguments) {
		if strings.ContainsRune(text, 0) {
			return fmt.Errorf("%w: %.40q has a zero byte", grid.ErrInvalid, text)
		}
	}
	for _, v := range p.Environment {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.ContainsRune(v.Value, 0) {
			return fmt.Errorf("%w: the environment variable %.40q", grid.ErrInvalid, v.Name)
		}
	}
	return nil
}

// specify is what is kept of a submission; s.mu is held.
func (s *System) specify(sub grid.Submission) record {
	s.sequence++
	p := &sub.Job.Program
	a := line.Assignment{
		Attempt: sub.ID.String(), Site: string(s.config.Site.Name),
		Job: string(sub.ID.Job), Term: sub.ID.Epoch.Term, Hop: sub.ID.Epoch.Hop, Number: sub.ID.Attempt,
		Executable: []byte(p.Executable), Input: []byte(p.Input), Output: []byte(p.Output), Error: []byte(p.Error),
		Directory: []byte(p.Directory), Parallel: p.Parallel, Dialect: string(p.Dialect),
		Warning: line.Warning{Signal: int(sub.Job.Warning.Signal), Before: int64(sub.Job.Warning.Before), Leader: sub.Job.Warning.Leader},
		Limit:   int64(sub.Limit), Grace: int64(grid.Span(s.config.Grace)), Disk: sub.Job.Demand.Disk, Owner: sub.Job.UserAtHome(),
	}
	twice := false
	for _, text := range p.Arguments {
		a.Arguments = append(a.Arguments, []byte(text))
	}
	for _, v := range p.Environment {
		a.Environment = append(a.Environment, []byte(v.Name+"="+v.Value))
		switch v.Name {
		case Checkpoint:
			a.Checkpoint = []byte(v.Value)
		case Network:
			a.Network = v.Value != "" && v.Value != "0"
		case Twice:
			twice = v.Value != "" && v.Value != "0"
		}
	}
	for _, l := range p.Limits {
		a.Limits = append(a.Limits, line.Limit{Name: string(l.Name), Value: l.Value})
	}
	r := record{
		Assignment: a, Work: sub.Work, Control: sub.Control, Expected: max(sub.Expected, 0), Age: sub.Age, Arrived: control.Now(),
		Sequence: s.sequence, Demand: sub.Job.Demand, Queue: sub.Job.Queue, Deadline: sub.Job.Terms.Deadline, Rerunnable: sub.Job.Rerunnable,
		Walltime: sub.Job.Walltime, Priority: int32(sub.Job.Terms.Priority), Twice: twice,
	}
	piece := (&entry{record: r}).whole().Chunks[0]
	r.Assignment.Processes, r.Assignment.Cores, r.Assignment.Memory = piece.Processes, piece.Cores, piece.Memory
	return r
}

// Withdraw takes the start token, if nobody has, and removes the job.
func (s *System) Withdraw(_ context.Context, at grid.AttemptID, dir string) (withdrawn bool, err error) {
	self, err := control.Self()
	if err != nil {
		return false, fmt.Errorf("%w: withdrawing %s: %w", grid.ErrUnavailable, at, err)
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.known[at]; e != nil {
		s.drop(e)
	}
	return true, nil
}

// takeBack drops an attempt whose control files are of no use, if no computer was told to start it: nobody
// can, without them.
func (s *System) takeBack(at grid.AttemptID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.known[at]
	if e == nil || e.stint != "" || e.count > 0 {
		return false
	}
	s.drop(e)
	return true
}

// Kill tells the computer to end a job.
func (s *System) Kill(ctx context.Context, at grid.AttemptID, dir string) error {
	withdrawn, err := s.Withdraw(ctx, at, dir)
	if errors.Is(err, grid.ErrDamaged) {
		s.endIt(at)
		return nil
	}
	if withdrawn || err != nil {
		return err
	}
	if _, ended, err := control.ReadEnd(dir, at); ended || err != nil {
		return err
	}
	if err := control.AskKill(dir, at); err != nil {
		return err
	}
	if _, err := s.adopt(at, dir); err != nil {
		return err
	}
	if e := s.endIt(at); e != nil {
		return s.finish(e, control.End{At: control.Now(), Cause: grid.ByRequest, Detail: "ended while it waited to be started again"}, grid.Usage{})
	}
	return nil
}

// endIt orders the end of an attempt; what no computer has is given back.
func (s *System) endIt(at grid.AttemptID) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.known[at]
	switch {
	case e == nil:
		return nil
	case e.stint == "":
		e.killed = true
		return e
	}
	e.killed = true
	e.computer.order()
	for _, x := range e.copies {
		x.killed = true
		x.computer.order()
	}
	return nil
}

// Progress reads the control directory, and the queue where that says nothing.
func (s *System) Progress(_ context.Context, at grid.AttemptID, dir string) (grid.Progress, error) {
	p := grid.Progress{ID: at, Local: grid.LocalID(at.Tag())}
	s.mu.Lock()
	e := s.known[at] // before the token, which may be taken meanwhile
	running := e != nil && (e.stint != "" || e.count > 0)
	s.mu.Unlock()
	token, taken, err := control.ReadToken(dir, at)
	if err != nil {
		if e != nil && !running {
			p.Phase = grid.Waiting
		}
		return p, fmt.Errorf("looking for %s: %w", at, err)
	}
	switch {
	case !taken && e != nil:
		p.Phase = grid.Waiting
		return p, nil
	case !taken:
		return p, nil
	case token.Holder == control.Broker:
		p.Phase = grid.Withdrawn
		return p, nil
	}
	ended, err := control.ReadStarted(&p, dir, token)
	if ended || err != nil || e != nil {
		s.whereabouts(e, &p)
		return p, err
	}
	return s.progressOfStray(p, dir, token)
}

// progressOfStray is for an attempt that has started and is not in the spool: the pool has lost it.
func (s *System) progressOfStray(p grid.Progress, dir string, token control.Token) (grid.Progress, error) {
	there, err := s.adopt(p.ID, dir)
	if there || err != nil {
		return p, err
	}
	err = control.WriteEnd(dir, p.ID, control.End{
		At: control.Now(), Cause: grid.Disappeared, Detail: "the pool has lost its record of it, and no computer was told to start it",
	})
	if err == nil {
		_, err = control.ReadStarted(&p, dir, token)
	}
	return p, err
}

// adopt takes up an attempt that a computer was told to start and that the pool has forgotten.
func (s *System) adopt(at grid.AttemptID, dir string) (there bool, err error) {
	g, granted, err := control.ReadGrant(dir, at)
	if err != nil || !granted {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[at] != nil {
		return true, nil
	}
	if _, ended, err := control.ReadEnd(dir, at); ended || err != nil {
		return true, err
	}
	r := record{
		Assignment: line.Assignment{
			Attempt: at.String(), Site: string(s.config.Site.Name), Job: string(at.Job), Term: at.Epoch.Term, Hop: at.Epoch.Hop, Number: at.Attempt,
			Processes: 1, Cores: 1, Limit: int64(g.Limit), Grace: int64(grid.Span(s.config.Grace)),
		},
		Work: g.Work, Control: dir, Arrived: g.At,
		Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}},
	}
	e := newEntry(r) // what it was to run is not known: it is not started again
	if err := s.spool(e); err != nil {
		return false, err
	}
	s.known[e.id], s.byTag[e.tag] = e, e
	s.resume(e)
	return true, nil
}

// Hold keeps a waiting attempt out of every pass until Unhold, also over restarts.
func (s *System) Hold(_ context.Context, at grid.AttemptID, _ string) error {
	return s.setHeld("holding", at, true)
}

// Unhold lets a held attempt take part again, in its old place.
func (s *System) Unhold(_ context.Context, at grid.AttemptID, _ string) error {
	return s.setHeld("releasing", at, false)
}

func (s *System) setHeld(doing string, at grid.AttemptID, held bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.known[at]
	if e == nil || !e.waiting() || e.count > 0 {
		return fmt.Errorf("%w: %s %s: it does not wait here", grid.ErrInvalid, doing, at)
	}
	if e.Held == held {
		return nil
	}
	e.Held = held
	if err := s.spool(e); err != nil {
		e.Held = !held
		return err
	}
	s.kick()
	return nil
}
