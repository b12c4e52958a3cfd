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

// kind is the embedded system as the suite knows it.
func kind(policy plan.Policy) pbstest.Kind {
	return pbstest.Kind{
		Name: "embedded", Supervised: true, Ages: true, MemoryLimits: true, HostFile: true, Rounds: 60,
		Least: 1,
		Take: func(_ testing.TB, nodes []plan.Node) pbstest.Bench {
			return pbstest.Bench{Nodes: nodes, Open: func(t testing.TB, s pbstest.Setup) pbs.System {
				system, err := embedded.New(embedded.Config{
					Policy: policy, Site: s.Site, Nodes: nodes,
					Spool: s.Spool, Grace: s.Grace, Changed: s.Changed, Supervisor: quick(t),
				})
				if err != nil {
					t.Fatal(err)
				}
				return system
			}}
		},
	}
}

func TestSuite(t *testing.T) {
	t.Setenv("PBSTEST_SECRET", "of the daemon")
	pbstest.Run(t, kind(plan.Policy{Kind: plan.EASY}))
}
