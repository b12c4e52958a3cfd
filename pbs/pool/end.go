package pool

import (
	"errors"
	"fmt"
	"os"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
	desks "gbroker/pool"

	"go.uber.org/zap"
)

// errEnding is for what comes while the end of a job is being written: its computer says it again, and learns then what became of it.
var errEnding = fmt.Errorf("%w: the end of the job is being written", grid.ErrUnavailable)

// finish writes the end of an attempt, once, and forgets it.
func (s *System) finish(e *entry, end control.End, used grid.Usage) error {
	e = e.lead()
	if used != (grid.Usage{}) {
		if err := control.WriteUsage(e.Control, e.id, used); err != nil {
			s.log.Warn("the usage of a job cannot be written", zap.Stringer("attempt", e.id), zap.Error(err))
		}
	}
	s.mu.Lock()
	if e.ending {
		s.mu.Unlock()
		return errEnding
	}
	e.ending = true
	s.uncopyAll(e)
	s.mu.Unlock()
	s.sweep(e)
	if err := control.WriteEnd(e.Control, e.id, end); err != nil {
		s.mu.Lock()
		e.ending = false
		s.mu.Unlock()
		return err
	}
	s.mu.Lock()
	if s.known[e.id] == e {
		s.drop(e)
	}
	s.mu.Unlock()
	s.config.Changed(e.id)
	return nil
}

// cutOff is for a job whose computer cannot bring it to its end, for the reason why: it is started again
// if it may be, and else it has ended.
func (s *System) cutOff(e *entry, why string) {
	if e.of != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.uncopy(e)
		return
	}
	if asked, err := control.KillAsked(e.Control, e.id); asked && err == nil {
		s.close(e, control.End{At: control.Now(), Cause: grid.ByRequest, Detail: "its end was asked for, and then " + why})
		return
	}
	if s.succeed(e, why) {
		return
	}
	if !e.Rerunnable {
		s.close(e, control.End{At: control.Now(), Cause: grid.CutOff, Detail: why + ", and it may not be started twice"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[e.id] != e || e.ending || e.waiting() {
		return
	}
	s.log.Info("a job is started again elsewhere", zap.Stringer("attempt", e.id), zap.String("computer", e.computer.name), zap.String("why", why))
	s.again(e)
}

func (s *System) close(e *entry, end control.End) {
	if err := s.finish(e, end, grid.Usage{}); err != nil {
		s.log.Error("the end of a job cannot be written", zap.Stringer("attempt", e.id), zap.Error(err))
	}
}

// grant gives a computer the start token of its job, once.
func (s *System) grant(c *computer, tag, stint string) (line.Granted, error) {
	s.mu.Lock()
	e := c.holding(tag)
	s.mu.Unlock()
	if e == nil {
		return line.Granted{Why: "the job is not this computer's"}, nil
	}
	e.granting.Lock() // else the grant of a computer that was too late may be written over another's
	defer e.granting.Unlock()
	s.mu.Lock()
	if c.holding(tag) != e || e.killed || e.of != nil && e.of.ending {
		s.mu.Unlock()
		return line.Granted{Why: "the job is not this computer's"}, nil
	}
	if e.stint != "" {
		s.mu.Unlock()
		if e.stint != stint {
			return line.Granted{Why: "this computer had the token before, and has lost what it held"}, nil
		}
		return line.Granted{Granted: true}, nil
	}
	count, limit := e.count+1, e.limitOn(c)
	s.mu.Unlock()

	if there, err := control.Submitted(e.Control, e.id); err != nil || !there {
		return line.Granted{Why: "its control directory was thrown away"}, err
	}
	_, held, err := control.Take(e.Control, e.id, control.Supervisor, control.Process{})
	if err != nil || held.Holder != control.Supervisor {
		return line.Granted{Why: "it was withdrawn"}, err
	}
	g := control.Grant{At: control.Now(), Computer: c.name, Stint: stint, Count: count, Work: e.Work, Limit: limit, Rerunnable: e.Rerunnable}
	if e.of == nil {
		if err := control.WriteGrant(e.Control, e.id, g); err != nil {
			return line.Granted{}, err
		}
	}
	s.mu.Lock()
	e.count = count
	if e.computer == c {
		defer s.mu.Unlock()
		e.stint, e.started = stint, g.At
		return line.Granted{Granted: true}, nil
	}
	s.mu.Unlock()
	if e.of != nil {
		return line.Granted{Why: "the copy is not wanted any more"}, nil
	}
	// It was taken away meanwhile: nobody was told, and a pool that is started again must not believe it
	return line.Granted{Why: "the job is not this computer's any more"}, control.RemoveGrant(e.Control, e.id)
}

// began notes that a program was started.
func (s *System) began(c *computer, tag string, b line.Began) error {
	e, err := s.held(c, tag, b.Stint)
	if err != nil {
		return err
	}
	s.mu.Lock()
	at := clamp(control.Now()-grid.Tick(b.Ago), e.started)
	e.started, e.began, e.foreseen = at, at, c.forecast.End(at, e.work())
	if e.foreseen == desks.Never {
		e.foreseen = 0
	}
	s.mu.Unlock()
	if e.of != nil {
		return nil
	}
	if err := os.WriteFile(control.HostFile(e.Control, e.id), []byte(c.name+"\n"), 0o644); err != nil {
		return fmt.Errorf("%w: writing the host file of %s: %w", grid.ErrUnavailable, e.id, err)
	}
	if err := control.WriteRun(e.Control, e.id, control.Run{At: at}); err != nil {
		return err
	}
	s.config.Changed(e.id)
	return nil
}

// clamp keeps an instant that a computer tells between one that we saw and now.
func clamp(at, earliest grid.Tick) grid.Tick { return min(max(at, earliest), control.Now()) }

// held is the job of a tag, which the computer was told to start.
func (s *System) held(c *computer, tag, stint string) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds(c, tag, stint)
}

// holds is held, with s.mu.
func (s *System) holds(c *computer, tag, stint string) (*entry, error) {
	e := c.holding(tag)
	if e != nil && e.lead().ending && e.stint == stint {
		return nil, errEnding
	}
	if e == nil || e.stint == "" || e.stint != stint {
		return nil, fmt.Errorf("%w: job %s is not this computer's", grid.ErrForbidden, tag)
	}
	return e, nil
}

var causes = map[string]grid.Cause{
	line.ByItself: grid.ByItself, line.ByWalltime: grid.ByWalltime, line.ByRequest: grid.ByRequest, line.NeverRan: grid.NeverRan,
	line.Killed: grid.Disappeared, line.Unbrought: grid.Unbrought,
}

// ended takes the word of a computer that its job has ended; its output has come before.
func (s *System) ended(c *computer, tag string, told line.End) error {
	e, err := s.held(c, tag, told.Stint)
	if err != nil {
		return err
	}
	if told.Cause == line.CutOff {
		s.cutOff(e, told.Detail)
		return nil
	}
	end := control.End{ExitCode: told.ExitCode, Signal: told.Signal, Cause: causes[told.Cause], Detail: told.Detail}
	if end.Cause == grid.ByRequest {
		if asked, err := control.KillAsked(e.Control, e.id); err != nil || !asked { // nobody here wanted that
			end.Cause = grid.Disappeared
		}
	}
	if e.of != nil && end.Cause != grid.ByItself && end.Cause != grid.ByRequest { // that is its computer's matter, and not the job's
		s.refuses(c.name, tag, told.Detail)
		return nil
	}
	if end.Cause == grid.ByItself {
		if end, err = s.weigh(c, e, end); err != nil {
			return err
		}
		if end.Cause != grid.ByItself {
			end.At = control.Now()
			return s.finish(e, end, grid.Usage{})
		}
	}
	if e, err = s.win(c, tag, told.Stint); errors.Is(err, grid.ErrInvalid) {
		end = control.End{Cause: grid.Unbrought, Detail: err.Error()}
	} else if err != nil {
		return err
	}
	s.mu.Lock()
	end.At = clamp(control.Now()-grid.Tick(told.Ended), e.started)
	if end.Cause == grid.ByItself {
		s.noteEnd(e, end.At)
	}
	s.mu.Unlock()
	used := grid.Usage{CPU: grid.Tick(told.CPU), Memory: told.Memory}
	if end.Cause == grid.NeverRan {
		used = grid.Usage{}
	}
	return s.finish(e, end, used)
}
