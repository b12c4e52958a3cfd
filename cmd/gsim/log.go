package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
	"gbroker/plan"
	"gbroker/sim/replay"
)

// logFlags say which log is read, how, and for which policy.
type logFlags struct {
	policy    string
	normalise bool
	procs     int32
	partition int64
}

func (f *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.policy, "policy", "", "the scheduler's policy `P`: "+plan.Policies)
	cmd.Flags().BoolVar(&f.normalise, "normalise", false, "make a raw log one that can be replayed")
	cmd.Flags().Int32Var(&f.procs, "procs", 0, "the machine has `N` processors (default: as the log's header says)")
	cmd.Flags().Int64Var(&f.partition, "partition", 0, "take the jobs of partition `P` alone (default: all)")
}

// read reads a log for a policy, or for more that needs the requested times (limits).
// The changes are nil if the log was not to be normalised.
func (f *logFlags) read(cmd *cobra.Command, path string, limits bool) (plan.Policy, *replay.Log, *replay.Changes, error) {
	o, p, err := f.options(cmd)
	if err != nil {
		return p, nil, nil, err
	}
	o.Limits = o.Limits || limits
	file, err := os.Open(path)
	if err != nil {
		return p, nil, nil, fmt.Errorf("opening the log: %w", err)
	}
	defer file.Close()
	log, changes, err := replay.Read(untilDone{cmd.Context(), file}, o)
	switch {
	case cmd.Context().Err() != nil:
		return p, nil, nil, interrupted(cmd.Context().Err())
	case errors.Is(err, replay.NoSize):
		return p, nil, nil, cli.BadUsage("%s: %v: give --procs N", path, err)
	case err != nil:
		return p, nil, nil, fmt.Errorf("%s: %w", path, err)
	case !f.normalise:
		return p, log, nil, nil
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(),
		"normalised: dropped %d of %d jobs (%d without processors, %d too large, %d without run time); "+
			"%d without requested time got their run time, %d run times were cut\n",
		changes.Dropped(), changes.Read, changes.NoProcessors, changes.TooLarge, changes.NoRunTime, changes.NoEstimate, changes.Cut)
	return p, log, &changes, err
}

func (f *logFlags) options(cmd *cobra.Command) (replay.Options, plan.Policy, error) {
	if f.policy == "" {
		return replay.Options{}, plan.Policy{}, cli.BadUsage("--policy is needed: %s", plan.Policies)
	}
	p, err := plan.ParsePolicy(f.policy)
	if err != nil {
		return replay.Options{}, p, cli.BadUsage("%v", err)
	}
	o := replay.Options{Procs: f.procs, Partition: replay.Unknown, Normalise: f.normalise, Limits: p.NeedsLimits()}
	if cmd.Flags().Changed("procs") && (f.procs < 1 || f.procs > replay.MostProcs) {
		return o, p, cli.BadUsage("--procs %d: must be from 1 to %d", f.procs, replay.MostProcs)
	}
	if cmd.Flags().Changed("partition") {
		if f.partition < 0 {
			return o, p, cli.BadUsage("--partition %d: must not be negative", f.partition)
		}
		o.Partition = f.partition
	}
	return o, p, nil
}

// untilDone reads until its context ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}
