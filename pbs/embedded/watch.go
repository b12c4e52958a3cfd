package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// lookAgain is the pause where a control directory cannot be read.
const lookAgain = 5 * time.Second

// watch follows a job that was started, by child or before this program, until
// its end is known or ctx is done. s.watches waits for it.
func (s *System) watch(ctx context.Context, e *entry, c *child) {
	s.watches.Go(func() {
		fresh := c != nil
		if c != nil {
			s.awaitStart(ctx, e, c)
			s.awaitChild(ctx, c)
		}
		for ctx.Err() == nil {
			next, err := s.settle(e, fresh)
			switch {
			case err != nil:
				s.log.Error("nothing is known of a job that was started", zap.Stringer("attempt", e.spec.ID), zap.Error(err))
				pause(ctx, lookAgain)
			case next == nil:
				return
			default:
				fresh = awaitProcess(ctx, *next) == nil
			}
		}
	})
}

// awaitStart waits for the supervisor's word that the program was started, and before that hears
// of its arrival at a barrier.
func (s *System) awaitStart(ctx context.Context, e *entry, c *child) {
	defer context.AfterFunc(ctx, func() { c.status.SetReadDeadline(time.Unix(1, 0)) })()
	defer c.status.Close()
	for word := make([]byte, 1); ; {
		if n, _ := c.status.Read(word); n == 0 {
			return
		}
		if word[0] == supervise.Started {
			s.begins(e)
		}
		s.config.Changed(e.spec.ID)
	}
}

// awaitChild waits for the end of a supervisor that is our child, and reaps it.
func (s *System) awaitChild(ctx context.Context, c *child) {
	fd := c.pidfd
	if fd < 0 {
		var err error
		if fd, err = unix.PidfdOpen(c.pid, 0); err != nil {
			fd = -1
		}
	}
	awaitPidfd(ctx, fd, func() bool {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(c.pid, &status, syscall.WNOHANG, nil)
		return pid == c.pid || err == syscall.ECHILD
	})
}

// awaitProcess waits for the end of a process that may be no child of ours. An
// error means that it had gone before.
func awaitProcess(ctx context.Context, p control.Process) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return errGone
	}
	if err != nil {
		fd = -1
	}
	alive, err := p.Alive() // looked at after opening: fd is of this very process, or of no account
	if err != nil || !alive {
		if fd >= 0 {
			unix.Close(fd)
		}
		return errors.Join(errGone, err)
	}
	awaitPidfd(ctx, fd, func() bool {
		alive, err := p.Alive()
		if err == nil && !alive {
			syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil) // it may be our child from an earlier Run
			return true
		}
		return false
	})
	return nil
}

// awaitPidfd waits until ended says so, asking whenever fd becomes readable, or
// twice a second where fd is -1. It closes fd.
func awaitPidfd(ctx context.Context, fd int, ended func() bool) {
	if fd >= 0 && unix.SetNonblock(fd, true) == nil {
		f := os.NewFile(uintptr(fd), "pidfd")
		defer f.Close()
		defer context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })()
		if raw, err := f.SyscallConn(); err == nil {
			if err := raw.Read(func(uintptr) bool { return ended() }); err == nil || ctx.Err() != nil {
				return
			}
		}
	}
	for ctx.Err() == nil && !ended() {
		pause(ctx, 500*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// settle decides what became of a job whose supervisor is not known to live. next
// is a process to wait for; nil, and the job is settled. fresh tells that the
// supervisor's end was noticed as it happened.
func (s *System) settle(e *entry, fresh bool) (next *control.Process, err error) {
	next, err = s.settleByFiles(e, fresh)
	if errors.Is(err, grid.ErrDamaged) {
		return s.settleByProcesses(e, err)
	}
	return next, err
}

func (s *System) settleByFiles(e *entry, fresh bool) (next *control.Process, err error) {
	at, dir := e.spec.ID, e.spec.Control
	token, taken, err := s.token(at, dir)
	if err != nil {
		return nil, err
	}
	if !taken && e.spec.Part != nil {
		return s.settleAtBarrier(e)
	}
	if !taken {
		s.again(e, errors.New("it ended before it took the start token (see supervise.log in the spool)"))
		return nil, nil
	}
	if token.Holder == control.Broker {
		s.drop(at)
		return nil, nil
	}
	_, ended, err := control.ReadEnd(dir, at)
	if err != nil {
		return nil, err
	}
	if !ended {
		if token.Inferred && token.Process.PID == 0 {
			if token.Process, _, err = s.living(at); err != nil {
				return nil, err
			}
		}
		alive, err := token.Process.Alive()
		if err != nil {
			return nil, err
		}
		if alive {
			s.killAgain(at, dir, token)
			return &token.Process, nil
		}
		if err := s.disappeared(at, dir, token, fresh); err != nil {
			return nil, err
		}
	}
	s.drop(at)
	s.config.Changed(at)
	return nil, nil
}

// settleAtBarrier is for a part that has no token. It may wait; where its supervisor ended it is
// started again as long as anybody may still come.
func (s *System) settleAtBarrier(e *entry) (next *control.Process, err error) {
	a, there, err := control.ReadArrived(e.spec.Control, e.spec.ID)
	if err != nil && !errors.Is(err, grid.ErrDamaged) {
		return nil, err
	}
	arrived := e.spec.Part.Start
	if there && err == nil {
		if alive, err := a.Process.Alive(); alive || err != nil {
			return &a.Process, err
		}
		arrived = a.At
	}
	if control.Now() >= control.Patience(e.spec.Part, arrived) {
		s.giveUp(e, errors.New("nobody said at the barrier that the other parts of its job had arrived"))
		return nil, nil
	}
	s.again(e, errors.New("it ended at the barrier (see supervise.log in the spool)"))
	return nil, nil
}

// killAgain repeats a kill that was asked for before a restart.
func (s *System) killAgain(at grid.AttemptID, dir string, token control.Token) {
	if asked, err := control.KillAsked(dir, at); err == nil && asked {
		if err := terminate(token.Process); err != nil && !errors.Is(err, errGone) {
			s.log.Warn("a job cannot be told to end", zap.Stringer("attempt", at), zap.Error(err))
		}
	}
}

// errGone tells that a process is no more.
var errGone = errors.New("the process is gone")

// terminate sends SIGTERM to this very process.
func terminate(p control.Process) error {
	if p.PID <= 0 {
		return errGone
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return errGone
	case errors.Is(err, unix.ENOSYS):
		fd = -1
	case err != nil:
		return fmt.Errorf("finding process %d: %w", p.PID, err)
	default:
		defer unix.Close(fd)
	}
	alive, err := p.Alive()
	if err != nil {
		return err
	}
	if !alive {
		return errGone
	}
	if fd < 0 {
		return syscall.Kill(p.PID, syscall.SIGTERM)
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return errGone
		}
		return err
	}
	return nil
}
