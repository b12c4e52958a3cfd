package openpbs

import (
	"os"
	"strings"
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

// The suite of all batch systems, over a fake batch system of OpenPBS.
func TestSuite(t *testing.T) {
	t.Parallel()
	pbstest.Run(t, kind("openpbs", func(t testing.TB, _ []plan.Node) pbstest.Bench {
		const cores = 2
		server := fakebatch.Start(t, batch.Config{
			Face: "openpbs", Nodes: fakebatch.Nodes("openpbs", 3, cores),
			Loopback: strings.HasSuffix(t.Name(), "Parallel"), // all nodes are this machine: an MPI start must not look for them
		})
		runner := command.Runner{
			Folders: []string{server.Bin}, Limit: 20 * time.Second,
			Environment: []string{"PATH=" + server.Path(), "HOME=" + server.Dir, "LC_ALL=C", "TZ=UTC"},
		}
		return bench(t, Config{Runner: runner, Rate: -1}, hand.Of(server, "openpbs", cores, markName))
	}))
}

func kind(name string, take func(testing.TB, []plan.Node) pbstest.Bench) pbstest.Kind {
	return pbstest.Kind{
		Name: name, Whole: true, Least: grid.Second, HostFile: true, MemoryLimits: true, Rounds: 6,
		Patience: 3 * time.Minute, Take: take,
	}
}

// bench is a complex as c reaches it, with the nodes that it shows.
func bench(t testing.TB, c Config, h pbstest.Hand) pbstest.Bench {
	t.Helper()
	open := func(t testing.TB) *Client {
		t.Helper()
		client, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	l, err := open(t).Listing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return pbstest.Bench{Nodes: l.Nodes, Hand: h, Open: func(t testing.TB, s pbstest.Setup) pbs.System {
		t.Helper()
		system, err := external.New(external.Config{
			Client: open(t), Owner: s.Owner, Spool: s.Spool, Site: s.Site, Runner: c.Runner,
			Refresh: time.Second, Age: 10 * time.Second, Grace: s.Grace, Changed: s.Changed,
		})
		if err != nil {
			t.Fatal(err)
		}
		return system
	}}
}
