package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// The box is where everything happens: a mount and a PID namespace of its own, and
// for a user without privileges a user namespace around them, in which this program
// is root. So small disks and networks of sites can be made wherever the kernel lets
// a user make namespaces; what the run is can be told from what else runs on the machine;
// and when its first process ends, however it ends, the kernel ends all others and takes
// the mounts away.
//
//	outer (waits) ─► init (pid 1: reaps) ─► inner (the run, or the tests)

// boxVariable tells a process which of the three it is.
const boxVariable = "GBROKER_TORTURE_BOX"

const (
	boxInit  = "init"
	boxInner = "inner"
	boxNone  = "none" // none is wanted: faults that need one are left out
)

// exitNoBox is how init ends where the kernel does not let it make the box.
const exitNoBox = 119

// boxed runs inner in a box and gives its exit status. It starts this program again,
// with the same arguments. Where no box can be made it says so and runs inner as it is.
func boxed(inner func(isolated bool) int) int {
	switch os.Getenv(boxVariable) {
	case boxInit:
		return initOfBox()
	case boxInner:
		return inner(true)
	case boxNone:
		return inner(false)
	}
	code, err := startBox()
	if err == nil && code != exitNoBox {
		return code
	}
	why := "it says why above"
	if err != nil {
		why = err.Error()
	}
	fmt.Fprintf(os.Stderr, "torture: the kernel lets this user make no namespaces (%s): no network is cut and no disk is filled; root may\n", why)
	return inner(false)
}

// startBox starts init and waits for its end. A signal to end goes to the inner one,
// which takes its folder away; if this process dies, so does the box.
func startBox() (int, error) {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	os.Setenv(boxVariable, boxInit)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-signals:
				cmd.Process.Signal(syscall.SIGTERM)
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if code := exit.ExitCode(); code >= 0 {
			return code, nil
		}
		return 1, nil // by a signal
	}
	return 0, err
}

// initOfBox is the first process: it starts the inner one and reaps all that end.
func initOfBox() int {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "torture: this process is not the first of its box")
		return 1
	}
	if err := mountBox(); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		return exitNoBox
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		return 1
	}
	os.Setenv(boxVariable, boxInner) // not appended: a name that stands twice has its first value
	inner, err := syscall.ForkExec(self, os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture: starting in the box:", err)
		return 1
	}
	go func() {
		for range signals {
			syscall.Kill(inner, syscall.SIGTERM)
		}
	}()
	for {
		var status unix.WaitStatus
		switch pid, err := unix.Wait4(-1, &status, 0, nil); {
		case err == unix.EINTR:
		case err != nil:
			return 1
		case pid == inner && status.Exited():
			return status.ExitStatus()
		case pid == inner:
			return 1
		}
	}
}

// mountBox keeps mounts to the box and shows its processes alone.
func mountBox() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keeping mounts to the box: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc of the box: %w", err)
	}
	return nil
}
