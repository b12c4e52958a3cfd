package external

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/control"
	"gbroker/pbs/wrapper"
)

// stranger is an account that has nothing.
const stranger = "nobody"

// A wrapper that runs as another account does all that it has to, and cannot take back what
// the broker has decided.
func TestAnotherAccount(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives folders away")
	}
	s, err := New(Config{Client: &batch{}, Owner: "suite", Own: "root", Spool: filepath.Join(t.TempDir(), "spool")})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, System: s}
	j := b.job()
	j.Job.Program = grid.Program{Executable: "/bin/sh", Arguments: []string{"-c", "id -un; cat in; echo new > new"}}
	if err := os.WriteFile(filepath.Join(j.Work, "in"), []byte("in\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.admit(t.Context(), j, stranger); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "chmod o+x") {
		t.Errorf("folders that it cannot reach: %v", err)
	}
	for _, dir := range []string{j.Work, j.Control} {
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.admit(t.Context(), j, stranger); err != nil {
		t.Fatal(err)
	}
	if err := control.WriteSubmit(j.Control, j.ID); err != nil {
		t.Fatal(err)
	}
	script, err := wrapper.Script(wrapper.Spec{ID: j.ID, Work: j.Work, Control: j.Control, Program: j.Job.Program, Limit: j.Limit, Path: "/bin", Environment: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := command.Runner{}.Run(t.Context(), command.Call{Name: "sh", Stdin: script, As: stranger})
	if err != nil || got.Exit != 0 {
		t.Fatalf("%d, %v: %s", got.Exit, err, got.Said())
	}
	if end, there, err := control.ReadEnd(j.Control, j.ID); !there || err != nil || end.Cause != grid.ByItself || end.ExitCode != 0 {
		t.Errorf("the end: %+v, %v, %v", end, there, err)
	}
	if out, err := os.ReadFile(filepath.Join(j.Work, "stdout")); string(out) != stranger+"\nin\n" {
		t.Errorf("its output: %q, %v", out, err)
	}
	next := j.ID
	next.Attempt++
	if taken, _, err := control.Take(j.Control, next, control.Broker, control.Process{}); !taken || err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(j.Control, "start.1.2.2")
	for _, args := range [][]string{{"-f", name}, {"-rf", j.Control}} {
		command.Runner{}.Run(t.Context(), command.Call{Name: "rm", Args: args, As: stranger})
		if _, there, err := control.ReadToken(j.Control, next); !there || err != nil {
			t.Errorf("rm %v: the broker's token: %v, %v", args, there, err)
		}
	}
}
