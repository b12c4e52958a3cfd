package torque

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/pbs/pbstest"
	"gbroker/plan"
)

// live asks for TestLive; make test-torque sets it.
const live = "GBROKER_LIVE_TORQUE"

// Commands that a live system is reached by; Maui's are not everywhere.
var (
	tools     = []string{"qstat", "pbsnodes", "qsub", "qdel", "qhold", "qrls"}
	mauiTools = []string{"showq", "showres", "showconfig", "setres", "releaseres", "mdiag"}
)

// The suite of all batch systems, over the TORQUE whose commands are on PATH, with Maui where showq is there too: one
// test after another, as a user. What only others can do there (operators, other users) is skipped.
func TestLive(t *testing.T) {
	t.Parallel()
	if os.Getenv(live) == "" {
		t.Skip("this is for a live TORQUE: make test-torque")
	}
	if os.Getuid() == 0 {
		t.Skip("TORQUE takes no jobs of root: run this as a user")
	}
	paths, maui := found(t)
	turn := make(chan struct{}, 1)
	pbstest.Run(t, pbstest.Kind{
		Name: "a live torque", Whole: true, Least: grid.Second, HostFile: true, MemoryLimits: true, Rounds: 5, Patience: 5 * time.Minute,
		Take: func(t testing.TB, _ []plan.Node) pbstest.Bench {
			turn <- struct{}{}
			t.Cleanup(func() { <-turn })
			shims := pbstest.NewShims(t, paths...)
			config := Config{Runner: command.Runner{Folders: []string{shims.Folder}}}
			var client external.Client = New(config)
			if maui {
				client = NewMaui(config)
			}
			b := pbstest.Bench{Hand: pbstest.Hand{Stall: shims.Stall, Deafen: shims.Deafen}}
			b.Hand.Delete = func(l grid.LocalID) error { return client.Remove(t.Context(), "", l) }
			b.Open = func(t testing.TB, s pbstest.Setup) pbs.System { return opened(t, client, config.Runner, s) }
			var err error
			if b.Nodes, err = fit(t, client); err != nil {
				t.Skipf("this cluster is not fit: %v", err)
			}
			return b
		},
	})
}

// found gives the paths of the commands, and whether Maui is here.
func found(t *testing.T) (paths []string, maui bool) {
	t.Helper()
	names := tools
	if _, err := exec.LookPath("showq"); err == nil {
		maui, names = true, append(names, mauiTools...)
	} else {
		t.Log("there is no showq on PATH: this is TORQUE without Maui, and reservations are not tested")
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("the commands of TORQUE, and of Maui where it is there, must be on PATH: %v", err)
		}
		paths = append(paths, path)
	}
	return paths, maui
}

// fit gives the nodes of a live cluster, or says what it lacks: the suite counts what runs and waits there.
func fit(t testing.TB, c external.Client) ([]plan.Node, error) {
	l, err := c.Listing(t.Context())
	if err != nil {
		return nil, err
	}
	for _, j := range l.Jobs {
		if j.State != external.Done {
			return nil, fmt.Errorf("job %s is there, and it must be idle", j.Local)
		}
	}
	if len(l.Reservations) > 0 {
		return nil, errors.New("there are reservations, and it must be idle")
	}
	for _, n := range l.Nodes {
		if n.Down || n.Cores != l.Nodes[0].Cores {
			return nil, fmt.Errorf("node %s is down, or has another number of cores than %s", n.Name, l.Nodes[0].Name)
		}
	}
	if len(l.Nodes) < 3 || l.Nodes[0].Cores < 2 {
		return nil, fmt.Errorf("%d nodes: at least three, of two cores or more", len(l.Nodes))
	}
	return l.Nodes, nil
}

// opened is our side of a system.
func opened(t testing.TB, client external.Client, runner command.Runner, s pbstest.Setup) pbs.System {
	t.Helper()
	system, err := external.New(external.Config{
		Client: client, Owner: s.Owner, Spool: s.Spool, Site: s.Site, Runner: runner,
		Refresh: time.Second, Age: 10 * time.Second, Grace: s.Grace, Changed: s.Changed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return system
}
