package openpbs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

// served is a client of a fake batch system, as alice.
func served(t *testing.T) (*Client, *fakebatch.Server) {
	t.Helper()
	s := fakebatch.Start(t, batch.Config{Face: "openpbs"})
	c, err := New(Config{Account: "alice", Rate: -1, Runner: command.Runner{
		Folders: []string{s.Bin}, Limit: time.Minute,
		Environment: []string{"PATH=" + s.Path(), "HOME=" + s.Dir, "LC_ALL=C", "TZ=UTC", "FAKEBATCH_USER=alice"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// scripted is an order of a script for a node of four cores.
func scripted(t *testing.T, c *Client, script string, change func(o *external.Order)) grid.LocalID {
	t.Helper()
	o := order()
	o.Script, o.Limit = []byte("#!/bin/sh\n"+script+"\n"), 10*grid.Minute
	o.Log = filepath.Join(t.TempDir(), "log")
	o.Demand.Chunks[0] = grid.Chunk{Count: 1, Processes: 2, Cores: 4, Memory: 1 << 30}
	if change != nil {
		change(&o)
	}
	id, err := c.Submit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// one looks at one job.
func one(t *testing.T, c *Client, id grid.LocalID) external.Job {
	t.Helper()
	list, err := c.Look(t.Context(), id)
	if err != nil || len(list) != 1 {
		t.Fatalf("looking at %s: %+v, %v", id, list, err)
	}
	return list[0]
}

// await looks at a job until it is in a state.
func await(t *testing.T, c *Client, id grid.LocalID, state external.State) external.Job {
	t.Helper()
	end := time.Now().Add(2 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		j := one(t, c, id)
		if j.State == state {
			return j
		}
		if time.Now().After(end) {
			t.Fatalf("%s never gets %d: %+v", id, state, j)
		}
		<-tick.C
	}
}

// Jobs are handed over, seen, held, released, removed, and their ends are told.
func TestJobsOfTheFakeBatchSystem(t *testing.T) {
	t.Parallel()
	c, _ := served(t)
	dir := t.TempDir()
	gate := filepath.Join(dir, "go")
	runs := scripted(t, c, fmt.Sprintf("cat $PBS_NODEFILE >%s/nodes; while [ ! -e %s ]; do sleep 0.05; done; exit 7", dir, gate), func(o *external.Order) {
		o.Demand.Chunks[0].Count, o.Demand.Exclusive = 2, true
	})
	j := await(t, c, runs, external.Running)
	if len(j.Places) != 2 || j.Places[0].Cores != 4 || j.Places[0].Processes != 2 || j.Places[0].Memory != 1<<30 || j.Mark != order().Mark || j.Name != order().Tag ||
		j.User != "alice" || j.NeverStarted || j.Started == 0 || !j.Demand.Exclusive || j.Limit != 10*grid.Minute {
		t.Errorf("it runs as %+v", j)
	}
	held := scripted(t, c, "exit 0", func(o *external.Order) { o.Held = true; o.Rerunnable = true })
	l, err := c.Listing(t.Context())
	if err != nil || len(l.Jobs) != 2 || l.Jobs[1].State != external.Held || !l.Jobs[1].OurHold || !l.Jobs[1].NeverStarted || l.Default != "workq" {
		t.Errorf("%+v, %v", l, err)
	}
	if err := c.Release(t.Context(), "", held); err != nil {
		t.Fatal(err)
	}
	if j := await(t, c, held, external.Done); j.End.Cause != grid.ByItself || j.End.ExitCode != 0 || j.Finished == 0 {
		t.Errorf("it ended as %+v", j.End)
	}
	waits := scripted(t, c, "exit 0", func(o *external.Order) { o.Demand.Chunks[0].Count = 4; o.Limit = grid.Hour })
	for _, act := range []struct {
		do    func(id grid.LocalID) error
		state external.State
	}{
		{func(id grid.LocalID) error { return c.Hold(t.Context(), "", id) }, external.Held},
		{func(id grid.LocalID) error { return c.Release(t.Context(), "", id) }, external.Queued},
		{func(id grid.LocalID) error { return c.Remove(t.Context(), "", id) }, external.Done},
		{func(id grid.LocalID) error { return c.Remove(t.Context(), "", id) }, external.Done},
	} {
		if err := act.do(waits); err != nil {
			t.Error(err)
		}
		if j := await(t, c, waits, act.state); !j.NeverStarted {
			t.Errorf("it has started: %+v", j)
		}
	}
	if j := one(t, c, waits); j.End.Cause != grid.ByRequest {
		t.Errorf("it ended as %+v", j.End)
	}
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if j := await(t, c, runs, external.Done); j.End.Cause != grid.ByItself || j.End.ExitCode != 7 {
		t.Errorf("it ended as %+v", j.End)
	}
	killed := scripted(t, c, "sleep 1000", nil)
	await(t, c, killed, external.Running)
	if err := c.Remove(t.Context(), "", killed); err != nil {
		t.Error(err)
	}
	if j := await(t, c, killed, external.Done); j.End.Cause != grid.ByRequest || j.NeverStarted {
		t.Errorf("it ended as %+v", j.End)
	}
	late := scripted(t, c, "sleep 1000", func(o *external.Order) { o.Limit = grid.Second })
	if j := await(t, c, late, external.Done); j.End.Cause != grid.ByWalltime {
		t.Errorf("it ended as %+v", j.End)
	}
}

// Reservations are made, seen, changed, used, refused and ended.
func TestReservationsOfTheFakeBatchSystem(t *testing.T) {
	t.Parallel()
	c, _ := served(t)
	l, err := c.Listing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := external.Reservation{ID: "b1", Nodes: []grid.NodeName{"n02", "n04"}, Start: l.At + grid.Hour, End: l.At + 2*grid.Hour, User: "alice"}
	native, err := c.MakeReservation(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	kept := func() external.Reservation {
		t.Helper()
		list, err := c.Reservations(t.Context())
		if err != nil || len(list) != 1 || list[0].ID != "b1" || list[0].Native != native {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0]
	}
	if is := kept(); is.Start != b.Start || is.End != b.End || !slices.Equal(is.Nodes, b.Nodes) || is.Cores != nil || is.User != "alice" {
		t.Errorf("%+v", is)
	}
	over := b
	over.ID, over.Nodes = "b2", []grid.NodeName{"n01", "n02"}
	if id, err := c.MakeReservation(t.Context(), over); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("an overlapping one: %s, %v", id, err)
	}
	over.Nodes = []grid.NodeName{"nosuch"}
	if id, err := c.MakeReservation(t.Context(), over); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("on a node that is not there: %s, %v", id, err)
	}
	b.Native, b.Start, b.End = native, b.Start+grid.Minute, b.End-grid.Minute
	for range 2 {
		if err := c.ChangeReservation(t.Context(), b); err != nil {
			t.Error(err)
		}
	}
	if is := kept(); is.Start != b.Start || is.End != b.End {
		t.Errorf("%+v", is)
	}
	other := b
	other.Nodes = []grid.NodeName{"n01", "n04"}
	if err := c.ChangeReservation(t.Context(), other); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("other nodes: %v", err)
	}
	inside := scripted(t, c, "exit 0", func(o *external.Order) { o.Reservation = native })
	if j := one(t, c, inside); j.Reservation != native || j.State != external.Queued || j.Queue != "" {
		t.Errorf("%+v", j)
	}
	for range 2 {
		if err := c.EndReservation(t.Context(), native); err != nil {
			t.Error(err)
		}
	}
	if list, err := c.Reservations(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if j := await(t, c, inside, external.Done); !j.NeverStarted || j.End.Cause != grid.ByRequest {
		t.Errorf("what waited in it: %+v", j)
	}
	gone := order()
	gone.Reservation = native
	if _, err := c.Submit(t.Context(), gone); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("into one that has ended: %v", err)
	}
}

// While the server is down nothing is known, and nothing is said to be gone.
func TestTheFakeBatchSystemIsDown(t *testing.T) {
	t.Parallel()
	c, s := served(t)
	id := scripted(t, c, "sleep 1000", nil)
	s.Down()
	_, listed := c.Listing(t.Context())
	_, looked := c.Look(t.Context(), id)
	_, reserved := c.Reservations(t.Context())
	for what, err := range map[string]error{"Listing": listed, "Look": looked, "Reservations": reserved, "Remove": c.Remove(t.Context(), "", id), "EndReservation": c.EndReservation(t.Context(), "R1.pbs1")} {
		if !errors.Is(err, grid.ErrUnavailable) || errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.Up()
	if err := c.Remove(t.Context(), "", id); err != nil {
		t.Error(err)
	}
	await(t, c, id, external.Done)
}
