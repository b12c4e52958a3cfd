package pool_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/agent"
	"gbroker/plan"
)

// An agent whose computer has left the pool ends, and says so by its exit code.
func TestWhoHasLeftEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1})
	if err := agent.Leave(t.Context(), s.fleet.folder("a")); err != nil {
		t.Fatal(err)
	}
	s.fleet.mu.Lock()
	a := s.fleet.agents["a"]
	delete(s.fleet.agents, "a")
	s.fleet.mu.Unlock()
	ended := make(chan error, 1)
	go func() { ended <- a.Wait() }()
	var exit *exec.ExitError
	select {
	case err := <-ended:
		if !errors.As(err, &exit) {
			t.Errorf("the agent ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		a.Process.Kill()
		t.Errorf("the agent of a computer that has left goes on: %v", <-ended)
	}
}

// A job that is cut off as its computer leaves goes on at another, also of the same machine: the agent that leaves ends what itself has started alone, and
// leaves nothing of it.
func TestWhoLeavesEndsItsOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t, plan.Node{Name: "a", Cores: 1}, plan.Node{Name: "b", Cores: 1})
	s.restart(func() { s.conf.Grace = time.Second })
	j := s.submit("trap '' TERM; "+lives, func(j *grid.Submission) { j.Job.Rerunnable = true })
	first, left := s.process(j, "pid"), s.computer(j)
	if err := agent.Leave(t.Context(), s.fleet.folder(left)); err != nil {
		t.Fatal(err)
	}
	s.fleet.mu.Lock()
	a := s.fleet.agents[string(left)]
	delete(s.fleet.agents, string(left))
	s.fleet.mu.Unlock()
	s.until("it has begun on the other", func() bool {
		all, _ := filepath.Glob(filepath.Join(s.fleet.dir, "*", "jobs", j.ID.Tag(), "work", "pid"))
		return slices.ContainsFunc(all, func(name string) bool { return !strings.HasPrefix(name, s.fleet.folder(left)) })
	})
	a.Wait()
	if alive, err := first.Alive(); alive || err != nil {
		t.Errorf("it lives on where it has left: %v", err)
	}
	if there(filepath.Join(s.fleet.folder(left), "jobs", j.ID.Tag())) {
		t.Error("its folder is still at the computer that has left")
	}
	other := map[grid.NodeName]grid.NodeName{"a": "b", "b": "a"}[left]
	if err := os.WriteFile(filepath.Join(s.fleet.folder(other), "jobs", j.ID.Tag(), "work", "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if p := s.end(j); p.Cause != grid.ByItself || p.ExitCode != 0 || p.Signal != 0 || !there(filepath.Join(j.Work, "out")) {
		t.Errorf("it ended %+v", p)
	}
}

// A code names an address at which the pool can be called: that of all interfaces is none.
func TestCodesNameAnAddress(t *testing.T) {
	t.Parallel()
	for listen, never := range map[string]string{"0.0.0.0:4050": "0.0.0.0", "[::]:4050": "::", ":4050": "/:"} {
		code, err := pool.Invite(pool.Config{Spool: t.TempDir(), Listen: listen}, time.Now().Add(time.Hour))
		if err != nil || strings.HasPrefix(code.Address, never) || strings.HasPrefix(code.Address, ":") || !strings.HasSuffix(code.Address, ":4050") {
			t.Errorf("for %s the code names %q, %v", listen, code.Address, err)
		}
	}
	code, err := pool.Invite(pool.Config{Spool: t.TempDir(), Listen: "0.0.0.0:4050", Address: "desks.example:4051"}, time.Now().Add(time.Hour))
	if err != nil || code.Address != "desks.example:4051" {
		t.Errorf("the code names %q, %v", code.Address, err)
	}
}
