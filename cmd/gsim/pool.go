package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
	"gbroker/sim/pool"
)

const poolHelp = `Pool simulates a pool of shared desktops in virtual time, with the code that decides in a real one. Jobs have deadlines; a job that
does not end by its own is a failure. The published model: 100 computers of effective performance H uniform in [0.1, 1], 1,000 jobs of work W uniform in
[150, 750], arrivals uniform in [0, TS] with TS = sum W / sum H, deadlines a W after the arrival with a uniform in [1.1, 5], drawn for each job.

Rules:
  fcfs         the oldest job to a free computer drawn by chance; late jobs run on
  fcfs-killed  the same, but jobs are killed at their deadlines
  ecp-fcfs     a computer drawn by chance takes the oldest job that it ends in time
  edf          the earliest deadline first, to the weakest computer that ends it in time
  slack        the same, the least slack first
  best         the job that needs the highest performance first; it waits for a weaker computer that is busy, where that ends it in time
               and the weakest free one is more than half as strong again; by deadlines where such a plan leaves jobs late
  moving       by deadlines, where jobs are stopped and moved at any time at no cost

Weak computers (--weak N, H = 0.2) are added to the first pool; with --arrivals enlarged TS is reckoned with them, with first without.
With --sigma S a computer has in truth H (1 + S z), z normal, drawn for each run of a job or once for each computer (--errors); rules are told H
(--knows forecast), the truth of the next run (full) or the mean of the pool (none).

The same seed gives the same numbers, with any number of workers. Ctrl-C gives the results so far, and the exit status is not 0.

The table, means over the seeds with their deviations:
  failures   jobs that did not end by their deadlines
  refused    of these, those that no computer could have ended in time when they came, were all free
  waited     or not any more when they would have begun
  late       or that began and did not end in time
  useful     part of all performance, until the last arrival, that went into jobs which ended in time`

type poolFlags struct {
	rules, weak, arrivals, sigma, errors, knows string
	computers, jobs, seeds, workers, parts      int
	weakH, margin, delivery                     float64
	seed                                        uint64
	json                                        bool
}

func newPool() *cobra.Command {
	var f poolFlags
	cmd := &cobra.Command{
		Use:     "pool",
		Short:   "Simulate a pool of shared desktops whose jobs have deadlines",
		Long:    poolHelp,
		Example: "  gsim pool\n  gsim pool --rule ecp-fcfs,edf --weak 0,100,550 --arrivals first,enlarged --json\n  gsim pool --rule edf,best --sigma 0,0.1,0.2 --errors computer",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	m := pool.Published()
	flags := cmd.Flags()
	flags.StringVar(&f.rules, "rule", "all", "simulate these: `RULE[,RULE]` of the above")
	flags.StringVar(&f.weak, "weak", "0", "so many weak computers are added: `N[,N]`")
	flags.StringVar(&f.arrivals, "arrivals", "first", "by which pool TS is reckoned: first, enlarged or both with a comma (`POOL`)")
	flags.StringVar(&f.sigma, "sigma", "0", "error of the forecast: `S[,S]`")
	flags.StringVar(&f.errors, "errors", "run", "it is drawn for each run or each computer: run, computer (`EACH`)")
	flags.StringVar(&f.knows, "knows", "forecast", "what rules know of computers: forecast, full, none (`WHAT`)")
	flags.IntVar(&f.computers, "computers", m.Computers, "in the first pool (`N`)")
	flags.Float64Var(&f.weakH, "weak-h", m.WeakH, "performance of a weak computer (`H`)")
	flags.IntVar(&f.jobs, "jobs", m.Jobs, "how many jobs come (`N`)")
	flags.Float64Var(&f.margin, "margin", 0, "of safety: in time is what would be with more work by this `PART`")
	flags.IntVar(&f.seeds, "seeds", 100, "how many worlds are made of each kind (`N`)")
	flags.Uint64Var(&f.seed, "seed", 0, "of the first world (`SEED`); 0 draws one")
	flags.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "how many runs at once (`N`); it changes no result")
	flags.BoolVar(&f.json, "json", false, "answer in JSON: a list")
	return cmd
}

// tasks reads the flags.
func (f *poolFlags) tasks() ([]pool.Task, error) {
	rules, err := pool.ParseRules(f.rules)
	if err != nil {
		return nil, cli.BadUsage("--rule: %w", err)
	}
	weak, err := numbersOf("weak", f.weak, 0, 10_000, true)
	if err != nil {
		return nil, err
	}
	sigmas, err := numbersOf("sigma", f.sigma, 0, 10, false)
	if err != nil {
		return nil, err
	}
	m := pool.Published()
	m.Computers, m.Jobs, m.WeakH, m.Margin = f.computers, f.jobs, f.weakH, f.margin
	m.Errors, m.Knows = pool.Errors(f.errors), pool.Information(f.knows)
	switch {
	case f.computers < 1 || f.computers > 10_000 || f.jobs < 1 || f.jobs > 100_000:
		return nil, cli.BadUsage("--computers %d, --jobs %d: from 1 to 10,000 and 100,000", f.computers, f.jobs)
	case !(f.weakH > 0 && f.weakH <= 1) || !(f.margin >= 0 && f.margin <= 10):
		return nil, cli.BadUsage("--weak-h %v, --margin %v: above 0 to 1, and 0 to 10", f.weakH, f.margin)
	case f.seeds < 1 || f.seeds > 100_000 || f.workers < 1 || f.workers > 1024:
		return nil, cli.BadUsage("--seeds %d, --workers %d: from 1 to 100,000 and 1,024", f.seeds, f.workers)
	case m.Errors != pool.PerRun && m.Errors != pool.PerComputer:
		return nil, cli.BadUsage("--errors %q: run or computer", f.errors)
	case m.Knows != pool.Forecast && m.Knows != pool.Full && m.Knows != pool.None:
		return nil, cli.BadUsage("--knows %q: forecast, full or none", f.knows)
	}
	var tasks []pool.Task
	for arrivals := range strings.SplitSeq(f.arrivals, ",") {
		if m.Arrivals = pool.Arrivals(arrivals); m.Arrivals != pool.First && m.Arrivals != pool.Enlarged {
			return nil, cli.BadUsage("--arrivals %q: first or enlarged", arrivals)
		}
		for _, n := range weak {
			for _, sigma := range sigmas {
				m.Weak, m.Sigma = int(n), sigma
				for _, r := range rules {
					tasks = append(tasks, pool.Task{Rule: r, Model: m})
				}
			}
		}
	}
	return tasks, nil
}

// numbersOf reads numbers with commas between them.
func numbersOf(flag, text string, least, most float64, whole bool) (out []float64, err error) {
	for word := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || !(v >= least && v <= most) || whole && v != float64(int(v)) {
			return nil, cli.BadUsage("--%s %q: numbers from %v to %v with commas between them", flag, text, least, most)
		}
		out = append(out, v)
	}
	return out, nil
}

func (f *poolFlags) run(cmd *cobra.Command) error {
	tasks, err := f.tasks()
	if err != nil {
		return err
	}
	if f.seed == 0 {
		f.seed = rand.Uint64() >> 16
	}
	bar := newProgress(cmd.ErrOrStderr(), len(tasks)*f.seeds)
	bar.unit = "runs"
	rows, partial := pool.Run(cmd.Context(), tasks, pool.Options{Seed: f.seed, Seeds: f.seeds, Workers: f.workers, Seen: func(done, _ int) { bar.at(done) }})
	bar.done()
	if err := f.print(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	if partial {
		return errors.New("interrupted: the results are partial")
	}
	return nil
}

// poolRow is a row in JSON.
type poolRow struct {
	Rule     string  `json:"rule"`
	Weak     int     `json:"weak"`
	Arrivals string  `json:"arrivals"`
	Sigma    float64 `json:"sigma"`
	Seeds    int     `json:"seeds"`
	Mean     float64 `json:"failures_mean"`
	SD       float64 `json:"failures_sd"`
}

func (f *poolFlags) print(out io.Writer, rows []pool.Row) error {
	if f.json {
		list := []poolRow{}
		for _, r := range rows {
			mean, sd := r.Mean(pool.Failures)
			list = append(list, poolRow{r.Rule, r.Model.Weak, string(r.Model.Arrivals), r.Model.Sigma, len(r.Outcomes), mean, sd})
		}
		return cli.PrintJSON(out, list)
	}
	t := cli.Table(out)
	fmt.Fprintf(t, "RULE\tWEAK\tARRIVALS\tSIGMA\tSEEDS\tFAILURES\tREFUSED\tWAITED\tLATE\tUSEFUL\n")
	for _, r := range rows {
		mean, sd := r.Mean(pool.Failures)
		refused, _ := r.Mean(func(o *pool.Outcome) float64 { return float64(o.Refused) })
		waited, _ := r.Mean(func(o *pool.Outcome) float64 { return float64(o.Waited) })
		late, _ := r.Mean(func(o *pool.Outcome) float64 { return float64(o.Late) })
		useful, _ := r.Mean(func(o *pool.Outcome) float64 { return o.Useful })
		fmt.Fprintf(t, "%s\t%d\t%s\t%g\t%d\t%.1f +- %.1f\t%.1f\t%.1f\t%.1f\t%.1f %%\n", r.Rule, r.Model.Weak, r.Model.Arrivals, r.Model.Sigma, len(r.Outcomes), mean, sd, refused, waited, late, 100*useful)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d jobs, %d computers and the weak ones, --seed %d\n", f.jobs, f.computers, f.seed)
	return err
}
