package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/plan"
)

// Who stood before one that starts was overtaken, unless he was held; and who starts has his place.
func TestWhoWasOvertaken(t *testing.T) {
	t.Parallel()
	s, _ := bare(t)
	s.config.Nodes = []plan.Node{{Name: "n1", Cores: 2}}
	s.config.Site = grid.Site{Name: "here", Processes: 2, Speed: 1}
	policy, err := plan.ParsePolicy("firstfit")
	if err != nil {
		t.Fatal(err)
	}
	s.config.Policy = policy
	job := func(n, cores int) *entry {
		id := grid.AttemptID{Job: grid.NewJobID("here", ulid(t)), Attempt: uint32(n)}
		e := &entry{spec: &supervise.Spec{ID: id, Limit: grid.Hour, Sequence: uint64(n), Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: cores, Cores: cores}}}}}
		s.known[id] = e
		return e
	}
	runs := job(1, 1)
	runs.started, runs.shares = control.Now(), []plan.Share{{Node: 0, Processes: 1, Cores: 1}}
	s.busy = []*entry{runs}
	held, wide, narrow, last := job(2, 1), job(3, 2), job(4, 1), job(5, 1)
	held.spec.Held = true
	for _, e := range []*entry{held, wide, narrow, last} {
		s.enqueue(e)
	}
	chosen, next := s.choose()
	if len(chosen) != 1 || chosen[0] != narrow || next != 0 {
		t.Fatalf("chosen are %d, next %d", len(chosen), next)
	}
	if held.overtaken != 0 || wide.overtaken != 1 || last.overtaken != 0 {
		t.Errorf("overtaken: held %d, wide %d, behind it %d", held.overtaken, wide.overtaken, last.overtaken)
	}
	if narrow.waiting || narrow.started == 0 || len(narrow.shares) != 1 || len(narrow.spec.Shares) != 1 || narrow.spec.Shares[0].Node != "n1" || len(s.queue) != 3 || len(s.busy) != 2 {
		t.Errorf("it is %+v, of %d that wait and %d that run", narrow, len(s.queue), len(s.busy))
	}
}

// Confinement that is asked for and cannot be had is told, with the reason; one that is not asked for is none.
func TestConfinementIsTold(t *testing.T) {
	t.Parallel()
	for _, confine := range []bool{false, true} {
		s, err := New(Config{Site: grid.Site{Name: "here", Speed: 1}, Nodes: []plan.Node{{Name: "n1", Cores: 1}}, Spool: filepath.Join(t.TempDir(), "spool"), Supervisor: []string{"/bin/false"}, Confine: confine})
		if err != nil {
			t.Fatal(err)
		}
		if s.groups.root != "" {
			t.Cleanup(func() { os.Remove(s.groups.root) }) // if no other uses it
		}
		what, err := s.Confinement()
		if tried := s.groups.root != "" || s.groups.why != nil; tried != confine || what == "" || !confine && err != nil || (err != nil) != (s.groups.why != nil) {
			t.Errorf("confined (%t): %s, %v", confine, what, err)
		}
	}
}

// A file in the place of the group of all jobs is told, and left.
func TestAFileInThePlaceOfTheGroups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "gbroker")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "cgroup.controllers"), nil, 0o600), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if root, err := makeRoot(dir, nil); err == nil || root != "" {
		t.Errorf("%q", root)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
