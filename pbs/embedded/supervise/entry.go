package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// Exit statuses of the supervisor (those of sysexits.h).
const (
	ExitDone    = 0
	ExitUsage   = 64
	ExitSpec    = 65 // the SPECFILE is not there or wrong
	ExitControl = 74 // the control directory cannot be written
	ExitTaken   = 75 // the start token was taken: nothing ran
)

// Command is the word on the command line that makes a process a supervisor.
const Command = "supervise"

func init() {
	if len(os.Args) == 3 && os.Args[1] == Command {
		os.Exit(Main(os.Args[2:])) //house:allow exit: the daemon's other packages must not be initialised
	}
}

// Main is the supervisor; args is the SPECFILE's name. It must be called on a
// goroutine that does nothing else, in a process without other children.
func Main(args []string) int {
	runtime.LockOSThread() // the program dies with this thread (PR_SET_PDEATHSIG), which traces it
	if len(args) != 1 {
		return complain(ExitUsage, errors.New("usage: gbroker supervise SPECFILE (started by the embedded batch system)"))
	}
	s, err := Read(args[0])
	if err != nil {
		return complain(ExitSpec, err)
	}
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGCHLD, syscall.SIGHUP, syscall.SIGINT, Suspend, Resume)
	keepFilesToOurselves()
	status := takeStatusPipe()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		complain(0, fmt.Errorf("processes that leave their group will not be found: %w", errno))
	}
	self, err := control.Self()
	if err != nil {
		return complain(ExitControl, err)
	}
	if s.Part != nil {
		if code, err := s.gather(self, signals, status); err != nil {
			return complain(code, fmt.Errorf("%s at the barrier: %w", s.ID, err))
		}
	}
	taken, _, err := control.Take(s.Control, s.ID, control.Supervisor, self)
	if !taken {
		if err != nil {
			return complain(ExitControl, err)
		}
		return ExitTaken
	}
	if err != nil { // ours, but not surely on disk: running could mean running twice
		return s.finish(control.End{At: control.Now(), Cause: grid.NeverRan, Detail: err.Error()})
	}
	return s.finish(s.supervise(signals, status))
}

// supervise runs the program to its end.
func (s *Spec) supervise(signals <-chan os.Signal, status *os.File) control.End {
	if asked, err := control.KillAsked(s.Control, s.ID); err != nil || asked {
		end := control.End{At: control.Now(), Cause: grid.ByRequest, Detail: "ended before its program was started"}
		if err != nil {
			end.Cause, end.Detail = grid.NeverRan, err.Error()
		}
		return end
	}
	leader, err := s.launch()
	for full(err) { // it has not run, so that may be tried as often as is liked
		if told(signals, fullPause) {
			cause, detail := s.whoStops()
			return control.End{At: control.Now(), Cause: cause, Detail: detail + ", before its program was started: the disk was full"}
		}
		leader, err = s.launch()
	}
	if err != nil {
		return control.End{At: control.Now(), Cause: grid.NeverRan, Detail: err.Error()}
	}
	run := control.Run{At: control.Now()}
	if run.Leader, err = control.Describe(leader); err == nil {
		err = control.WriteRun(s.Control, s.ID, run)
	}
	if err != nil { // the token tells as much
		complain(0, err)
	}
	tellDaemon(status, Started)
	return s.watch(leader, signals)
}

// fullPause is how long a full disk is waited for between two trials.
const fullPause = time.Second

// full reports that err tells of a full disk, or of a user's share of it.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// told waits for at most d; true if SIGTERM came.
func told(signals <-chan os.Signal, d time.Duration) bool {
	over := time.After(d)
	for {
		select {
		case got := <-signals:
			if got == syscall.SIGTERM {
				return true
			}
		case <-over:
			return false
		}
	}
}

// finish writes the usage and the end, trying for a while where the disk is full.
func (s *Spec) finish(end control.End) int {
	if end.Cause != grid.NeverRan {
		if err := control.WriteUsage(s.Control, s.ID, used()); err != nil {
			complain(0, err) // the end does not wait for it
		}
	}
	var err error
	for range 60 {
		if err = control.WriteEnd(s.Control, s.ID, end); err == nil {
			return ExitDone
		}
		time.Sleep(time.Second) //house:allow sleep: the supervisor has nothing else to do, and nobody tells when a disk has room
	}
	return complain(ExitControl, err)
}

// keepFilesToOurselves sees to it that the program inherits none of the files that
// this process was given, some perhaps by whoever started the daemon.
func keepFilesToOurselves() {
	const closeRange, onExec = 436, 4 // CLOSE_RANGE_CLOEXEC; the same on all machines
	if _, _, errno := syscall.RawSyscall(closeRange, 3, uintptr(^uint32(0)), onExec); errno != 0 {
		for fd := 3; fd < 256; fd++ { // before Linux 5.11
			syscall.CloseOnExec(fd)
		}
	}
}

// takeStatusPipe is the pipe by which the daemon learns that the program was
// started, or nil.
func takeStatusPipe() *os.File {
	if os.Getenv(StatusVariable) == "" {
		return nil
	}
	return os.NewFile(StatusFD, "status pipe")
}

// What a supervisor tells the daemon, a byte each: that its part of a co-allocated job is at the
// barrier, and that the program was started, after which it says no more.
const (
	Started = 1 + iota
	Arrived
)

func tellDaemon(status *os.File, what byte) {
	if status == nil {
		return
	}
	status.Write([]byte{what})
	if what == Started {
		status.Close()
	}
}

// The daemon sets StatusVariable where it gives the supervisor a pipe as StatusFD.
const (
	StatusVariable = "GBROKER_SUPERVISE_STATUS"
	StatusFD       = 3
)

const prSetChildSubreaper = 36

func complain(code int, err error) int {
	fmt.Fprintf(os.Stderr, "%s supervise[%d]: %v\n", time.Now().UTC().Format(time.RFC3339), os.Getpid(), err)
	return code
}
