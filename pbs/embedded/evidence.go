package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/pbs/embedded/sweep"

	"go.uber.org/zap"
)

// Where control files are damaged or lost, the processes of this machine say what becomes of
// an attempt: all that it can run are here. What was seen of its start counts too, as long as
// this program remembers it.

// living tells what of an attempt runs on this machine: its supervisor, if there is one, and
// whether there is anything at all.
func (s *System) living(at grid.AttemptID) (supervisor control.Process, any bool, err error) {
	pids := supervise.Processes()
	if !slices.Contains(pids, os.Getpid()) {
		return supervisor, false, fmt.Errorf("%w: the processes of this machine cannot be listed", grid.ErrUnavailable)
	}
	mark := append([]byte(supervise.Mark(at)), 0)
	for _, pid := range pids {
		switch {
		case s.supervises(pid, at):
			any = true
			if p, err := control.Describe(pid); err == nil && s.supervises(pid, at) {
				supervisor = p
			}
		case sweep.IsOf(pid, mark, 0):
			any = true
		}
	}
	return supervisor, any, nil
}

// supervises tells whether a process was started to supervise an attempt.
func (s *System) supervises(pid int, at grid.AttemptID) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return false
	}
	words := bytes.Split(bytes.TrimSuffix(line, []byte{0}), []byte{0})
	n := len(words)
	if n < 2 || string(words[n-2]) != supervise.Command || string(words[n-1]) != s.jobs.File(at) {
		return false
	}
	stat, err := control.ReadStat(pid)
	return err == nil && !stat.Ended()
}

// token reads the start token of an attempt. That one has begun counts whatever its files say.
func (s *System) token(at grid.AttemptID, dir string) (control.Token, bool, error) {
	t, taken, err := control.ReadToken(dir, at)
	if taken || err != nil {
		return t, taken, err
	}
	s.mu.Lock()
	e := s.known[at]
	placed := e != nil && !e.waiting && e.began == 0
	s.mu.Unlock()
	if placed && programOf(at) { // its supervisor has not yet told, or we have not yet read that
		s.begins(e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e != nil && e.began > 0 {
		return control.Token{Holder: control.Supervisor, At: e.began, Inferred: true}, true, nil
	}
	return t, false, nil
}

// programOf tells whether a process of an attempt's program runs, which is more than that its supervisor does.
func programOf(at grid.AttemptID) bool {
	mark := append([]byte(supervise.Mark(at)), 0)
	return slices.ContainsFunc(supervise.Processes(), func(pid int) bool { return sweep.IsOf(pid, mark, 0) })
}

// begins notes that the program of an attempt was started.
func (s *System) begins(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.began == 0 {
		e.began = control.Now()
	}
}

// progressByProcesses is for an attempt of which the control files say nothing that can be
// believed, for the reason why.
func (s *System) progressByProcesses(p grid.Progress, waiting bool, why error) (grid.Progress, error) {
	if waiting {
		p.Phase = grid.Waiting
		return p, why
	}
	_, any, err := s.living(p.ID)
	switch {
	case err != nil:
		return p, errors.Join(why, err)
	case any:
		p.Phase = grid.Started
	default:
		p.Phase, p.Cause, p.Finished = grid.Ended, grid.Disappeared, control.Now()
		p.Detail = fmt.Sprintf("nothing of it runs, and how it ended cannot be read: %v", why)
	}
	return p, why
}

// settleByProcesses is settle for such an attempt.
func (s *System) settleByProcesses(e *entry, why error) (next *control.Process, err error) {
	supervisor, any, err := s.living(e.spec.ID)
	switch {
	case err != nil:
		return nil, errors.Join(why, err)
	case supervisor.PID > 0:
		return &supervisor, nil
	case any:
		return nil, why
	}
	s.log.Error("an attempt is gone whose control files cannot be believed", zap.Stringer("attempt", e.spec.ID), zap.Error(why))
	s.drop(e.spec.ID)
	s.config.Changed(e.spec.ID)
	return nil, nil
}

// takeBack takes an attempt out of the queue whose token cannot be taken; withdrawn is false
// if it does not wait here: nobody else could start it.
func (s *System) takeBack(at grid.AttemptID) (withdrawn bool) {
	s.mu.Lock()
	e := s.known[at]
	withdrawn = e != nil && e.waiting && e.began == 0
	s.mu.Unlock()
	if withdrawn {
		s.drop(at)
	}
	return withdrawn
}

// killByProcesses ends what runs of an attempt whose control files are of no use.
func (s *System) killByProcesses(at grid.AttemptID) error {
	if s.takeBack(at) {
		return nil
	}
	supervisor, any, err := s.living(at)
	switch {
	case err != nil:
		return err
	case supervisor.PID > 0:
		if err := terminate(supervisor); !errors.Is(err, errGone) {
			return err
		}
	case any:
		sweep.Marked(supervise.Mark(at), control.Process{}, false)
	}
	return nil
}
