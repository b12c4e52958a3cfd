package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gbroker/pbs/pool/line"
)

// files makes a folder of files in place of those of the kernel.
func files(t *testing.T, dir string, content map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func holds(t *testing.T, dir string, content map[string]string) {
	t.Helper()
	for name, want := range content {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; it should be %q", name, got, err, want)
		}
	}
}

// A group with controllers holds a job to its memory, and gives it the processor last; without them it is a group all the same.
func TestConfine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files(t, dir, map[string]string{"cpu.weight": "", "cpu.idle": "", "memory.max": "", "memory.oom.group": "", "pids.max": ""})
	j := Job{Assignment: line.Assignment{Cores: 2, Room: 1 << 28}}
	if err := group(dir).confine(j); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"cpu.weight": "1", "cpu.idle": "1", "memory.max": "268435456", "memory.oom.group": "1", "pids.max": "8192"})
	if err := group(t.TempDir()).confine(j); err != nil {
		t.Errorf("without controllers: %v", err)
	}
}

// A group that gives controllers may have no process: an agent that has one for itself leaves it for another below it; one that is not alone, or is given none,
// stays where it is.
func TestAgentMakesWay(t *testing.T) {
	t.Parallel()
	self := strconv.Itoa(os.Getpid())
	for name, c := range map[string]struct {
		procs, controllers string
		moves              bool
	}{
		"alone":            {self + "\n", "cpuset cpu memory\n", true},
		"not alone":        {self + "\n99999999\n", "cpu memory\n", false},
		"other":            {self + "9\n", "cpu memory\n", false},
		"none is given":    {self + "\n", "\n", false},
		"none that we use": {self + "\n", "cpuset io\n", false},
	} {
		own := t.TempDir()
		files(t, own, map[string]string{"cgroup.procs": c.procs, "cgroup.controllers": c.controllers, "cgroup.subtree_control": ""})
		files(t, filepath.Join(own, "agent"), map[string]string{"cgroup.procs": ""})
		files(t, filepath.Join(own, "gbroker"), map[string]string{"cgroup.kill": ""})
		g, err := openGroups(own)
		if err != nil || g.root != filepath.Join(own, "gbroker") {
			t.Fatalf("%s: %+v, %v", name, g, err)
		}
		where := ""
		if c.moves {
			where = self
		}
		holds(t, own, map[string]string{"agent/cgroup.procs": where})
		if moved := g.home != own; moved != c.moves {
			t.Errorf("%s: the agent is in %s", name, g.home)
		}
	}
	if _, err := openGroups(t.TempDir()); err == nil {
		t.Error("a folder that is no control group is taken for one")
	}
}

// Two agents of one computer have different groups for the same attempt, and each always the same.
func TestGroupsOfAgents(t *testing.T) {
	t.Parallel()
	g := groups{root: "/groups"}
	a, b := g.of("/a/jobs/tag"), g.of("/b/jobs/tag")
	if a == b || a != g.of("/a/jobs/tag") || filepath.Dir(string(a)) != "/groups" {
		t.Errorf("%s, %s", a, b)
	}
	if none := (groups{}).of("/a/jobs/tag"); none != "" || none.freeze(true) != nil || none.clear() != nil {
		t.Errorf("without groups: %q", none)
	}
}
