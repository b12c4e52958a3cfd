package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// drawnFlow is a workflow of 25 tasks in five layers that sleep as long as they say, each needing one to three of the layer before.
func drawnFlow(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("workflow: 1\ntasks:\n")
	var before, layer []string
	for i := range 25 {
		if i%5 == 0 {
			before, layer = layer, nil
		}
		name := fmt.Sprintf("t%02d", i)
		layer = append(layer, name)
		var needs []string
		for _, k := range r.Perm(len(before))[:min(len(before), 1+r.IntN(3))] {
			needs = append(needs, before[k])
		}
		runs := time.Duration(1000+r.IntN(4000)) * time.Millisecond
		fmt.Fprintf(&b, "  - {name: %s, command: [sh, -c, \"sleep %.3f; echo %s > %s\"], inputs: [%s], outputs: [%s], cores: %d, runtime: %s, walltime: 1m}\n",
			name, runs.Seconds(), name, name, strings.Join(needs, ", "), name, 1+r.IntN(2), runs)
	}
	return b.String()
}

// lag is how long after the end of what it needs a task started, in the mean of those that need something. Waits for cores are in it.
func lag(f *api.FlowStatus) (sum time.Duration) {
	n := time.Duration(0)
	for i, x := range f.Tasks {
		ready := api.Time(0)
		for _, e := range f.Edges {
			if e[1] == i {
				ready = max(ready, f.Tasks[e[0]].Ended)
			}
		}
		if ready > 0 {
			sum, n = sum+time.Duration(x.Started-ready)*time.Millisecond, n+1
		}
	}
	return sum / max(n, 1)
}

// makespans is how many workflows are to be measured.
func makespans(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("GBROKER_MAKESPAN"), "0"))
	must(t, err)
	return n
}

// Makespan against the first plan, over three embedded sites, one of which another job has half of: GBROKER_MAKESPAN is how many
// workflows. docs/experiments.md has figures.
func TestMakespanAgainstPlan(t *testing.T) {
	n := makespans(t)
	if n == 0 {
		t.Skip("GBROKER_MAKESPAN is how many workflows")
	}
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 2})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 4})
	c := newSite(t, dir, "c", cluster.Options{Nodes: 1, Cores: 4})
	start(t, a, b, c)
	introduce(t, a, b, c)
	busy := filepath.Join(dir, "busy.sh")
	must(t, os.WriteFile(busy, []byte("#!/bin/sh\n#SBATCH -n 1 -c 2 -t 60\nsleep 3600\n"), 0o755))
	client(t, b, "submit", busy)
	seed := uint64(time.Now().UnixMicro())
	t.Logf("seed %d", seed)
	sum, worst := 0.0, 0.0
	for i := range n {
		file := filepath.Join(dir, fmt.Sprintf("flow%d.yaml", i))
		must(t, os.WriteFile(file, []byte(drawnFlow(rand.New(rand.NewPCG(seed, uint64(i))))), 0o644))
		f := flowOf(t, a, strings.TrimSpace(client(t, a, "flow", "submit", file)), 10*time.Minute)
		if f.States[api.FlowDone] != 25 {
			t.Fatalf("the workflow is %+v", f.States)
		}
		ratio := f.MakespanS / f.PlannedS
		sum, worst = sum+ratio, max(worst, ratio)
		load, _ := os.ReadFile("/proc/loadavg")
		t.Logf("a task started %s after what it needs had ended, in the mean", lag(&f).Round(time.Millisecond))
		t.Logf("makespan %.2f s, planned %.2f s, bound %.2f s: %.3f; %d plans; load %.4s", f.MakespanS, f.PlannedS, f.BoundS, ratio, f.PlansMade, load)
	}
	t.Logf("makespan over plan: mean %.3f, worst %.3f of %d", sum/float64(n), worst, n)
	if worst > 1.15 {
		t.Errorf("a makespan is %.3f of its plan, more than 1.15", worst)
	}
}
