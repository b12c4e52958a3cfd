// Command figures measures what the README states, with real daemons on this
// machine's loopback, and prints each figure with what it was measured on:
//
//	start      from exec of `gclient submit` to the first line of the job on an idle neighbour
//	submit     submissions per second by 16 parallel clients, each fsynced
//	memory     of a broker after 60 s with two neighbours
//	sandbox    1 GiB from site to site, against copies over TCP in the same run
//
// Usage: go run ./test/figures [-n N] [figure ...]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"gbroker/test/cluster"
)

// bench is what the figures are measured with.
type bench struct {
	dir      string
	programs cluster.Programs
	n        int
	seq      int
}

func main() {
	n := flag.Int("n", 0, "repetitions of a figure; 0 takes its own default")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *n, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

var figures = []struct {
	name string
	run  func(*bench, context.Context) error
}{
	{"start", (*bench).start},
	{"submit", (*bench).submit},
	{"memory", (*bench).memory},
	{"sandbox", (*bench).sandbox},
}

func run(ctx context.Context, n int, names []string) error {
	dir, err := os.MkdirTemp("", "gb-fig-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, n: n}
	if b.programs, err = cluster.Build(ctx, ".", filepath.Join(dir, "bin")); err != nil {
		return err
	}
	fmt.Printf("%d cores, %s\n", runtime.NumCPU(), runtime.Version())
	for _, f := range figures {
		if len(names) > 0 && !slices.Contains(names, f.name) {
			continue
		}
		if err := f.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// sites starts a full mesh and returns it with what ends it.
func (b *bench) sites(ctx context.Context, cores ...int) (list []*cluster.Site, end func(), err error) {
	end = func() {
		for _, s := range list {
			s.Stop()
			s.EndJobs()
		}
	}
	b.seq++
	for i, n := range cores {
		dir := filepath.Join(b.dir, fmt.Sprint(b.seq))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return list, end, err
		}
		s, err := cluster.Init(ctx, b.programs, dir, fmt.Sprintf("s%d", i+1), cluster.Options{Nodes: 1, Cores: n})
		if err != nil {
			return list, end, err
		}
		list = append(list, s)
		if err := s.Start(ctx); err != nil {
			return list, end, err
		}
	}
	if err := cluster.Mesh(ctx, list...); err != nil {
		return list, end, err
	}
	for _, s := range list {
		if err := s.Sees(ctx, waitLimit, others(s, list)...); err != nil {
			return list, end, err
		}
	}
	return list, end, nil
}

func others(s *cluster.Site, list []*cluster.Site) (names []string) {
	for _, o := range list {
		if o != s {
			names = append(names, o.Name)
		}
	}
	return names
}

// spread is the median and the worst of a row of figures.
func spread(v []float64) (median, p90, worst float64) {
	slices.Sort(v)
	return v[len(v)/2], v[len(v)*9/10], v[len(v)-1]
}
