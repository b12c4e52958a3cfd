package wrapper

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pbstest"
)

// tell sends TERM to the wrapper, in a tool of a node.
const tell = `read -r _ _ _ _ _ leader _ </proc/self/stat; kill -TERM "$leader"`

// last makes the wrapper's short pause the moment at which it is told, after all other processes of its job.
func (n *node) last() { n.tool("sleep", `[ "$1" != 0.1 ] || { `+tell+`; }; exec /bin/sleep "$@"`) }

// A batch system that tells the wrapper after its commands, or after its program, has ended the job all the same.
func TestTheWrapperIsToldLast(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh("kill -TERM $$"))
		n.last()
		n.run()
		if end := n.end(); end.Signal != 15 || end.Cause != grid.Disappeared {
			t.Errorf("after its program: %+v", end)
		}
		n = newNode(t, shell, sh("echo ran > ran"))
		n.last()
		n.tool("awk", `case $* in *want=*) kill -TERM $$ ;; esac; exec /usr/bin/awk "$@"`)
		n.run()
		if end := n.end(); end.Signal != 15 || end.Cause != grid.Disappeared || n.exists("ran") {
			t.Errorf("after its commands: %+v", end)
		}
	})
}

// A TERM to all of a job cuts short neither what says that the program was started, nor the end.
func TestTermWhileItIsWritten(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh("exec sleep 1000"))
		n.tool("mv", `case $* in */run.*) kill -TERM 0 ;; esac; exec /bin/mv "$@"`)
		n.run()
		if _, ran, err := control.ReadRun(n.Control, n.ID); !ran || err != nil {
			t.Errorf("it says that its program was started: %v, %v", ran, err)
		}
		n = newNode(t, shell, grid.Program{Executable: "/no/such"})
		n.tool("tr", `case $* in *037*) kill -TERM 0 ;; esac; exec /usr/bin/tr "$@"`)
		n.run()
		if end := n.end(); end.Cause != grid.NeverRan || !strings.Contains(end.Detail, "/no/such") {
			t.Errorf("it ended %+v", end)
		}
	})
}

// A wrapper that is told to end while its control directory cannot be written says the first of both.
func TestTermWhileNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh("echo ran > ran"))
		n.tool("uname", "echo no/where") // a folder that is not there, in the names of what is being written
		n.tool("sleep", tell)
		if code, said := n.run(); code != 143 || n.exists("ran") {
			t.Errorf("code %d, it ran: %v: %s", code, n.exists("ran"), said)
		}
	})
}

// An attempt whose submission the node sees late is started.
func TestSubmittedAndSeenLate(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		n := newNode(t, shell, sh("exit 3"))
		n.tool("sleep", `cd "`+n.Control+`" && mv late submit.1.2.3; exec /bin/sleep "$@"`)
		if err := os.Rename(filepath.Join(n.Control, "submit.1.2.3"), filepath.Join(n.Control, "late")); err != nil {
			t.Fatal(err)
		}
		if got, _ := n.run(); got != 3 {
			t.Errorf("it ended with %d", got)
		}
	})
}

// A port that is taken is not offered, neither by another program nor by this one.
func TestPortsAreFree(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		mpi := func(n *node) {
			n.Ports, n.Path, n.Reached = grid.Ports{First: port, Last: port}, t.TempDir(), true
			if err := errors.Join(
				pbstest.WriteFile(filepath.Join(n.Path, "mpirun"), []byte("#!/bin/sh\necho HYDRA\n"), 0o755),
				pbstest.WriteFile(filepath.Join(n.Path, "hydra_pmi_proxy"), []byte("#!/bin/sh\n"), 0o755),
			); err != nil {
				t.Fatal(err)
			}
		}
		for _, held := range []bool{true, false} {
			if !held {
				l.Close()
			}
			n, cmd := atBarrier(t, shell, grid.Program{Executable: "/bin/true", Parallel: "MPICH"}, mpi)
			a, _, err := control.ReadArrived(n.Control, n.ID)
			if err != nil || (a.Rendezvous == "") != held || a.Address != "" {
				t.Errorf("the only port is held: %v; it offers %+v, %v", held, a, err)
			}
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
}
