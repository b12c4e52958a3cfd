package pool_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

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
