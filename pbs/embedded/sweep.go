package embedded

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// sweepTime bounds the hunt for the processes of one attempt.
const sweepTime = 5 * time.Second

// disappeared ends an attempt whose supervisor vanished: what is left of its
// program is killed, and the end is written, unless the supervisor had done so.
func (s *System) disappeared(at grid.AttemptID, dir string, token control.Token, fresh bool) error {
	if _, ended, err := control.ReadEnd(dir, at); ended || err != nil {
		return err
	}
	again, err := token.Process.Rebooted()
	if err != nil {
		return err
	}
	if again { // nothing of it can be left
		s.log.Warn("a job ran when the machine was restarted", zap.Stringer("attempt", at))
		return control.WriteEnd(dir, at, control.End{
			At: control.Now(), Cause: grid.Disappeared, Detail: "the machine was restarted while it ran",
		})
	}
	run, ran, err := control.ReadRun(dir, at)
	if err != nil && !errors.Is(err, grid.ErrDamaged) { // the mark finds them too
		return err
	}
	ran = ran && err == nil
	if err := s.groups.clear(at.Tag()); err != nil {
		s.log.Warn("the control group of a job whose supervisor vanished", zap.Stringer("attempt", at), zap.Error(err))
	}
	killed, left := sweep(at, run.Leader, ran && fresh)
	s.log.Warn("a job's supervisor vanished", zap.Stringer("attempt", at),
		zap.Int("supervisor", token.Process.PID), zap.Int("killed", killed), zap.Int("left", left))
	return control.WriteEnd(dir, at, control.End{
		At: control.Now(), Cause: grid.Disappeared,
		Detail: "its supervisor ended without a word: it was killed",
	})
}

// sweep kills all processes of an attempt until none is found. Those are the ones
// with its mark in their environment; and those of the leader's session, if the
// leader lives or (fresh) just did, so that its number cannot be another's yet.
func sweep(at grid.AttemptID, leader control.Process, fresh bool) (killed, left int) {
	mark := append([]byte(supervise.Mark(at)), 0)
	deadline := time.Now().Add(sweepTime)
	for {
		session := 0
		if alive, err := leader.Alive(); err == nil && (alive || fresh) {
			session = leader.PID
		}
		left = 0
		for _, pid := range supervise.Processes() {
			if isOf(pid, mark, session) && killIf(pid, func() bool { return isOf(pid, mark, session) }) {
				left++
			}
		}
		killed += left
		if left == 0 || time.Now().After(deadline) {
			return killed, left
		}
		time.Sleep(5 * time.Millisecond) // for the kernel to end them
	}
}

// isOf tells whether a process belongs to an attempt.
func isOf(pid int, mark []byte, session int) bool {
	stat, err := control.ReadStat(pid)
	if err != nil || stat.Ended() || pid == os.Getpid() {
		return false
	}
	if session > 0 && stat.Session == session {
		return true
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	return bytes.HasPrefix(environ, mark) || bytes.Contains(environ, append([]byte{0}, mark...))
}

// killIf kills a process if it is, once its number can no more become another's,
// still the one.
func killIf(pid int, still func() bool) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ENOSYS) {
		return still() && syscall.Kill(pid, syscall.SIGKILL) == nil
	}
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return still() && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}
