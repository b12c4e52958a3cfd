package torque

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

// The traps are those that were measured on real systems; each test names its own.

const mark = "me/here.01ABCDEFGHJKMNPQRSTVWXYZ00@1.2#3"

// stage is a fake batch system with clients of it.
type stage struct {
	*fakebatch.Server
	client *Client
	maui   *Maui
	t      *testing.T
}

func onStage(t *testing.T, c batch.Config) stage {
	c.Face = "torque"
	s := fakebatch.Start(t, c)
	config := Config{Runner: command.Runner{Folders: []string{s.Bin}, Limit: 2 * time.Minute}}
	return stage{s, New(config), NewMaui(config), t}
}

// order is a small job that runs a script.
func (s stage) order(script string) external.Order {
	dir := s.t.TempDir()
	for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) { // whoever the job runs as
		if err := os.Chmod(d, 0o777); err != nil {
			s.t.Fatal(err)
		}
	}
	return external.Order{Tag: "gabcdefghijklmn", Mark: mark, Script: []byte("#!/bin/sh\n" + script + "\n"), Work: dir,
		Log: filepath.Join(dir, "log"), Limit: 10 * grid.Minute, Demand: one(1)}
}

func one(cores int) grid.Demand {
	return grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: cores, Cores: cores}}}
}

func (s stage) submit(c external.Client, o external.Order) grid.LocalID {
	s.t.Helper()
	id, err := c.Submit(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// look gives one job.
func (s stage) look(id grid.LocalID) external.Job {
	s.t.Helper()
	list, err := s.client.Look(s.t.Context(), id)
	if err != nil || len(list) != 1 {
		s.t.Fatalf("looking at %s: %+v, %v", id, list, err)
	}
	return list[0]
}

func (s stage) awaitState(id grid.LocalID, state external.State) external.Job {
	s.t.Helper()
	is := map[external.State]func(batch.Job) bool{
		external.Running: func(j batch.Job) bool { return j.State == batch.Running },
		external.Done:    func(j batch.Job) bool { return j.Ended() },
	}
	s.Await(string(id), is[state])
	return s.look(id)
}

func kind(t *testing.T, what string, err error, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v is not %v", what, err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %q is not in %v", what, w, err)
		}
	}
}

func mustQsub(t *testing.T, o external.Order) command.Call {
	t.Helper()
	c, err := qsub(o, true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
