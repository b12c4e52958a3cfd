package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/plan"
	"gbroker/sim/coallocate"
	"gbroker/sim/replay"
)

const coallocateHelp = `Coallocate simulates a grid of sites twice, with the same jobs: once each job runs at one site,
once wide jobs may run at several sites at once. It says what wide jobs gain, what the others lose, and how much of the
grid is used, by the share of wide jobs, on three mixes of sites:

  equal        4 sites of 64 nodes
  graded       128, 64, 32 and 32 nodes, of speeds 1, 1.5, 1 and 0.75
  many small   8 sites of 24 nodes, four of speed 1, four of 1.25

Narrow jobs fit half of their own site, and wide ones the largest site. Of the wide ones a part (--giants) fits no site:
these run only with co-allocation. Jobs come from a model, or from a log in Standard Workload Format, whose jobs are
dealt to the sites in turn. Sites and choices are those of package plan, as in a broker.

The table:
  wide        mean response of wide jobs with co-allocation, as a part of that without
  harm        by how much the mean response of the others is longer
  use         the part of the grid that is in use until the last job comes, without and with
  idle        the part of it that reservations keep idle: waiting jobs of the site would run there at once but for them
  several     jobs that ran at more than one site
  giants      jobs that fit no site: how many ran, of how many, and their mean response`

type coallocateFlags struct {
	jobs, seeds  int
	use, giants  float64
	log, plot    string
	policy       string
	window, gain time.Duration
	sites        int
	seed         uint64
	json         bool
}

func newCoallocate() *cobra.Command {
	var f coallocateFlags
	w := coallocate.Defaults()
	cmd := &cobra.Command{
		Use:     "coallocate",
		Short:   "Compare grids with and without jobs over several sites",
		Long:    coallocateHelp,
		Example: "  gsim coallocate\n  gsim coallocate --jobs 2000 --seeds 10 --plot coallocate.svg\n  gsim coallocate --log KTH-SP2-5000.swf.gz",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.jobs, "jobs", 1000, "how many jobs come (`N`)")
	flags.IntVar(&f.seeds, "seeds", 5, "how many workloads are made of each kind (`N`)")
	flags.Uint64Var(&f.seed, "seed", 0, "of the first workload (`SEED`); 0 draws one")
	flags.Float64Var(&f.use, "use", 0.7, "what is asked of the grid, as a `PART` of it")
	flags.Float64Var(&f.giants, "giants", 0.1, "which `PART` of the wide jobs fits no site")
	flags.StringVar(&f.log, "log", "", "take the jobs of this log: a `FILE`")
	flags.StringVar(&f.policy, "policy", "easy", "of the sites: `P` as in gsim replay")
	flags.IntVar(&f.sites, "max-sites", w.Sites, "at most `K` sites for one job")
	cli.SpanVar(cmd, &f.window, "window", time.Duration(w.Window)*time.Millisecond, "reserve what starts within `SPAN`; the rest is planned again")
	cli.SpanVar(cmd, &f.gain, "gain", time.Duration(w.Gain)*time.Millisecond, "take several sites if they end the job sooner by `SPAN`")
	flags.StringVar(&f.plot, "plot", "", "draw it into `FILE`.svg or .png")
	flags.BoolVar(&f.json, "json", false, "answer in JSON")
	return cmd
}

func (f *coallocateFlags) check() error {
	switch {
	case f.jobs < 1 || f.jobs > 1_000_000 || f.seeds < 1 || f.seeds > 10_000:
		return cli.BadUsage("--jobs %d, --seeds %d: from 1 to 1,000,000 and 10,000", f.jobs, f.seeds)
	case !(f.use >= 0.01 && f.use <= 2) || !(f.giants >= 0 && f.giants <= 1):
		return cli.BadUsage("--use %v, --giants %v: 0.01 to 2, and 0 to 1", f.use, f.giants)
	case f.sites < 1 || f.window < 0 || f.gain < 0:
		return cli.BadUsage("--max-sites, --window and --gain: at least 1, 0 and 0")
	}
	return checkPlot(f.plot)
}

func (f *coallocateFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	policy, err := plan.ParsePolicy(f.policy)
	if err != nil {
		return cli.BadUsage("--policy: %w", err)
	}
	drawSeed(&f.seed)
	w := coallocate.Defaults()
	w.Policy, w.Sites = policy, f.sites
	w.Window, w.Gain = grid.Tick(f.window.Milliseconds()), grid.Tick(f.gain.Milliseconds())
	all, err := f.compare(cmd.Context(), w)
	if err != nil {
		return interrupted(err)
	}
	if f.plot != "" {
		if err := coallocate.Plot(f.plot, all); err != nil {
			return err
		}
	}
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	return f.print(cmd.OutOrStdout(), all)
}

var wideShares = []float64{0.05, 0.1, 0.2}

func (f *coallocateFlags) compare(ctx context.Context, w coallocate.World) (all []coallocate.Comparison, err error) {
	var log *replay.Log
	if f.log != "" {
		file, err := os.Open(f.log)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if log, _, err = replay.Read(file, replay.Options{Normalise: true, Partition: replay.Unknown}); err != nil {
			return nil, fmt.Errorf("%s: %w", f.log, err)
		}
	}
	for i := range coallocate.Grids {
		w.Grid = &coallocate.Grids[i]
		for _, share := range wideShares {
			var without, with []coallocate.Measures
			for n := range f.seeds {
				load := coallocate.Load{Jobs: f.jobs, Share: share, Giants: f.giants, Use: f.use, Seed: f.seed + uint64(n)}
				if w.Jobs = coallocate.Make(w.Grid, load); log != nil {
					w.Jobs = coallocate.FromLog(w.Grid, log, load)
				}
				a, b, err := coallocate.Compare(ctx, w)
				if err != nil {
					return nil, err
				}
				without, with = append(without, a), append(with, b)
			}
			all = append(all, coallocate.Comparison{Grid: w.Grid.Name, Share: share, Seeds: f.seeds, Without: coallocate.Mean(without), With: coallocate.Mean(with)})
		}
	}
	return all, nil
}

func (f *coallocateFlags) print(out io.Writer, all []coallocate.Comparison) error {
	t := cli.Table(out)
	fmt.Fprintf(t, "GRID\tWIDE JOBS\tWIDE\tHARM\tUSE\tIDLE\tSEVERAL\tGIANTS\n")
	for _, c := range all {
		fmt.Fprintf(t, "%s\t%.0f %%\t%.0f s / %.0f s = %.2f\t%+.1f %%\t%.1f %% / %.1f %%\t%.1f %%\t%d of %d\t%d of %d, %.0f s\n", c.Grid, 100*c.Share,
			c.With.Wide.Response, c.Without.Wide.Response, c.Wide(), 100*c.Harm(), 100*c.Without.Use, 100*c.With.Use, 100*c.With.Idle,
			c.With.Several, c.With.Wide.Jobs+c.With.Giant.Jobs, c.With.Giant.Ran, c.With.Giant.Jobs, c.With.Giant.Response)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d jobs, %d workloads each, --seed %d\n", f.jobs, f.seeds, f.seed)
	return err
}
