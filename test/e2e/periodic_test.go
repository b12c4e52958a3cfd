package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

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
