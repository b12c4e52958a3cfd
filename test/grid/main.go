// Command grid runs the workload of the three-site experiment, at a small scale, on three real daemons of this machine whose jobs sleep, and
// the same jobs in the simulator (package sim/brokers): mean wait W and response T of both, which should be within a tenth of each other.
//
// The jobs reach the simulated brokers when the real ones took them, and run there for as long as they sleep and a program takes to begin and
// end here: the median over all jobs. It ends with 1 where W or T differ by more than -within. It is about the brokers, not about this machine:
// on a busy one a job that is to start now starts later. -within 0 judges nothing.
//
// Usage: go run ./test/grid [-bin DIR] [-jobs N] [-seed N] [-within PART]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"gbroker/sim/brokers"
	"gbroker/sim/workload"
	"gbroker/test/cluster"
)

func main() {
	bin := flag.String("bin", "", "folder of the built programs; left out, they are built for the occasion")
	jobs := flag.Int("jobs", 100, "how many jobs")
	seed := flag.Uint64("seed", 1, "of the jobs")
	within := flag.Float64("within", 0.1, "the largest difference, as a part of what was simulated; 0 judges nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	if err := run(ctx, *bin, *jobs, *seed, *within); err != nil {
		fmt.Fprintln(os.Stderr, "grid:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin string, jobs int, seed uint64, within float64) (err error) {
	if jobs < 10 || jobs > 1000 {
		return fmt.Errorf("-jobs %d: from 10 to 1000", jobs)
	}
	dir, err := os.MkdirTemp("", "gbroker-grid-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	programs := cluster.In(bin)
	if bin == "" {
		if programs, err = cluster.Build(ctx, ".", filepath.Join(dir, "bin")); err != nil {
			return err
		}
	}
	w := world(jobs, seed)
	real, err := measure(ctx, programs, dir, w.Jobs)
	if err != nil {
		return err
	}
	return compare(w, real, within)
}

// sites are those of the paper, each one node, on which nothing fragments.
var sites = []brokers.Site{{Name: "xeon16", Cores: 16}, {Name: "xeon32", Cores: 32}, {Name: "xeon80", Cores: 80}}

// each is how often the brokers look again for better places.
const each = 5 * time.Second

// world is the experiment: jobs of some seconds come to the largest site, so fast that they have to wait.
func world(jobs int, seed uint64) brokers.World {
	m := workload.Model{
		Jobs: jobs, Load: 0.9, Cores: workload.Numbers{Kind: workload.Poisson, Mean: 24, From: 1, To: 80},
		Run: workload.Numbers{Kind: workload.Lognormal, Mean: 8, CV: 1, From: 1, To: 60}, Over: workload.Value(2), Home: 2, Users: 1, Seed: seed,
	}
	w := brokers.World{Sites: sites, Members: [][]int{{1, 2}, {0, 2}, {0, 1}}, Seed: seed}
	w.Jobs = m.Make([]workload.Site{{Cores: 16, Speed: 1}, {Cores: 32, Speed: 1}, {Cores: 80, Speed: 1}})
	return w
}
