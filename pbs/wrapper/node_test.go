package wrapper

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pbstest"
)

const patience = time.Minute

// shells are those of this machine that a node may have as its sh.
func shells(t *testing.T) (found [][]string) {
	t.Helper()
	for _, words := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		if full, err := exec.LookPath(words[0]); err == nil {
			found = append(found, append([]string{full}, words[1:]...))
		}
	}
	if len(found) == 0 {
		t.Fatal("there is no shell on this machine")
	}
	return found
}

// overShells runs a test under each shell.
func overShells(t *testing.T, test func(t *testing.T, shell []string)) {
	for _, s := range shells(t) {
		t.Run(filepath.Base(s[0]), func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// node is where a wrapper runs.
type node struct {
	*testing.T
	shell []string
	Spec
	env []string // of the wrapper itself
}

// ulids number the attempts of this process. Its own number is in them too: the wrapper ends what has the mark of its
// attempt, also where another run of these tests has started it.
var ulids atomic.Uint64

func newNode(t *testing.T, shell []string, p grid.Program) *node {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := &node{T: t, shell: shell, Spec: Spec{
		ID:   grid.AttemptID{Job: grid.NewJobID("here", fmt.Sprintf("01%012d%012d", os.Getpid(), ulids.Add(1))), Epoch: grid.Epoch{Term: 1, Hop: 2}, Attempt: 3},
		Site: "here", Work: filepath.Join(dir, "work"), Control: filepath.Join(dir, "ctl"), Program: p,
		Limit: grid.Hour, Grace: 200 * time.Millisecond, Environment: []string{"PATH=/usr/bin:/bin"}, Path: "/usr/bin:/bin",
	}}
	n.env = []string{"PATH=/usr/bin:/bin", "HOME=/home/of", "SECRET=x"}
	for _, d := range []string{n.Work, n.Control} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := control.WriteSubmit(n.Control, n.ID); err != nil {
		t.Fatal(err)
	}
	return n
}

func sh(script string) grid.Program {
	return grid.Program{Executable: "/bin/sh", Arguments: []string{"-c", script}}
}

// command is the wrapper, not yet started: the script comes by a file, as from a spool.
func (n *node) command() *exec.Cmd {
	n.Helper()
	script, err := Script(n.Spec)
	if err != nil {
		n.Fatal(err)
	}
	file := filepath.Join(n.TempDir(), "job.sh")
	if err := os.WriteFile(file, script, 0o700); err != nil {
		n.Fatal(err)
	}
	cmd := exec.CommandContext(n.Context(), n.shell[0], append(n.shell[1:], file)...)
	cmd.Env, cmd.Dir = n.env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// run runs the wrapper to its end.
func (n *node) run() (code int, said string) {
	n.Helper()
	var stderr bytes.Buffer
	cmd := n.command()
	cmd.Stderr, cmd.Stdout = &stderr, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		n.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}

// tool puts a command of its own before the node's.
func (n *node) tool(name, script string) {
	n.Helper()
	folder := n.TempDir()
	if err := pbstest.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		n.Fatal(err)
	}
	n.env = append([]string{"PATH=" + folder + ":" + strings.TrimPrefix(n.env[0], "PATH=")}, n.env[1:]...)
}

func (n *node) end() control.End {
	n.Helper()
	end, there, err := control.ReadEnd(n.Control, n.ID)
	if err != nil || !there {
		n.Fatalf("the end: %v, %v", there, err)
	}
	return end
}

func (n *node) read(name string) string {
	n.Helper()
	data, err := os.ReadFile(filepath.Join(n.Work, name))
	if err != nil {
		n.Fatal(err)
	}
	return string(data)
}

func (n *node) write(name, content string, mode os.FileMode) {
	n.Helper()
	name = filepath.Join(n.Work, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), pbstest.WriteFile(name, []byte(content), mode)); err != nil {
		n.Fatal(err)
	}
}

func (n *node) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(n.Work, name))
	return err == nil
}

func (n *node) until(what string, is func() bool) {
	n.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); !is(); {
		select {
		case <-tick.C:
		case <-deadline:
			n.Fatalf("it never comes that %s", what)
		}
	}
}

// start runs the wrapper and waits until its program has written up.
func (n *node) start() (*exec.Cmd, <-chan struct{}) {
	n.Helper()
	cmd := n.command()
	said, err := os.Create(filepath.Join(n.TempDir(), "said"))
	if err != nil {
		n.Fatal(err)
	}
	defer said.Close()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		n.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		cmd.Wait()
		close(done)
	}()
	n.Cleanup(func() {
		cmd.Process.Kill()
		<-done
	})
	n.until("its program runs (it said what is in "+said.Name()+")", func() bool { return n.exists("up") })
	return cmd, done
}

func (n *node) await(done <-chan struct{}) {
	n.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		n.Fatal("the wrapper does not end")
	}
}

// stubborn ignores TERM, as do its children: one of them has left by setsid.
const stubborn = `trap '' TERM
sleep 1000 & echo $! >> p
(setsid sh -c 'trap "" TERM; echo $$ >> p; echo x > away; while :; do sleep 1000; done' &)
while [ ! -e away ]; do sleep 0.01; done
echo $$ >> p; mv p pids; echo x > up
while :; do sleep 1000; done`

func (n *node) pids() (all []control.Process) {
	n.Helper()
	for f := range strings.FieldsSeq(n.read("pids")) {
		var pid int
		fmt.Sscan(f, &pid)
		p, err := control.Describe(pid)
		if err != nil {
			n.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func (n *node) dead(all []control.Process) {
	n.Helper()
	for _, p := range all {
		n.until(fmt.Sprintf("process %d of the job is dead", p.PID), func() bool {
			alive, err := p.Alive()
			return err == nil && !alive
		})
	}
}
