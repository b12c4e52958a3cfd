package openpbs

import (
	"os"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/pbs/pbstest"
	"gbroker/plan"
	"gbroker/test/standin"
	"gbroker/test/standin/batch"
	"gbroker/test/standin/hand"
)

// TestSuite passes the suite of all batch systems, over a stand-in of OpenPBS. A
// live system is tried by make test-openpbs.
func TestSuite(t *testing.T) {
	t.Setenv("PBSTEST_SECRET", "of the daemon")
	pbstest.Run(t, pbstest.Kind{
		Name: "openpbs", Whole: true, Least: grid.Second, MemoryLimits: true, Rounds: 9,
		Patience: 2 * time.Minute, Take: bench,
	})
}

func bench(t testing.TB, _ []plan.Node) pbstest.Bench {
	const cores = 2
	nodes := standin.Nodes("openpbs", 3, cores)
	server := standin.Start(t, batch.Config{Face: "openpbs", Nodes: nodes, Loopback: true}) // so that MPI starts; host files then hold localhost
	runner := command.Runner{
		Folders: []string{server.Bin}, Limit: 20 * time.Second,
		Environment: []string{"PATH=" + server.Path(), "HOME=" + server.Dir, "LC_ALL=C", "TZ=UTC", "STANDIN_USER=" + os.Getenv("USER")},
	}
	b := pbstest.Bench{Hand: hand.Of(server, "openpbs", cores, markName)}
	for _, n := range nodes {
		b.Nodes = append(b.Nodes, plan.Node{Name: grid.NodeName(n.Name), Cores: n.Cores})
	}
	b.Open = func(t testing.TB, s pbstest.Setup) pbs.System {
		client, err := New(Config{Runner: runner, Rate: -1})
		if err != nil {
			t.Fatal(err)
		}
		system, err := external.New(external.Config{
			Client: client, Owner: s.Owner, Spool: s.Spool, Site: s.Site, Runner: runner,
			Refresh: time.Second, Age: 10 * time.Second, Grace: s.Grace, Changed: s.Changed,
		})
		if err != nil {
			t.Fatal(err)
		}
		return system
	}
	return b
}
