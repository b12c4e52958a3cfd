package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
	"gbroker/sim/pool"
)

const poolHelp = `Pool simulates a pool of shared desktops in virtual time, with the code of package pool. Jobs have deadlines; a job that
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
	worldFlags
	rules, weak, arrivals, sigma, errors, knows, parts string
	computers, jobs                                    int
	weakH, margin, delivery, endangered                float64
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
	cmd.AddCommand(newBag())
	m := pool.Published()
	flags := cmd.Flags()
	flags.StringVar(&f.rules, "rule", "all", "simulate these: `RULE[,RULE]` of the above")
	flags.StringVar(&f.weak, "weak", "0", "so many weak computers are added: `N[,N]`")
	flags.StringVar(&f.arrivals, "arrivals", "first", "by which pool TS is reckoned: first, enlarged or both with a comma (`POOL`)")
	flags.StringVar(&f.sigma, "sigma", "0", "error of the forecast: `S[,S]`")
	flags.StringVar(&f.errors, "errors", "run", "it is drawn for each run or each computer: run, computer or both with a comma (`EACH`)")
	flags.StringVar(&f.knows, "knows", "forecast", "what rules know of computers: forecast, full, none, or several with commas (`WHAT`)")
	flags.StringVar(&f.parts, "parts", "1", "jobs may be cut into so many parts: `N[,N]`; for the rules edf and slack")
	flags.Float64Var(&f.delivery, "delivery", 0, "of a whole job, in `SECONDS`; a part has its part of it; with --parts above 1")
	flags.IntVar(&f.computers, "computers", m.Computers, "in the first pool (`N`)")
	flags.Float64Var(&f.weakH, "weak-h", m.WeakH, "performance of a weak computer (`H`)")
	flags.IntVar(&f.jobs, "jobs", m.Jobs, "how many jobs come (`N`)")
	flags.Float64Var(&f.margin, "margin", 0, "of safety: in time is what would be with more work by this `PART`")
	flags.Float64Var(&f.endangered, "endangered", 0, "jobs with slack of no more than this `PART` of their shortest run go first, the shortest first")
	f.add(cmd)
	flags.StringVar(&f.plot, "plot", "", "draw what varies along --sigma, --weak or --parts into `FILE`.svg or .png")
	flags.StringVar(&f.measure, "measure", "failures", "what is drawn: `COLUMN[,COLUMN]` of the table")
	flags.StringVar(&f.title, "title", "A pool of shared desktops", "of the figure: `TEXT`")
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
	parts, err := numbersOf("parts", f.parts, 1, 100, true)
	if err != nil {
		return nil, err
	}
	m := pool.Published()
	m.Computers, m.Jobs, m.WeakH, m.Margin, m.Endangered, m.Delivery = f.computers, f.jobs, f.weakH, f.margin, f.endangered, f.delivery
	var models []pool.Model
	for arrivals := range strings.SplitSeq(f.arrivals, ",") {
		for each := range strings.SplitSeq(f.errors, ",") {
			for knows := range strings.SplitSeq(f.knows, ",") {
				m.Arrivals, m.Errors, m.Knows = pool.Arrivals(arrivals), pool.Errors(each), pool.Information(knows)
				models = append(models, m)
			}
		}
	}
	if err := f.check(models); err != nil {
		return nil, err
	}
	var tasks []pool.Task
	for _, m := range models {
		for _, n := range weak {
			for _, sigma := range sigmas {
				for _, k := range parts {
					m.Weak, m.Sigma, m.Parts = int(n), sigma, int(k)
					for _, r := range rules {
						if k > 1 && r.Name != "edf" && r.Name != "slack" {
							return nil, cli.BadUsage("--parts %s: the rule %s cuts no jobs; edf and slack do", f.parts, r.Name)
						}
						tasks = append(tasks, pool.Task{Rule: r, Model: m})
					}
				}
			}
		}
	}
	return tasks, f.worldFlags.check(len(tasks))
}

func (f *poolFlags) check(models []pool.Model) error {
	switch {
	case f.computers < 1 || f.computers > 10_000 || f.jobs < 1 || f.jobs > 100_000:
		return cli.BadUsage("--computers %d, --jobs %d: from 1 to 10,000 and 100,000", f.computers, f.jobs)
	case !(f.weakH > 0 && f.weakH <= 1) || !(f.margin >= 0 && f.margin <= 10) || !(f.delivery >= 0 && f.delivery <= 1e6):
		return cli.BadUsage("--weak-h %v, --margin %v, --delivery %v: above 0 to 1, 0 to 10, and 0 to 1,000,000", f.weakH, f.margin, f.delivery)
	case !(f.endangered >= 0 && f.endangered <= 10):
		return cli.BadUsage("--endangered %v: from 0 to 10", f.endangered)
	}
	for _, m := range models {
		switch {
		case m.Arrivals != pool.First && m.Arrivals != pool.Enlarged:
			return cli.BadUsage("--arrivals %q: first or enlarged", m.Arrivals)
		case m.Errors != pool.PerRun && m.Errors != pool.PerComputer:
			return cli.BadUsage("--errors %q: run or computer", m.Errors)
		case m.Knows != pool.Forecast && m.Knows != pool.Full && m.Knows != pool.None:
			return cli.BadUsage("--knows %q: forecast, full or none", m.Knows)
		}
	}
	return nil
}

// measures are the columns that are drawn.
func (f *poolFlags) measures() (out []pool.Measure, err error) {
	for name := range strings.SplitSeq(f.measure, ",") {
		i := slices.IndexFunc(pool.Measures, func(m pool.Measure) bool { return m.Name == name })
		if i < 0 {
			return nil, cli.BadUsage("--measure %q: failures, refused, waited, late or useful", name)
		}
		out = append(out, pool.Measures[i])
	}
	return out, nil
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
	measures, err := f.measures()
	if err != nil {
		return err
	}
	if f.plot != "" {
		if err := pool.Drawable(tasks); err != nil {
			return cli.BadUsage("--plot: %w", err)
		}
	}
	return inWorlds(cmd, &f.worldFlags, len(tasks), func(ctx context.Context, o pool.Options) ([]pool.Row, bool) { return pool.Run(ctx, tasks, o) }, f.print,
		func(rows []pool.Row) error { return pool.Draw(f.plot, f.title, rows, measures) })
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
	fmt.Fprintf(t, "RULE\tWEAK\tARRIVALS\tSIGMA\tERRORS\tKNOWS\tPARTS\tSEEDS\tFAILURES\tREFUSED\tWAITED\tLATE\tUSEFUL\n")
	for _, r := range rows {
		_, sd := r.Mean(pool.Failures)
		var means []any
		for _, m := range pool.Measures {
			mean, _ := r.Mean(m.Of)
			means = append(means, mean)
		}
		m := r.Model
		fmt.Fprintf(t, "%s\t%d\t%s\t%g\t%s\t%s\t%d\t%d\t%.1f +- %.1f\t%.1f\t%.1f\t%.1f\t%.1f %%\n",
			append([]any{r.Rule, m.Weak, m.Arrivals, m.Sigma, m.Errors, m.Knows, m.Parts, len(r.Outcomes), means[0], sd}, means[1:]...)...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d jobs, %d computers and the weak ones, --seed %d\n", f.jobs, f.computers, f.seed)
	return err
}
