package embedded_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/embedded"
	"gbroker/plan"
)

// bench is a running system of 4 nodes with 8 cores; ended gets each attempt's change.
func bench(b *testing.B) (s *embedded.System, changed chan grid.AttemptID) {
	changed = make(chan grid.AttemptID, 1<<16)
	var nodes []plan.Node
	for i := range 4 {
		nodes = append(nodes, plan.Node{Name: grid.NodeName(fmt.Sprint("n", i)), Cores: 8})
	}
	config := embedded.Config{
		Site: grid.Site{Name: "here", Speed: 1}, Nodes: nodes, Spool: filepath.Join(b.TempDir(), "spool"),
		Changed: func(at grid.AttemptID) { changed <- at },
	}
	if other := os.Getenv("GBROKER_BENCH_SUPERVISOR"); other != "" { // the real daemon's binary
		config.Supervisor = []string{other, "supervise"}
	}
	s, err := embedded.New(config)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return s, changed
}

func submission(b *testing.B, dir string, n int, p grid.Program) grid.Submission {
	b.Helper()
	id := grid.NewJobID("here", fmt.Sprintf("01%024d", n))
	j := grid.Submission{
		ID:   grid.AttemptID{Job: id, Epoch: grid.Epoch{Term: 1}, Attempt: 1},
		Work: filepath.Join(dir, string(id), "w"), Control: filepath.Join(dir, string(id), "c"), Limit: grid.Hour,
	}
	j.Job = grid.Job{ID: id, Program: p, Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}}
	for _, d := range []string{j.Work, j.Control} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	return j
}

func awaitEnd(b *testing.B, s *embedded.System, changed <-chan grid.AttemptID, j grid.Submission) {
	b.Helper()
	for {
		p, err := s.Progress(context.Background(), j.ID, j.Control)
		if err != nil {
			b.Fatal(err)
		}
		if p.Phase == grid.Ended {
			if p.Cause != grid.ByItself || p.ExitCode != 0 {
				b.Fatalf("ended %+v", p)
			}
			return
		}
		<-changed
	}
}

// From Submit to the program's own look at the clock, on an idle site.
func BenchmarkSubmitToStart(b *testing.B) {
	s, changed := bench(b)
	dir := b.TempDir()
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		j := submission(b, dir, n, grid.Program{Executable: "/bin/date", Arguments: []string{"+%s%N"}})
		begin := time.Now()
		if _, err := s.Submit(context.Background(), j); err != nil {
			b.Fatal(err)
		}
		awaitEnd(b, s, changed, j)
		out, err := os.ReadFile(filepath.Join(j.Work, "stdout"))
		if err != nil {
			b.Fatal(err)
		}
		at, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Unix(0, at).Sub(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median")
	b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1000, "ms/p90")
}

// Short jobs from Submit to their end, on 32 declared cores.
func BenchmarkThroughput(b *testing.B) {
	s, changed := bench(b)
	dir := b.TempDir()
	n := 0
	const batch = 200
	for b.Loop() {
		var jobs []grid.Submission
		for range batch {
			j := submission(b, dir, n, grid.Program{Executable: "/bin/true"})
			n++
			if _, err := s.Submit(context.Background(), j); err != nil {
				b.Fatal(err)
			}
			jobs = append(jobs, j)
		}
		for _, j := range jobs {
			awaitEnd(b, s, changed, j)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "jobs/s")
}
