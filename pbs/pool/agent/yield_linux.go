package agent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// giveWay lets a process, before it starts any, have only the time that nobody else wants.
func giveWay(p *os.Process) error {
	err := syscall.Setpriority(syscall.PRIO_PROCESS, p.Pid, 19)
	if err == nil {
		err = unix.SchedSetAttr(p.Pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE, Nice: 19}, 0)
	}
	if err != nil {
		p.Kill()
		return fmt.Errorf("letting a job give way to the owner: %w", err)
	}
	return nil
}

// Yield gives each session of the program the least share. Where the kernel groups sessions (sched_autogroup_enabled, as on most desktops) they share
// the processor as equals, whatever the niceness and the policy of what is in them.
func (p *linuxProcess) Yield() error {
	if !p.idle || !grouping() {
		return nil
	}
	var all []error
	for _, pid := range p.processes() {
		if err := yield("/proc/" + strconv.Itoa(pid) + "/autogroup"); err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

func grouping() bool {
	set, err := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled")
	return err == nil && bytes.HasPrefix(set, []byte("1"))
}

// yield makes the session least whose file this is, if it is not. The kernel lets one who is not root do that ten times in a second: the next look does it then.
func yield(file string) error {
	text, err := os.ReadFile(file)
	if err != nil || bytes.Contains(text, []byte("nice 19")) {
		return gone(err)
	}
	return gone(os.WriteFile(file, []byte("19"), 0))
}

// gone is err, but for a process that has ended, or a try that comes too early.
func gone(err error) error {
	for _, fine := range []error{os.ErrNotExist, syscall.ESRCH, syscall.EAGAIN} {
		if errors.Is(err, fine) {
			return nil
		}
	}
	return err
}
