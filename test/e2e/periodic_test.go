package e2e

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// A pipeline of four tasks, twice a second, over two embedded sites: each period is an instance that ended well, or is told as missed.
// GBROKER_PERIODS is how many; docs/experiments.md has figures of two minutes.
func TestAPipeline(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 4})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 4})
	start(t, a, b)
	introduce(t, a, b)
	n, _ := strconv.Atoi(cmp.Or(os.Getenv("GBROKER_PERIODS"), "8"))
	text := `workflow: 1
name: pipeline
periodic: {rate: 2, count: ` + strconv.Itoa(n) + `, deadline: 10s}
tasks:
  - {name: sense, command: [sh, -c, "date +%s%N > frame"], outputs: [frame], runtime: 50ms, walltime: 1m}
  - {name: left, command: [sh, -c, "sleep 0.05; cat frame > left"], inputs: [frame], outputs: [left], runtime: 100ms, walltime: 1m}
  - {name: right, command: [sh, -c, "sleep 0.05; cat frame > right"], inputs: [frame], outputs: [right], runtime: 100ms, walltime: 1m}
  - {name: fuse, command: [sh, -c, "cmp left right && cat left > fused"], inputs: [left, right], outputs: [fused], runtime: 50ms, walltime: 1m}
`
	file := filepath.Join(dir, "pipeline.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	f := flowOf(t, a, strings.TrimSpace(client(t, a, "flow", "submit", file)), time.Duration(n)*time.Second/2+3*time.Minute)
	p := f.Periods
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("%d periods: %+v; load %.5s", n, *p, load)
	if p.Done+p.Failed+p.Missed != n || p.Failed > 0 || p.Open > 0 || p.Done == 0 {
		t.Errorf("the periods are %+v", p)
	}
	if n >= 200 && p.Missed*100 > n {
		t.Errorf("%d of %d periods were missed, more than a hundredth", p.Missed, n)
	}
}

// Files that appear in a folder that is watched begin an instance each, at another site too, over a kill of their home; each is seen once,
// and its tasks have its bytes.
func TestAWatchedFolder(t *testing.T) {
	t.Parallel()
	dir := place(t)
	me, err := user.Current()
	must(t, err)
	incoming, ledger := filepath.Join(dir, "watched", me.Username, "incoming"), filepath.Join(dir, "ledger")
	must(t, os.MkdirAll(incoming, 0o755))
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 1, More: "files: {watch: " + filepath.Join(dir, "watched") + "}\n"})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 4})
	start(t, a, b)
	introduce(t, a, b)
	const n = 3
	text := fmt.Sprintf(`workflow: 1
name: watching
periodic: {folder: incoming, as: picture, count: %d, deadline: 1m}
tasks:
  - {name: look, command: [sh, -c, "cat picture >> %s; cat picture picture > seen"], inputs: [picture], outputs: [seen], runtime: 100ms, walltime: 1m}
  - {name: tell, command: [sh, -c, "cat seen picture > told"], inputs: [seen, picture], outputs: [told], runtime: 100ms, walltime: 1m}
`, n, ledger)
	file := filepath.Join(dir, "watching.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	for i := range n {
		part := filepath.Join(dir, "part")
		must(t, os.WriteFile(part, fmt.Appendf(nil, "picture %d\n", i), 0o644))
		must(t, os.Rename(part, filepath.Join(incoming, fmt.Sprint("p", i))))
	}
	id := strings.TrimSpace(client(t, a, "flow", "submit", file))
	eventually(t, "the first file is seen", func() bool { _, err := os.Stat(ledger); return err == nil })
	a.Kill()
	start(t, a)
	f := flowOf(t, a, id, patience)
	if p := f.Periods; p.Done != n || p.Failed+p.Missed+p.Open > 0 {
		t.Errorf("the instances are %+v", p)
	}
	said, err := os.ReadFile(ledger)
	must(t, err)
	for i := range n {
		if k := strings.Count(string(said), fmt.Sprintf("picture %d\n", i)); k != 1 {
			t.Errorf("the file %d was seen %d times", i, k)
		}
	}
	if f.Tasks[1].State != api.FlowDone {
		t.Fatalf("the last instance is %+v", f.Tasks)
	}
	out := filepath.Join(dir, "out")
	client(t, a, "output", string(f.Tasks[1].Job), out)
	told, err := os.ReadFile(filepath.Join(out, "told"))
	if line, _, _ := strings.Cut(string(told), "\n"); err != nil || len(line) != len("picture 0") || string(told) != strings.Repeat(line+"\n", 3) {
		t.Errorf("the last task left %q (%v)", told, err)
	}
	t.Logf("begun %v after it was handed in; ages: median %.1f s, most %.1f s", time.Duration(f.Begun-f.Submitted)*time.Millisecond, f.Periods.AgeP50S, f.Periods.AgeMostS)
}

// The slots of the second instance of a pipeline are reserved: it runs in its time, though jobs that were handed in before it wait for the nodes.
// Without that it waits for them. It takes minutes: GBROKER_RESERVE=1 runs it.
func TestAPipelineWithReservations(t *testing.T) {
	if os.Getenv("GBROKER_RESERVE") == "" {
		t.Skip("GBROKER_RESERVE=1 runs it, for four minutes")
	}
	for _, reserve := range []bool{true, false} {
		t.Run(fmt.Sprint(reserve), func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			a := newSite(t, dir, "a", cluster.Options{Nodes: 2, Cores: 1})
			start(t, a)
			text := fmt.Sprintf(`workflow: 1
periodic: {rate: 1, per: 1m, count: 2, reserve: %v}
tasks:
  - {name: sense, command: [sh, -c, "date > frame"], outputs: [frame], runtime: 1s, walltime: 20s}
  - {name: tell, command: [sh, -c, "cat frame > told"], inputs: [frame], outputs: [told], runtime: 1s, walltime: 20s}
`, reserve)
			file, other := filepath.Join(dir, "pipeline.yaml"), filepath.Join(dir, "other.sh")
			must(t, os.WriteFile(file, []byte(text), 0o644))
			must(t, os.WriteFile(other, []byte("#!/bin/sh\n#SBATCH -t 1\nsleep 40\n"), 0o755))
			id := strings.TrimSpace(client(t, a, "flow", "submit", file))
			eventually(t, "the first instance has ended", func() bool {
				p := told[api.FlowStatus](t, a, "flow", "status", id).Periods
				return p.Done == 1 && (p.Reserved == 2 || !reserve)
			})
			for range 12 {
				client(t, a, "submit", other)
			}
			p := flowOf(t, a, id, 8*time.Minute).Periods
			t.Logf("reserved %v: %+v", reserve, *p)
			if p.Done != 2 || reserve != (p.AgeMostS < 20) {
				t.Errorf("reserved %v: the periods are %+v", reserve, p)
			}
		})
	}
}
