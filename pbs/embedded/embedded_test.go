package embedded_test

import (
	"testing"

	"gbroker/pbs"
	"gbroker/pbs/embedded"
	"gbroker/pbs/pbstest"
)

// The supervisor is this test's own binary: importing the package makes it one.
func open(t testing.TB, s pbstest.Setup) pbs.System {
	system, err := embedded.New(embedded.Config{
		Site: s.Site, Nodes: s.Nodes, Spool: s.Spool, Grace: s.Grace, Changed: s.Changed,
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
