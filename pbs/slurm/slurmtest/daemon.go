package slurmtest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// daemon is a process that runs until it is killed.
type daemon struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{} // closed after its end
}

func startDaemon(name string, args ...string) (*daemon, error) {
	path, err := find(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + searched, "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	d := &daemon{name, cmd, make(chan struct{})}
	go func() {
		cmd.Wait()
		close(d.ended)
	}()
	return d, nil
}

// over tells whether it has ended.
func (d *daemon) over() bool {
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

// signal is for a process that is not reaped yet, or none.
func (d *daemon) signal(s os.Signal) { d.cmd.Process.Signal(s) }

func (d *daemon) stop(s os.Signal) {
	d.signal(s)
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.signal(syscall.SIGKILL)
		<-d.ended
	}
}

// await waits until something is so, or the daemon has ended, or patience.
func (d *daemon) await(what string, so func() bool) error {
	late := time.After(patience)
	for {
		if so() {
			return nil
		}
		select {
		case <-d.ended:
			return fmt.Errorf("%s has ended (%v) before %s", d.name, d.cmd.ProcessState, what)
		case <-late:
			return fmt.Errorf("it did not come to be within %v that %s", patience, what)
		case <-time.After(30 * time.Millisecond):
		}
	}
}
