package openpbs

import (
	"errors"
	"os"
	"os/user"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/plan"
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

// clientOf is a client of a fake batch system, as alice.
func clientOf(t *testing.T, s *fakebatch.Server) *Client {
	t.Helper()
	c, err := New(Config{Account: "alice", Rate: -1, Runner: command.Runner{
		Folders: []string{s.Bin}, Limit: time.Minute,
		Environment: []string{"PATH=" + s.Path(), "HOME=" + s.Dir, "LC_ALL=C", "TZ=UTC", "FAKEBATCH_USER=alice"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A queue that is just being made, beside a routing queue as the default, is no trouble: jobs
// go where that leads, and one that nobody takes is refused.
func TestQueuesOfTheFakeBatchSystem(t *testing.T) {
	t.Parallel()
	s := fakebatch.Start(t, batch.Config{Face: "openpbs", Default: "route", Queues: []batch.Queue{
		{Name: "short", MaxWall: time.Minute}, {Name: "fresh", Fresh: true}, {Name: "untyped", Untyped: true},
		{Name: "route", Route: []string{"fresh", "short", "workq"}}, {Name: "narrow", Route: []string{"short"}},
	}})
	c := clientOf(t, s)
	l, err := c.Listing(t.Context())
	if err != nil || len(l.Queues) != 5 || l.Default != "route" {
		t.Fatalf("%+v, %v", l, err)
	}
	shot := plan.Snapshot{At: l.At, Nodes: l.Nodes, Queues: l.Queues, Default: l.Default}
	for queue, starts := range map[grid.QueueName]bool{"": true, "workq": true, "route": true, "fresh": false} {
		if _, r := plan.Build(shot).Ask(plan.Question{Demand: order().Demand, Queue: queue, Limit: grid.Hour, NotBefore: l.At}); (r == nil) != starts || r != nil && r.Kind != grid.Temporary {
			t.Errorf("a job for %q: %+v", queue, r)
		}
	}
	if j := one(t, c, scripted(t, c, "sleep 1000", func(o *external.Order) { o.Limit = grid.Hour })); j.Queue != "workq" {
		t.Errorf("it came into %q", j.Queue)
	}
	o := order()
	o.Queue, o.Limit = "narrow", grid.Hour
	if id, err := c.Submit(t.Context(), o); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "no destination") {
		t.Errorf("what nobody takes is %q, %v", id, err)
	}
}

// A suspended job runs, and holds nothing.
func TestSuspendedOfTheFakeBatchSystem(t *testing.T) {
	t.Parallel()
	s := fakebatch.Start(t, batch.Config{Face: "openpbs", Nodes: fakebatch.Nodes("openpbs", 1, 4)})
	c := clientOf(t, s)
	first := scripted(t, c, "sleep 1000", nil)
	await(t, c, first, external.Running)
	if a := s.Run("root", "", "qsig", "-s", "suspend", string(first)); a.Exit != 0 {
		t.Fatalf("%+v", a)
	}
	if j := one(t, c, first); j.State != external.Running || len(j.Places) > 0 {
		t.Errorf("suspended, it is %+v", j)
	}
	second := scripted(t, c, "sleep 1000", nil) // its cores are free
	await(t, c, second, external.Running)
	l, err := c.Listing(t.Context())
	if err != nil || len(l.Jobs) != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
	for _, id := range []grid.LocalID{second, first} {
		if err := c.Remove(t.Context(), "", id); err != nil {
			t.Error(err)
		}
		await(t, c, id, external.Done)
	}
}

// OpenPBS takes no reservation of root: it is made by another account, for the job's.
func TestReservingAsAnOperator(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root takes on other accounts without a rule of sudo: run the test as root")
	}
	if _, err := user.Lookup("daemon"); err != nil {
		t.Skipf("another account is needed: %v", err)
	}
	s := fakebatch.Start(t, batch.Config{Face: "openpbs", NoRoot: true})
	for _, operator := range []string{"", "daemon"} {
		c, err := New(Config{Operator: operator, Rate: -1, Runner: command.Runner{
			Folders: []string{s.Bin}, Limit: time.Minute, Environment: []string{"PATH=" + s.Path(), "HOME=" + s.Dir, "LC_ALL=C", "TZ=UTC"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		l, err := c.Listing(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b := external.Reservation{ID: "b1", Nodes: []grid.NodeName{"n02"}, Start: l.At + grid.Hour, End: l.At + 2*grid.Hour, User: "alice"}
		native, err := c.MakeReservation(t.Context(), b)
		if operator == "" {
			if !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "operator in gbroker.yaml") {
				t.Errorf("root reserves: %s, %v", native, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if list, err := c.Reservations(t.Context()); err != nil || len(list) != 1 || list[0].ID != "b1" || list[0].User != "alice" {
			t.Errorf("%+v, %v", list, err)
		}
		b.Native, b.End = native, b.End+grid.Minute
		if err := c.ChangeReservation(t.Context(), b); err != nil {
			t.Error(err)
		}
		if err := c.EndReservation(t.Context(), native); err != nil {
			t.Error(err)
		}
		if list, err := c.Reservations(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("%+v, %v", list, err)
		}
	}
}

// A job beyond max_run waits though its cores are free, and the listing says by what.
func TestMaxRunOfTheFakeBatchSystem(t *testing.T) {
	t.Parallel()
	s := fakebatch.Start(t, batch.Config{Face: "openpbs", MaxRun: 1})
	c := clientOf(t, s)
	first := scripted(t, c, "sleep 1000", nil)
	await(t, c, first, external.Running)
	second := scripted(t, c, "sleep 1000", nil)
	l, err := c.Listing(t.Context())
	if err != nil || len(l.Jobs) != 2 || len(l.Caps) != 1 || len(l.Ours) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	shot := plan.Snapshot{At: l.At, Nodes: l.Nodes, Queues: l.Queues, Default: l.Default, Caps: l.Caps, Ours: l.Ours, Running: []plan.Running{{
		Start: l.Jobs[0].Started, End: l.Jobs[0].Started + l.Jobs[0].Limit, Shares: []plan.Share{{Cores: 4}}, Caps: l.Jobs[0].Caps,
	}}}
	at, r := plan.Build(shot).Ask(plan.Question{Demand: order().Demand, Limit: grid.Minute, NotBefore: l.At})
	if r != nil || at != shot.Running[0].End {
		t.Errorf("one more job is expected at %d, %+v, and should be at %d", at, r, shot.Running[0].End)
	}
	if err := c.Remove(t.Context(), "", first); err != nil {
		t.Error(err)
	}
	await(t, c, second, external.Running)
	if err := c.Remove(t.Context(), "", second); err != nil {
		t.Error(err)
	}
	await(t, c, second, external.Done)
}
