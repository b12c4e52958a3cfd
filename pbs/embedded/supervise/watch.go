package supervise

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// lingering bounds how long processes that do not die are waited for.
const lingering = 10 * time.Second

// watch waits for the leader's end, enforces the limits and clears up.
func (s *Spec) watch(leader int, signals <-chan os.Signal) control.End {
	end := control.End{Cause: grid.ByItself}
	clock := newMeter()
	walltime := clock.timer(s.Limit.Duration())
	defer walltime.Stop()
	warning := s.warning(clock)
	alone := s.vigil()
	var grace <-chan time.Time
	stop := func(cause grid.Cause, detail string) {
		if grace != nil {
			return
		}
		end.Cause, end.Detail = cause, detail
		syscall.Kill(-leader, syscall.SIGTERM)
		syscall.Kill(-leader, syscall.SIGCONT) // it may be stopped
		grace = time.After(s.Grace.Duration())
	}
	for !reapOthers(leader) {
		select {
		case got := <-signals:
			switch got {
			case syscall.SIGTERM:
				stop(s.whoStops())
			case Suspend:
				if grace == nil {
					clock.pause()
					freeze()
				}
			case Resume:
				thaw()
				clock.resume()
			}
		case <-walltime.C:
			stop(grid.ByWalltime, fmt.Sprintf("it ran for its limit of %v", s.Limit.Duration()))
		case <-alone:
			alone = nil
			if begun, err := control.Begun(s.Control, s.ID); err != nil || !begun {
				stop(grid.Alone, fmt.Sprintf("nobody said within %v that the other parts of its job had begun", s.Part.Within.Duration()))
			}
		case <-warning:
			s.warn(leader)
		case <-grace:
			syscall.Kill(-leader, syscall.SIGKILL)
			killChildren()
			grace = time.After(time.Second) // for what was just being born
		}
	}
	end.At = control.Now()
	// The leader is not reaped yet, so its number still means its group.
	syscall.Kill(-leader, syscall.SIGKILL)
	end.ExitCode, end.Signal = reap(leader)
	if end.Detail == "" {
		end.Detail = s.wroteTooMuch(end.ExitCode)
	}
	if left := clearUp(signals); left > 0 {
		complain(0, fmt.Errorf("%s: %d processes do not die", s.ID, left))
	}
	if detail := s.leaveGroup(); end.Detail == "" {
		end.Detail = detail
	}
	return end
}

// warning tells when the program is to be warned, never where it is not to be.
func (s *Spec) warning(clock *meter) <-chan time.Time {
	if s.Warning.Signal == 0 {
		return nil
	}
	return clock.timer(max(s.Limit-s.Warning.Before, 0).Duration()).C
}

// warn sends the signal by which a program asked to be warned.
func (s *Spec) warn(leader int) {
	sig := syscall.Signal(s.Warning.Signal)
	switch {
	case s.Warning.Leader:
		syscall.Kill(leader, sig)
	case s.Program.Dialect == "":
		syscall.Kill(-leader, sig)
	default: // the leader is a shell, which most signals would end
		for _, pid := range Processes() {
			if p, err := control.ReadStat(pid); err == nil && p.Session == leader && pid != leader && !p.Ended() {
				syscall.Kill(pid, sig)
			}
		}
	}
}

// wroteTooMuch says so where a program, or a child of it that a shell reports, ended by the
// signal that the limit of a file sends.
func (s *Spec) wroteTooMuch(code int) string {
	if s.FileLimit == 0 || code != 128+int(syscall.SIGXFSZ) {
		return ""
	}
	return fmt.Sprintf("a file that it wrote reached the limit of site %s, %d bytes", s.Site, s.FileLimit)
}

// whoStops tells whose SIGTERM it was.
func (s *Spec) whoStops() (grid.Cause, string) {
	if asked, err := control.KillAsked(s.Control, s.ID); asked || err != nil {
		return grid.ByRequest, "ended on request"
	}
	return grid.Disappeared, "its supervisor was told to end, but not by the broker: was the machine shut down?"
}

// reapOthers reaps what has ended, but the leader; it tells whether the leader has.
func reapOthers(leader int) bool {
	for {
		pid := peek(pAll, 0)
		if pid == leader {
			return true
		}
		if pid == 0 {
			return false
		}
		syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
}

// The kinds of waitid(2).
const pAll = 0

// peek is a child that has ended and is not reaped, or 0.
func peek(kind, id int) int {
	var info [128]byte // siginfo_t; si_pid begins the union, which is aligned to a pointer
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, uintptr(kind), uintptr(id), uintptr(unsafe.Pointer(&info[0])),
			syscall.WEXITED|syscall.WNOHANG|syscall.WNOWAIT, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return 0
		}
		const union = 12 + 4*(^uintptr(0)>>63)
		return int(*(*int32)(unsafe.Pointer(&info[union])))
	}
}

// reap is the end of the leader: exit code, or 128+n and n for signal n.
func reap(leader int) (code, sig int) {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(leader, &status, 0, nil)
		if err != syscall.EINTR {
			break
		}
	}
	if status.Signaled() {
		return 128 + int(status.Signal()), int(status.Signal())
	}
	return status.ExitStatus() & 0xff, 0
}

// used is what the processes that were reaped have used, with all that they had reaped.
// Memory is not known where none of them used more than this process does.
func used() grid.Usage {
	var u, own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return grid.Usage{}
	}
	got := grid.Usage{CPU: grid.Tick(u.Utime.Nano()+u.Stime.Nano()) / grid.Tick(time.Millisecond)}
	// A child begins in our memory, so a small program seems to have used as much as we do.
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err == nil && u.Maxrss > own.Maxrss {
		got.Memory = int64(u.Maxrss) << 10
	}
	return got
}

// clearUp kills and reaps all that the program left, level by level: the children
// of what dies become ours. It gives how many would not die.
func clearUp(signals <-chan os.Signal) (left int) {
	deadline := time.After(lingering)
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR || pid > 0:
			continue
		case err != nil: // ECHILD: none are left
			return 0
		}
		left = killChildren()
		select {
		case <-signals:
		case <-time.After(100 * time.Millisecond): // one was born while we looked
		case <-deadline:
			return left
		}
	}
}

// killChildren kills all children of this process. Until we reap them their
// numbers are theirs, so none other can be hit.
func killChildren() (killed int) {
	self := os.Getpid()
	for _, pid := range Processes() {
		if s, err := control.ReadStat(pid); err == nil && s.Parent == self && !s.Ended() {
			syscall.Kill(pid, syscall.SIGKILL)
			killed++
		}
	}
	return killed
}

// Processes lists the numbers of all processes.
func Processes() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
