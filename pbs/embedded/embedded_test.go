package embedded_test

import (
	"os"
	"testing"

	"gbroker/pbs"
	"gbroker/pbs/embedded"
	"gbroker/pbs/embedded/supervise"
	"gbroker/pbs/pbstest"
	"gbroker/plan"
)

// quick is this test's own binary as supervisor, which importing the package makes
// it; under the race detector it would else wait a second before it exits.
func quick(t testing.TB) []string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self, supervise.Command}
}

func open(t testing.TB, s pbstest.Setup) pbs.System {
	system, err := embedded.New(embedded.Config{
		Policy: plan.Policy{Kind: plan.EASY},
		Site:   s.Site, Nodes: s.Nodes, Spool: s.Spool, Grace: s.Grace, Changed: s.Changed, Supervisor: quick(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	return system
}

func TestSuite(t *testing.T) {
	t.Setenv("PBSTEST_SECRET", "of the daemon")
	pbstest.Run(t, open)
}
