package main

import (
	crand "crypto/rand"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/test/cluster"
)

var (
	seed = flag.Uint64("torture.seed", rand.Uint64N(1e6), "what the run is drawn from")

	// isolated tells that the tests run in a box.
	isolated bool
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(boxed(func(in bool) int {
		isolated = in
		return m.Run()
	}))
}

// The whole, in its shorter form: five brokers, forty jobs, and whatever happens to them.
func TestTorture(t *testing.T) {
	err := withPrograms(t.Context(), "", func(p cluster.Programs) error {
		return torture(t.Context(), options{form: shorter, seed: *seed, programs: p, isolated: isolated, verbose: true, out: t.Output()})
	})
	if err != nil {
		t.Error(err)
	}
}

// A process that a job has left is found by the run's mark in its environment, or by
// the run's folder.
func TestProcessesAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRun(options{form: shorter}, dir)
	r.mark = "test-" + crand.Text()
	if left := r.processes(); len(left) > 0 {
		t.Fatalf("before anything was started: %v", left)
	}
	for what, cmd := range map[string]*exec.Cmd{"mark": exec.Command("sleep", "60"), "folder": exec.Command("sleep", "60")} {
		if what == "mark" {
			cmd.Env = append(os.Environ(), markVariable+"="+r.mark)
		} else if cmd.Dir = filepath.Join(dir, "work"); os.Mkdir(cmd.Dir, 0o755) != nil {
			t.Fatal("no folder")
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		left := r.processes()
		if len(left) != 1 || !strings.HasPrefix(left[0], fmt.Sprint(cmd.Process.Pid)+" ") {
			t.Errorf("the process with the run's %s is %d; found: %v", what, cmd.Process.Pid, left)
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// A seed stands for one run: what is drawn from it is the same each time.
func TestSeedDecides(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) []any {
		r := newRun(options{form: full, seed: seed}, "")
		return []any{r.edges, r.pairs, r.work, r.script}
	}
	if !reflect.DeepEqual(draw(7), draw(7)) {
		t.Error("one seed gave two runs")
	}
	if reflect.DeepEqual(draw(7), draw(8)) {
		t.Error("two seeds gave one run")
	}
}

// What is drawn has what a run is for: all kinds of faults and jobs, a graph in which
// every site reaches every other.
func TestDrawn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := newRun(options{form: full, seed: seed}, "")
		for _, kind := range faultKinds {
			if len(r.script[kind]) < 30 {
				t.Errorf("seed %d: %d faults of kind %s", seed, len(r.script[kind]), kind)
			}
		}
		kinds, pinned := map[kind]int{}, 0
		for _, w := range r.work {
			kinds[w.Kind]++
			if w.Arch != "" {
				pinned++
			}
		}
		if len(r.work) != 300 || len(kinds) != len(may) || pinned < 60 {
			t.Errorf("seed %d: %d jobs, %v, %d meant for another site", seed, len(r.work), kinds, pinned)
		}
		for from := range siteCount {
			if reached := reach(r.edges, from); len(reached) != siteCount {
				t.Errorf("seed %d: site %d reaches only %v: %v", seed, from, reached, r.edges)
			}
		}
	}
}

func reach(edges map[int][]int, from int) map[int]bool {
	seen, open := map[int]bool{from: true}, []int{from}
	for len(open) > 0 {
		for _, j := range edges[open[0]] {
			if !seen[j] {
				seen[j] = true
				open = append(open, j)
			}
		}
		open = open[1:]
	}
	return seen
}
