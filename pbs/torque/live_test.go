package torque

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
		t.Fatal("TORQUE takes no jobs of root: run this as a user")
	}
	paths, maui := found(t)
	turn := make(chan struct{}, 1)
	pbstest.Run(t, pbstest.Kind{
		Name: "a live torque", Live: true, Whole: true, Least: grid.Second, HostFile: true, MemoryLimits: true, Rounds: 5, Patience: 5 * time.Minute, Ahead: 15 * grid.Second,
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
			pbstest.AwaitFit(t, func() error {
				l, err := client.Listing(t.Context())
				b.Nodes = l.Nodes
				return cmp.Or(err, fit(l))
			})
			t.Cleanup(func() { sweep(t, client) })
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
			t.Fatalf("the commands of TORQUE, and of Maui where it is there, must be on PATH: %v", err)
		}
		paths = append(paths, path)
	}
	return paths, maui
}

// fit says what a cluster lacks.
func fit(l external.Listing) error {
	for _, j := range l.Jobs {
		if j.State != external.Done {
			return fmt.Errorf("job %s is there, and it must be idle", j.Local)
		}
	}
	switch {
	case l.Stopped:
		return fmt.Errorf("nothing is started: %s", l.Why)
	case len(l.Reservations) > 0:
		return errors.New("there are reservations, and it must be idle")
	case len(l.Nodes) < 3 || l.Nodes[0].Cores < 2:
		return fmt.Errorf("%d nodes: at least three, of two cores or more", len(l.Nodes))
	}
	for _, n := range l.Nodes {
		if n.Down || n.Cores != l.Nodes[0].Cores {
			return fmt.Errorf("node %s is down, or has another number of cores than %s", n.Name, l.Nodes[0].Name)
		}
	}
	return nil
}

// sweep ends what a test has left.
func sweep(t testing.TB, c external.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	l, err := c.Listing(ctx)
	if err != nil {
		t.Errorf("looking for what the test has left: %v", err)
	}
	for _, j := range l.Jobs {
		if j.Mark != "" && j.State != external.Done {
			t.Logf("job %s is left: %v", j.Local, c.Remove(ctx, "", j.Local))
		}
	}
	if b, is := c.(external.Reserver); is {
		for _, r := range l.Reservations {
			if r.ID != "" {
				t.Logf("reservation %s is left: %v", r.Native, b.EndReservation(ctx, r.Native))
			}
		}
	}
}

// A cluster on which something runs, or of which a node is down, is not fit for a test; one that was swept is.
func TestFit(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{Nodes: fakebatch.Nodes("torque", 3, 2)})
	fits := func() error {
		l, err := s.maui.Listing(t.Context())
		return cmp.Or(err, fit(l))
	}
	j := s.awaitState(s.submit(s.client, s.order("while [ ! -e go ]; do sleep 0.1; done")), external.Running)
	if err := fits(); err == nil || !strings.Contains(err.Error(), string(j.Local)) {
		t.Errorf("while job %s runs: %v", j.Local, err)
	}
	sweep(t, s.maui)
	s.Node(batch.Node{Name: "node01", Down: true})
	pbstest.AwaitFit(t, func() error {
		if err := fits(); err == nil || !strings.Contains(err.Error(), "node01") {
			return fmt.Errorf("that node01 is down is not told: %w", err)
		}
		return nil
	})
	s.Node(batch.Node{Name: "node01"})
	pbstest.AwaitFit(t, fits)
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
