package pbstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shimmed is a command that writes what it gets to a file, behind a shim.
func shimmed(t *testing.T) (s *Shims, call func() *exec.Cmd, effects func() string) {
	dir := folder(t)
	real, file := filepath.Join(dir, "tool"), filepath.Join(dir, "effects")
	script := "#!/bin/sh\necho \"$1\" >> " + file + "\ncat >> " + file + "\necho answer\necho complaint >&2\nexit 3\n"
	if err := WriteFile(real, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s = NewShims(t, real)
	call = func() *exec.Cmd {
		c := exec.Command(filepath.Join(s.Folder, "tool"), "a 'b'")
		c.Stdin, c.SysProcAttr = strings.NewReader("in\n"), &syscall.SysProcAttr{Setpgid: true}
		return c
	}
	return s, call, func() string {
		text, _ := os.ReadFile(file)
		return string(text)
	}
}

const effect = "a 'b'\nin\n"

// givenUp runs a call until a condition holds, and then kills it with its group.
func givenUp(t *testing.T, c *exec.Cmd, when func() bool) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, when)
	syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	c.Wait()
}

func wait(t *testing.T, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("it never comes")
		}
	}
}

func TestShimIsTheCommand(t *testing.T) {
	t.Parallel()
	_, call, effects := shimmed(t)
	c := call()
	var complaint strings.Builder
	c.Stderr = &complaint
	out, err := c.Output()
	if string(out) != "answer\n" || complaint.String() != "complaint\n" || c.ProcessState.ExitCode() != 3 || effects() != effect {
		t.Errorf("%q, %q, %v, %q", out, complaint.String(), err, effects())
	}
}

// What was given up while commands stalled takes effect afterwards, and not before.
func TestStall(t *testing.T) {
	t.Parallel()
	s, call, effects := shimmed(t)
	end, err := s.Stall()
	if err != nil {
		t.Fatal(err)
	}
	begun := func() bool { n, _ := filepath.Glob(filepath.Join(s.trials, "*", "begun")); return len(n) == 1 }
	givenUp(t, call(), begun)
	if got := effects(); got != "" {
		t.Errorf("a stalled command took effect: %q", got)
	}
	end()
	end()
	wait(t, func() bool { return effects() == effect })
}

// What is given up while answers are lost has taken effect; what is not gets its answer.
func TestDeafen(t *testing.T) {
	t.Parallel()
	s, call, effects := shimmed(t)
	end, err := s.Deafen()
	if err != nil {
		t.Fatal(err)
	}
	givenUp(t, call(), func() bool { return effects() == effect })
	c := call()
	var out strings.Builder
	c.Stdout = &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return effects() == effect+effect })
	end()
	c.Wait()
	if out.String() != "answer\n" || c.ProcessState.ExitCode() != 3 {
		t.Errorf("after all it answers %q with %d", out.String(), c.ProcessState.ExitCode())
	}
}
