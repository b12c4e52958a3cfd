package openpbs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/pbstest"
	"gbroker/plan"
)

// live asks for TestLive; make test-openpbs sets it.
const live = "GBROKER_LIVE_OPENPBS"

// tools are the commands that a live complex is reached by.
var tools = []string{"qstat", "pbsnodes", "qsub", "qdel", "qhold", "qrls", "pbs_rstat", "pbs_rsub", "pbs_ralter", "pbs_rdel"}

// The suite of all batch systems, over the OpenPBS whose commands are on PATH: one test after
// another, as a user. What only others can do there (operators, other users) is skipped.
func TestLive(t *testing.T) {
	t.Parallel()
	if os.Getenv(live) == "" {
		t.Skip("this is for a live OpenPBS: make test-openpbs")
	}
	turn := make(chan struct{}, 1)
	var paths []string
	for _, name := range tools {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("the commands of OpenPBS must be on PATH: %v", err)
		}
		paths = append(paths, path)
	}
	if os.Getuid() == 0 {
		t.Fatal("OpenPBS takes no jobs of root: run this as a user")
	}
	k := kind("a live openpbs", func(t testing.TB, _ []plan.Node) pbstest.Bench {
		turn <- struct{}{}
		t.Cleanup(func() { <-turn })
		shims := pbstest.NewShims(t, paths...)
		c := Config{Runner: command.Runner{Folders: []string{shims.Folder}, Environment: command.Environment()}}
		for _, name := range []string{"PBS_CONF_FILE", "PBS_SERVER"} {
			if value, is := os.LookupEnv(name); is {
				c.Runner.Environment = append(c.Runner.Environment, name+"="+value)
			}
		}
		pbstest.AwaitFit(t, func() error { return fit(t, c) })
		t.Cleanup(func() { sweep(t, c) })
		remove := func(l grid.LocalID) error {
			client, err := New(c)
			return errors.Join(err, client.Remove(t.Context(), "", l))
		}
		return bench(t, c, pbstest.Hand{Stall: shims.Stall, Deafen: shims.Deafen, Delete: remove})
	})
	k.Live, k.Ahead = true, 15*grid.Second // a busy machine makes a reservation seconds after it was asked for
	pbstest.Run(t, k)
}

// fit says what a live complex lacks: the suite counts what runs and waits there.
func fit(t testing.TB, c Config) error {
	client, err := New(c)
	if err != nil {
		return err
	}
	l, err := client.Listing(t.Context())
	if err != nil {
		return err
	}
	if len(l.Jobs)+len(l.Reservations) > 0 {
		return fmt.Errorf("%d jobs and %d reservations are there, and it must be idle", len(l.Jobs), len(l.Reservations))
	}
	for _, n := range l.Nodes {
		if n.Down || n.Cores != l.Nodes[0].Cores {
			return fmt.Errorf("node %s is down, or has another number of cores than %s", n.Name, l.Nodes[0].Name)
		}
	}
	if len(l.Nodes) < 3 || l.Nodes[0].Cores < 2 {
		return fmt.Errorf("%d nodes: at least three, of two cores or more", len(l.Nodes))
	}
	return nil
}

// sweep ends what a test has left on a complex that was idle before it.
func sweep(t testing.TB, c Config) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	client, err := New(c)
	if err != nil {
		t.Error(err)
		return
	}
	l, err := client.Listing(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, j := range l.Jobs {
		if j.Mark != "" {
			t.Logf("job %s is left: %v", j.Local, client.Remove(ctx, "", j.Local))
		}
	}
	for _, b := range l.Reservations {
		if b.ID != "" {
			t.Logf("reservation %s is left: %v", b.Native, client.rdel(ctx, b.Native))
		}
	}
}
