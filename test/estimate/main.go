// Command estimate shows how good estimates of starts are, on real Slurm clusters: it starts
// three on the loopback, of 8, 12 and 20 cores, with a whole broker beside each, and hands
// them a generated load. For each job
//
//	sbatch --test-only      tells when Slurm would start it
//	submission to the broker  tells when the broker expects it to start (start_estimate_at_submit), and really submits it
//	the end                 tells when its program has started
//
// and the errors of both words are compared. The brokers know no neighbours, and learn run
// times from what ended in this very run.
//
//	estimate [-where | -live DIR] [-seed N] [-jobs N] [--json FILE] [-keep DIR]
//
// With -where the brokers are neighbours, and local jobs run beside: for each job a broker is asked where it would
// run and when (gclient where), then gets it. The goals: the site is the same for nine of ten jobs, and eight of ten
// start within the spread that was told.
//
// With -live it is the batch system whose commands are on PATH, of whatever kind, and DIR a folder that its nodes see: run
// it as a user who may submit there (and, of Maui, is an administrator), on an idle system. Nothing is compared, and there is no goal.
//
// It ends with 1 where a goal is missed. Without -where: our mean absolute error is at most half of
// Slurm's, of all jobs and of those that waited for more than 10 s, of which there are at
// least a quarter. The seed decides the load, not how fast the machine is.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gbroker/pbs/slurm/slurmtest"
)

func main() {
	o := options{}
	flag.Uint64Var(&o.seed, "seed", 1, "what the load is drawn from")
	flag.IntVar(&o.jobs, "jobs", 200, "how many jobs")
	flag.StringVar(&o.json, "json", "", "write all jobs and figures to this `FILE`")
	flag.StringVar(&o.keep, "keep", "", "make the brokers' folders in this new `DIR`, and leave them there")
	flag.BoolVar(&o.where, "where", false, "measure how true it is where and when jobs are told to run")
	flag.StringVar(&o.live, "live", "", "measure the batch system whose commands are on PATH, with the broker's folder in `DIR`")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	err := estimate(ctx, o)
	slurmtest.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "estimate:", err)
		os.Exit(1)
	}
}

type options struct {
	seed       uint64
	jobs       int
	json, keep string
	where      bool
	live       string
}

// longest is how long a run may take.
const longest = 30 * time.Minute

func estimate(ctx context.Context, o options) (err error) {
	if o.jobs < len(clusters) || o.jobs > 10_000 {
		return fmt.Errorf("%d jobs: give %d to 10000", o.jobs, len(clusters))
	}
	if o.live != "" {
		return estimateLive(ctx, o)
	}
	if err := slurmtest.Missing(); err != nil {
		return err
	}
	dir, err := folder(o.keep)
	if err != nil {
		return err
	}
	if o.keep == "" {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if o.where {
		list, took, err := measureWhere(ctx, os.Stdout, dir, clusters, drawWhere(o.seed, int(math.Ceil(float64(o.jobs)*(1+warm)))))
		if err != nil {
			return err
		}
		r := newWhereReport(o.seed, took, list)
		return finish(o, &r)
	}
	results, took, err := measure(ctx, os.Stdout, dir, clusters, draw(o.seed, o.jobs))
	if err != nil {
		return err
	}
	r := newReport(o.seed, took, results)
	return finish(o, &r)
}

// finish prints a report and gives its verdict.
func finish(o options, r interface {
	table() string
	verdict() error
}) error {
	fmt.Print(r.table())
	if o.json != "" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return r.verdict()
}

// folder is a new one; short, as paths of Unix sockets must be.
func folder(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("/tmp", "estimate")
	}
	return keep, os.Mkdir(keep, 0o755)
}
