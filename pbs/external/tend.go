package external

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"

	"go.uber.org/zap"
)

const (
	// endComes is how long the end file may take to be seen here, through a network file
	// system, after the batch system has told the end.
	endComes = 3 * time.Second
	// lateEffect is how long a command whose answer was lost may take to have its effect.
	lateEffect = 10 * time.Minute
	// A job that has started is lost when so many good listings, over this time, lack it and
	// the system does not know its identifier.
	lostListings = 3
	lostTime     = time.Minute
	// removeAgain is how long a removal may take to have its effect.
	removeAgain = 20 * time.Second
	// maxLooks bounds how often a job is asked for that the system does not know.
	maxLooks = 20
)

// resume takes up what was asked for before a restart.
func (s *System) resume() {
	for _, e := range s.all() {
		v := s.view(e)
		if asked, err := control.KillAsked(v.Control, v.ID); err == nil && asked {
			s.mu.Lock()
			e.Killed = true
			s.mu.Unlock()
		}
	}
}

// clean forgets the attempts whose control directory is gone, and of which nothing is left.
func (s *System) clean() {
	for _, e := range s.all() {
		v := s.view(e)
		if _, err := os.Stat(v.Control); !os.IsNotExist(err) || !v.Done && v.missing < maxLooks {
			continue
		}
		if done, _ := s.begin(v.ID.String()); done != nil {
			s.forget(e)
			done()
		}
	}
}

// tend looks at the control files, and concludes what the batch system told the end of.
func (s *System) tend() {
	for _, e := range s.all() {
		v := s.view(e)
		if v.Done {
			continue
		}
		phase, err := phaseOf(v)
		if err != nil {
			continue // nothing is known while that is so
		}
		if phase == grid.Ended || phase < grid.Ended && v.over != nil && time.Since(v.overAt) >= endComes {
			done, _ := s.begin(v.ID.String())
			if done == nil {
				continue
			}
			phase = s.conclude(e, phase)
			done()
		}
		arrived := v.arrived || v.Part && phase == grid.Unknown && hasArrived(v)
		if phase != v.seen || arrived != v.arrived {
			s.mu.Lock()
			e.seen, e.arrived = phase, arrived
			s.mu.Unlock()
			s.config.Changed(v.ID)
		}
	}
}

// hasArrived tells that a part of a co-allocated job waits at its barrier.
func hasArrived(v entry) bool {
	_, there, err := control.ReadArrived(v.Control, v.ID)
	return there && err == nil
}

// phaseOf is how far an attempt is by its control files.
func phaseOf(v entry) (grid.Phase, error) {
	token, taken, err := control.ReadToken(v.Control, v.ID)
	if err != nil || !taken {
		return grid.Unknown, err
	}
	if token.Holder == control.Broker {
		return grid.Withdrawn, nil
	}
	_, ended, err := control.ReadEnd(v.Control, v.ID)
	if ended {
		return grid.Ended, err
	}
	return grid.Started, err
}

// conclude writes the end of an attempt that the batch system says has ended, unless its
// wrapper has, and is done with it.
func (s *System) conclude(e *entry, phase grid.Phase) grid.Phase {
	v := s.view(e)
	if phase != grid.Ended {
		os.ReadDir(v.Control) // a network file system looks again
		now, err := s.writeEnd(v)
		if err != nil {
			s.log.Error("the end of a job cannot be written", zap.Stringer("attempt", v.ID), zap.Error(err))
			return phase
		}
		phase = now
	}
	if phase == grid.Ended {
		s.finish(e)
	}
	return phase
}

// finish notes that nothing is left to be done for an attempt.
func (s *System) finish(e *entry) {
	if err := s.change(e, func(e *entry) { e.Done = true }); err != nil {
		s.log.Warn("the end of a job is not noted in the spool", zap.Stringer("attempt", e.ID), zap.Error(err))
	}
	s.Poll()
}

// writeEnd tells the end in the wrapper's place.
func (s *System) writeEnd(v entry) (grid.Phase, error) {
	// No process stands behind it, so it is nobody's.
	taken, held, err := control.Take(v.Control, v.ID, control.Supervisor, control.Process{})
	if err != nil {
		return grid.Unknown, err
	}
	if held.Holder == control.Broker {
		return grid.Withdrawn, nil
	}
	asked, err := control.KillAsked(v.Control, v.ID)
	if err != nil {
		return grid.Unknown, err
	}
	end := endOf(v, asked)
	taken = taken || !held.Inferred && held.Process == (control.Process{}) // by this very function, before a restart
	if taken && (!v.Blind || v.over.NeverStarted) {
		end = neverRan(*v.over)
	}
	end.At = max(end.At, held.At)
	if end.Cause != grid.NeverRan {
		if err := control.WriteUsage(v.Control, v.ID, v.used); err != nil {
			return grid.Unknown, err
		}
	}
	return grid.Ended, control.WriteEnd(v.Control, v.ID, end)
}

// neverRan is the end of a job that the system ended before its wrapper took the token.
func neverRan(j Job) control.End {
	end := control.End{At: finished(j), Cause: grid.NeverRan, Detail: "the batch system ended it before its program was started"}
	if j.End == nil {
		return end
	}
	if j.End.Cause == grid.ByRequest {
		end.Detail = "it was cancelled in the batch system, but not by the broker, before its program was started"
	}
	switch j.End.ExitCode {
	case 74:
		end.Detail += ": its control directory cannot be written on the node"
	case 75:
		end.Detail += ": the node does not see its control directory as it is here"
	}
	if j.End.Detail != "" {
		end.Detail += " (" + j.End.Detail + ")"
	}
	return end
}

func finished(j Job) grid.Tick {
	if j.Finished > 0 {
		return j.Finished
	}
	return control.Now()
}

// endOf is the end of a job that had started, in the system's word. Where its wrapper could have told its end, and has
// not, no exit code counts; where nothing but the code is known, it counts unless its node may have been restarted.
func endOf(v entry, asked bool) control.End {
	j := *v.over
	end := control.End{At: finished(j), Cause: grid.Disappeared, Detail: "its wrapper ended without a word"}
	if j.End == nil {
		return end
	}
	x := *j.End
	end.ExitCode, end.Signal = x.ExitCode&0xff, x.Signal&0x7f
	switch {
	case asked:
		end.Cause, end.Detail = grid.ByRequest, "ended on request"
	case x.NodeFail:
		end.Detail = "a node of it failed"
	case x.Cause == grid.ByWalltime:
		end.Cause, end.Detail = grid.ByWalltime, "it ran for its limit"
	case x.Cause == grid.ByRequest:
		end.Detail = "it was cancelled in the batch system, but not by the broker"
	case x.Cause == grid.ByItself && x.Signal == 0 && x.ExitCode == 75:
		end.Detail = "the batch system ended it and put it into the queue again; it was not started twice"
	case x.Cause == grid.ByItself && x.Signal == 0 && v.Blind && (x.ExitCode != 0 || !x.Unsure && !v.Shaken):
		end.Cause, end.Detail = grid.ByItself, ""
	case x.Cause == grid.ByItself && x.Signal == 0:
		end.Detail = fmt.Sprintf("its wrapper ended without a word, and the batch system says exit code %d: its node may have restarted", x.ExitCode)
	case x.Signal != 0:
		end.Detail = fmt.Sprintf("its wrapper was ended by signal %d", x.Signal)
	}
	if x.Detail != "" && end.Cause != grid.ByItself {
		end.Detail += " (" + x.Detail + ")"
	}
	return end
}

// settle takes from a good listing what it says of our attempts.
func (s *System) settle(ctx context.Context, got *poll) {
	jobs := make(map[grid.AttemptID][]Job)
	for _, j := range got.Jobs {
		if at, is := s.attempt(j); is {
			jobs[at] = append(jobs[at], j)
		}
	}
	for _, e := range s.all() {
		if ctx.Err() != nil {
			return
		}
		if v := s.view(e); v.Done && len(jobs[v.ID]) == 0 {
			continue
		}
		if done, _ := s.begin(e.ID.String()); done != nil {
			s.settleOne(ctx, got, e, jobs[e.ID])
			done()
		}
	}
	s.endReservations(ctx, got)
}

func (s *System) settleOne(ctx context.Context, got *poll, e *entry, jobs []Job) {
	mine := s.bearer(e, jobs)
	s.shake(e, mine, got.Silent)
	v := s.view(e)
	for _, j := range jobs { // submitted twice, or too late
		harmless := j.State == Running && !(v.Blind && v.Withdrawn) // it finds the token taken
		if j.Local != v.Local && j.State != Done && !harmless {
			s.act(ctx, v.ID, j.Local, s.config.Client.Remove)
		}
	}
	gone := mine == nil || mine.State == Done
	switch {
	case v.Done:
		if !gone && (mine.State != Running || s.givenUp(v)) && time.Since(v.removed) >= removeAgain {
			s.remove(ctx, e) // put into the queue again, or back from where no listing showed it
		}
	case v.Withdrawn:
		s.leave(ctx, got, e, gone)
	case mine == nil:
		s.miss(ctx, e)
	case mine.State == Done:
		s.tellOver(e, *mine)
	default:
		s.alive(ctx, e, *mine)
	}
}

// bearer is the local job of an attempt: the one whose identifier is known. Where the answer
// was lost it is any, best one that has not ended; and where there are two, of which the
// second runs and the first does not, it is the second: that one has the token.
func (s *System) bearer(e *entry, jobs []Job) *Job {
	v := s.view(e)
	var mine, other *Job
	for i := range jobs {
		switch j := &jobs[i]; {
		case j.Local == v.Local:
			mine = j
		case j.State == Running, v.Local == "" && (other == nil || other.State == Done):
			other = j
		}
	}
	settled := v.Withdrawn || v.Done && v.Local != "" || mine != nil && mine.State == Running
	if other == nil || settled {
		return mine
	}
	if err := s.change(e, func(e *entry) { e.Local = other.Local }); err != nil {
		s.log.Warn("the identifier of a local job is not on disk", zap.Stringer("attempt", v.ID), zap.Error(err))
	}
	return other
}

// shake notes that a node of a running job did not answer: what is told of its end may not be what it was.
func (s *System) shake(e *entry, j *Job, silent []grid.NodeName) {
	v := s.view(e)
	if !v.Blind || v.Shaken || j == nil || j.State != Running ||
		!slices.ContainsFunc(j.Places, func(p Place) bool { return slices.Contains(silent, p.Node) }) {
		return
	}
	if err := s.change(e, func(e *entry) { e.Shaken = true }); err != nil {
		s.log.Warn("that a node of a job did not answer is not on disk", zap.Stringer("attempt", v.ID), zap.Error(err))
	}
}

// givenUp tells that an attempt was told to have disappeared: should it be back, it must not
// run on, as the job may be running again by then.
func (s *System) givenUp(v entry) bool {
	end, there, err := control.ReadEnd(v.Control, v.ID)
	return there && err == nil && end.Cause == grid.Disappeared
}

// leave sees a withdrawn job out of the queue.
func (s *System) leave(ctx context.Context, got *poll, e *entry, gone bool) {
	v := s.view(e)
	switch {
	case !gone:
		if time.Since(v.removed) >= removeAgain {
			s.remove(ctx, e)
		}
	case v.Local == "" && control.Now()-v.Submitted < grid.Span(lateEffect):
	case got.number > max(v.left, v.answered):
		s.finish(e)
	}
}

// alive is for a job that waits or runs.
func (s *System) alive(ctx context.Context, e *entry, j Job) {
	s.mu.Lock()
	e.missing, e.doubt, e.over, e.held = 0, time.Time{}, nil, j.OurHold
	e.used = e.used.Or(usage(j))
	s.mu.Unlock()
	v := s.view(e)
	if v.Blind {
		s.aliveBlind(ctx, e, j)
	}
	if v.Killed && v.seen != grid.Ended && time.Since(v.removed) >= removeAgain {
		s.remove(ctx, e)
	}
}

// tellOver notes that the batch system has told the end of a job.
func (s *System) tellOver(e *entry, j Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.over == nil {
		e.overAt = time.Now()
	}
	e.over = &j
	e.used = e.used.Or(usage(j))
}

// usage is what a listing says that a job has used so far, as far as that can be.
func usage(j Job) grid.Usage {
	return grid.Usage{CPU: min(max(j.Usage.CPU, 0), grid.MaxUsedCPU), Memory: min(max(j.Usage.Memory, 0), grid.MaxUsedMemory)}
}

// miss is for a job that a good listing lacks: it is asked for by its identifier, and lost
// only when that is unknown too, several times. Where even the identifier is lost, a
// submission may still take effect, and more patience is needed.
func (s *System) miss(ctx context.Context, e *entry) {
	v := s.view(e)
	if v.missing >= maxLooks && v.seen != grid.Started {
		return
	}
	patience := lateEffect
	if v.Local != "" {
		patience = lostTime
		j, there, err := s.look(ctx, v.ID, v.Local)
		switch {
		case err != nil && !errors.Is(err, grid.ErrInvalid):
			return
		case there && j.State == Done:
			s.tellOver(e, j)
			return
		case there:
			s.alive(ctx, e, j)
			return
		}
	}
	s.mu.Lock()
	e.missing++
	if e.doubt.IsZero() {
		e.doubt = time.Now()
	}
	lost := e.missing >= lostListings && time.Since(e.doubt) >= patience && e.seen == grid.Started
	s.mu.Unlock()
	if lost {
		s.tellOver(e, Job{End: &End{Cause: grid.Disappeared, Detail: "the batch system does not know it any more"}})
	}
}
