package slurm_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/pbs/slurm"
	"gbroker/pbs/slurm/slurmtest"
)

// reservable is a cluster for reservations, which name its nodes.
func reservable(t *testing.T) (*slurmtest.Cluster, *slurm.Client) {
	t.Helper()
	c := slurmtest.Start(t, slurmtest.Config{Nodes: []slurmtest.Nodes{{Count: 3, CPUs: 1}}})
	return c, client(c)
}

// after is an instant some time from now, at a whole second.
func after(span grid.Tick) grid.Tick {
	return (grid.InstantOf(time.Now()) + span) / grid.Second * grid.Second
}

func reservationOf(t *testing.T, c *slurm.Client, id string) *external.Reservation {
	t.Helper()
	all, err := c.Reservations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if at := slices.IndexFunc(all, func(b external.Reservation) bool { return b.ID == id }); at >= 0 {
		return &all[at]
	}
	return nil
}

func TestReservationsAreWhatWasAsked(t *testing.T) {
	t.Parallel()
	cluster, c := reservable(t)
	want := external.Reservation{ID: "r1", Nodes: []grid.NodeName{"node01", "node02"}, Start: after(grid.Hour) + 7*grid.Second, End: after(2*grid.Hour) + 500}
	native, err := c.MakeReservation(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	want.Native = native
	got := reservationOf(t, c, "r1")
	if got == nil || got.Native != native || !slices.Equal(got.Nodes, want.Nodes) || got.Start != want.Start ||
		got.End != want.End+500 || got.Cores != nil || got.User == "" {
		t.Fatalf("%+v, should be %+v", got, want)
	}

	for name, wrong := range map[string]external.Reservation{
		"overlap":   {ID: "r2", Nodes: []grid.NodeName{"node03", "node02"}, Start: want.Start + grid.Minute, End: want.Start + 2*grid.Minute},
		"same name": {ID: "r1", Nodes: []grid.NodeName{"node03"}, Start: want.Start, End: want.End},
		"no node":   {ID: "r2", Nodes: []grid.NodeName{"node09"}, Start: want.Start, End: want.End},
		"no user":   {ID: "r2", Nodes: []grid.NodeName{"node03"}, Start: want.Start, End: want.End, User: "nosuchuser"},
		"no nodes":  {ID: "r2", Start: want.Start, End: want.End},
		"twice":     {ID: "r2", Nodes: []grid.NodeName{"node03", "node03"}, Start: want.Start, End: want.End},
		"list":      {ID: "r2", Nodes: []grid.NodeName{"node[01-03]"}, Start: want.Start, End: want.End},
		"no time":   {ID: "r2", Nodes: []grid.NodeName{"node03"}, Start: want.Start, End: want.Start},
		"bad id":    {ID: "r 2", Nodes: []grid.NodeName{"node03"}, Start: want.Start, End: want.End},
	} {
		if _, err := c.MakeReservation(t.Context(), wrong); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if reservationOf(t, c, "r2") != nil {
		t.Error("one that was refused is there")
	}

	cluster.Run(t, "scontrol", "update", "nodename=node03", "state=down", "reason=test")
	down := external.Reservation{ID: "r3", Nodes: []grid.NodeName{"node03"}, Start: want.Start, End: want.End}
	if _, err := c.MakeReservation(t.Context(), down); !errors.Is(err, grid.ErrInvalid) || reservationOf(t, c, "r3") != nil {
		t.Errorf("on a node that is down: %v", err)
	}
	cluster.Run(t, "scontrol", "update", "nodename=node03", "state=resume")
	eventually(t, "the node is up", func() bool {
		l, err := c.Listing(t.Context())
		return err == nil && !l.Nodes[2].Down
	})

	want.Nodes = []grid.NodeName{"node03"}
	want.Start, want.End = want.Start+grid.Minute, want.End+grid.Hour
	if err := c.ChangeReservation(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if got = reservationOf(t, c, "r1"); got == nil || !slices.Equal(got.Nodes, want.Nodes) || got.Start != want.Start || got.End != want.End+500 {
		t.Errorf("changed it is %+v, should be %+v", got, want)
	}
	for range 2 {
		if err := c.EndReservation(t.Context(), native); err != nil {
			t.Fatal(err)
		}
	}
	if reservationOf(t, c, "r1") != nil {
		t.Error("it is there after its release")
	}
	if err := c.EndReservation(t.Context(), "others"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("another's: %v", err)
	}
}

// An operator's reservation that allows others over it is no place for one of ours, and one
// of some cores is told from one of all.
func TestReservationsOfOthers(t *testing.T) {
	t.Parallel()
	cluster := slurmtest.Start(t, slurmtest.Config{Nodes: []slurmtest.Nodes{{Count: 1, CPUs: 2}, {Count: 1, CPUs: 4}}})
	c := client(cluster)
	cluster.Run(t, "scontrol", "create", "reservation", "ReservationName=open", "StartTime=now+1hour", "Duration=30",
		"Nodes=node01", "Users=root", "Flags=OVERLAP")
	b := external.Reservation{ID: "r1", Nodes: []grid.NodeName{"node01"}, Start: after(80 * grid.Minute), End: after(2 * grid.Hour)}
	if _, err := c.MakeReservation(t.Context(), b); !errors.Is(err, grid.ErrInvalid) || reservationOf(t, c, "r1") != nil {
		t.Errorf("over one that allows it: %v", err)
	}
	cluster.Run(t, "scontrol", "create", "reservation", "ReservationName=some", "StartTime=now+5hours", "Duration=30",
		"Nodes=node01,node02", "CoreCnt=1,2", "Users=root")
	cluster.Run(t, "scontrol", "create", "reservation", "ReservationName=all", "StartTime=now+7hours", "Duration=30", "Nodes=ALL", "Users=root")
	l, err := c.Listing(t.Context())
	if err != nil || len(l.Reservations) != 3 {
		t.Fatalf("%+v, %v", l.Reservations, err)
	}
	for _, r := range l.Reservations {
		if r.ID != "" || (r.Native == "some") != (r.Cores != nil) {
			t.Errorf("%+v", r)
		}
	}
}

// A job of ours starts in its reservation, while another's job waits for the same nodes;
// released meanwhile, the reservation may go as soon as the job has.
func TestReservationIsHeldAgainstOthers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("another user's jobs need root")
	}
	cluster, c := reservable(t)
	now := external.Reservation{ID: "now", Nodes: []grid.NodeName{"node01", "node02", "node03"}, Start: after(0), End: after(grid.Hour)}
	native, err := c.MakeReservation(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	other := grid.LocalID(cluster.Run(t, "sbatch", "--parsable", "--uid=nobody", "-D", "/", "-o", "/dev/null", "-t", "5", "--wrap", "true"))
	o := order(t, "sleep 1000")
	o.Reservation = native
	ours := submit(t, c, o)
	if job := awaitState(t, c, ours, external.Running); job.Reservation != native {
		t.Errorf("it runs as %+v", job)
	}
	if job := look(t, c, other); job.State != external.Queued || job.User != "nobody" {
		t.Errorf("another's job is %+v", job)
	}
	if err := c.EndReservation(t.Context(), native); err != nil {
		t.Fatal(err)
	}
	if job := look(t, c, ours); job.State != external.Running {
		t.Errorf("after the release our job is %+v", job)
	}
	if said := cluster.Run(t, "scontrol", "show", "reservation", native); !strings.Contains(said, "PURGE_COMP=00:00:01") {
		t.Errorf("a minute after its job it will not be gone: %s", said)
	}
	if err := c.Remove(t.Context(), "", ours); err != nil {
		t.Fatal(err)
	}
	awaitState(t, c, ours, external.Done)
	if err := c.EndReservation(t.Context(), native); err != nil || reservationOf(t, c, "now") != nil {
		t.Fatalf("released after its job: %v", err)
	}
	if job := awaitState(t, c, other, external.Done); job.End.ExitCode != 0 {
		t.Errorf("another's job ended %+v", job.End)
	}
}

func TestOnlyOperatorsReserve(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("to run scontrol as somebody else needs root")
	}
	cluster, _ := reservable(t)
	c := asNobody(cluster)
	_, err := c.MakeReservation(t.Context(), external.Reservation{ID: "r1", Nodes: []grid.NodeName{"node01"}, Start: after(grid.Hour), End: after(2 * grid.Hour)})
	if !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "only root and SlurmUser make reservations") {
		t.Errorf("%v", err)
	}
}

// Each reservation has an account of its own: who does not submit under it cannot come in, also as the same user.
func TestReservationHasAnAccount(t *testing.T) {
	t.Parallel()
	cluster, c := reservable(t)
	var accounts []string
	for i, id := range []string{"r1", "r2"} {
		native, err := c.MakeReservation(t.Context(), external.Reservation{ID: id, Nodes: []grid.NodeName{grid.NodeName([]string{"node01", "node02"}[i])}, Start: after(0), End: after(grid.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		b := reservationOf(t, c, id)
		if b == nil || !strings.HasPrefix(b.Account, "gb") || slices.Contains(accounts, b.Account) {
			t.Fatalf("%+v beside %v", b, accounts)
		}
		for _, account := range append([]string{"physics"}, accounts...) {
			out, err := cluster.Command(t.Context(), "sbatch", "--reservation="+native, "--account="+account, "-D", "/", "-o", "/dev/null", "--wrap", "true").CombinedOutput()
			if err == nil || !strings.Contains(string(out), "Access denied") {
				t.Errorf("a job of account %s is let in: %s", account, out)
			}
		}
		if out, err := cluster.Command(t.Context(), "sbatch", "--reservation="+native, "-D", "/", "-o", "/dev/null", "--wrap", "true").CombinedOutput(); err == nil {
			t.Errorf("a job of no account is let in: %s", out)
		}
		accounts = append(accounts, b.Account)
		o := order(t, "sleep 1000")
		o.Reservation, o.Account = native, "physics"
		ours := submit(t, c, o)
		if job := awaitState(t, c, ours, external.Running); job.Reservation != native {
			t.Errorf("it runs as %+v", job)
		}
		if err := c.Remove(t.Context(), "", ours); err != nil {
			t.Fatal(err)
		}
	}
	o := order(t, "true")
	o.Reservation = "gbroker_r9"
	if _, err := c.Submit(t.Context(), o); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("for one that is not there: %v", err)
	}
}
