package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/api"
)

// A workflow of 25 tasks, whose fan-outs no two of three real Slurm clusters have room for at once: each task runs once, though its home is killed
// twice and another site once, all three have some, and the bytes are right.
func TestAWorkflowOverThreeClusters(t *testing.T) {
	t.Parallel()
	_, sites, ledger := overThree(t)
	home := sites["busy"]
	dir := place(t)
	text, want := twentyFive(ledger)
	text = strings.ReplaceAll(text, "runtime: 500ms", "cores: 2, runtime: 500ms")
	must(t, os.WriteFile(filepath.Join(dir, "text.txt"), []byte("bytes\n"), 0o644))
	file := filepath.Join(dir, "flow.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	id := strings.TrimSpace(client(t, home, "flow", "submit", file))
	if makespans(t) == 0 { // else it is measured
		killAlong(t, ledger, home, sites["wide"])
	}
	f := flowOf(t, home, id, 5*time.Minute)
	at := map[string]int{}
	said, err := os.ReadFile(ledger)
	must(t, err)
	for _, task := range f.Tasks {
		at[task.Site]++
		begun, ended := strings.Count(string(said), "start "+task.Name+"\n"), strings.Count(string(said), "end "+task.Name+"\n")
		if begun != 1 || ended != 1 {
			t.Errorf("%s was begun %d times, and ended %d times", task.Name, begun, ended)
		}
	}
	if f.States[api.FlowDone] != 25 || len(at) < 3 {
		t.Errorf("the workflow is %v, at %v", f.States, at)
	}
	for range makespans(t) { // the plan knows by then what the clusters take beside the runs
		f := flowOf(t, home, strings.TrimSpace(client(t, home, "flow", "submit", file)), 5*time.Minute)
		t.Logf("makespan %.1f s, planned %.1f s, lower bound %.1f s, %d plans", f.MakespanS, f.PlannedS, f.BoundS, f.PlansMade)
	}
	t.Logf("makespan %.1f s, planned %.1f s, lower bound %.1f s, %d plans, tasks by site %v", f.MakespanS, f.PlannedS, f.BoundS, f.PlansMade, at)
	out := filepath.Join(dir, "out")
	client(t, home, "flow", "wait", id, "--output", out)
	if got, err := os.ReadFile(filepath.Join(out, "last", "result")); err != nil || string(got) != want {
		t.Errorf("the result has %d bytes, not %d (%v)", len(got), len(want), err)
	}
}
