package torque

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
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
	"gbroker/test/fakebatch/hand"
)

// TestMain lets more tests run at a time than there are processors.
func TestMain(m *testing.M) {
	pbstest.SideBySide(6)
	os.Exit(m.Run())
}

// TestSuite passes the suite of all batch systems, over a fake batch system of TORQUE with Maui, and
// of TORQUE alone. A live system is tried by make test-torque.
func TestSuite(t *testing.T) {
	t.Setenv("PBSTEST_SECRET", "of the daemon")
	for name, alone := range map[string]bool{"maui": false, "alone": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pbstest.Run(t, pbstest.Kind{
				Name: "torque " + name, Whole: true, Lasting: true, Least: grid.Second, MemoryLimits: true, Rounds: 9,
				Patience: 2 * time.Minute,
				Take:     func(t testing.TB, _ []plan.Node) pbstest.Bench { return bench(t, alone) },
			})
		})
	}
}

func bench(t testing.TB, alone bool) pbstest.Bench {
	const cores = 2
	nodes := fakebatch.Nodes("torque", 3, cores)
	nodes[1].Properties = append(nodes[1].Properties, "fast")
	server := fakebatch.Start(t, batch.Config{Face: "torque", Nodes: nodes, NoReservations: alone, Loopback: true}) // so that MPI starts; host files then hold localhost
	runner := command.Runner{
		Folders: []string{server.Bin}, Limit: 20 * time.Second,
		Environment: []string{"PATH=" + server.Path(), "HOME=" + server.Dir, "LC_ALL=C", "TZ=UTC", "FAKEBATCH_USER=" + os.Getenv("USER")},
	}
	b := pbstest.Bench{Hand: hand.Of(server, "torque", cores, markName)}
	for _, n := range nodes {
		b.Nodes = append(b.Nodes, plan.Node{Name: grid.NodeName(n.Name), Cores: n.Cores, Properties: n.Properties})
	}
	b.Open = func(t testing.TB, s pbstest.Setup) pbs.System {
		config := Config{Runner: runner}
		var client external.Client = NewMaui(config)
		if alone {
			client = New(config)
		}
		return opened(t, client, runner, s)
	}
	return b
}
