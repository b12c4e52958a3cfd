package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gbroker/flow"
	"gbroker/internal/cli"
	"gbroker/sim/flows"
)

const flowHelp = `Flow plans workflows by several rules and compares where the plans end. There are 20 workflows of known shapes
(Montage, CyberShake, Epigenomics, Inspiral, Sipht, 1000genome, BWA, random layers) of 50 to 200 tasks, on four
executors of one core and the speeds 1, 0.8, 0.6 and 0.4, each with transfers that take in the mean a tenth of the run time of a
task, as long, and ten times as long.

The rules are those of package flow: heft, peft, cpop, lookahead, replicate (second runs of what would take
longer to bring) and search (local search from the best of the others, --steps plans).

The table, by ratio of transfer to work:
  HEFT    makespan over that of HEFT, in the mean, and the worst
  BOUND   makespan over the lower bound: the larger of critical path, and work over capacity
  BEST    of how many workflows no rule has a shorter plan`

type flowFlags struct {
	seed  uint64
	steps int
	plot  string
	json  bool
}

func newFlow() *cobra.Command {
	var f flowFlags
	cmd := &cobra.Command{
		Use:     "flow",
		Short:   "Compare rules that plan workflows",
		Long:    flowHelp,
		Example: "  gsim flow\n  gsim flow --steps 10000 --plot flow.svg\n  gsim flow --seed 7 --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.seed, "seed", 0, "of the workflows (`SEED`); 0 draws one")
	flags.IntVar(&f.steps, "steps", flow.DefaultSteps, "how many plans local search looks at (`N`)")
	flags.StringVar(&f.plot, "plot", "", "draw it into `FILE`.svg or .png")
	flags.BoolVar(&f.json, "json", false, "answer in JSON, with every workflow")
	return cmd
}

func (f *flowFlags) run(cmd *cobra.Command) error {
	if f.steps < 1 || f.steps > 10_000_000 {
		return cli.BadUsage("--steps %d: 1 to 10,000,000", f.steps)
	}
	if err := checkPlot(f.plot); err != nil {
		return err
	}
	drawSeed(&f.seed)
	list, err := f.plan(cmd.Context())
	if err != nil {
		return interrupted(err)
	}
	if f.plot != "" {
		if err := flows.Plot(f.plot, list); err != nil {
			return err
		}
	}
	rows := flows.Summary(list)
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), struct {
			Seed      uint64          `json:"seed"`
			Steps     int             `json:"steps"`
			Summary   []flows.Row     `json:"summary"`
			Workflows []flows.Outcome `json:"workflows"`
		}{f.seed, f.steps, rows, list})
	}
	return f.print(cmd.OutOrStdout(), rows)
}

func (f *flowFlags) plan(ctx context.Context) (list []flows.Outcome, err error) {
	for _, c := range flows.Suite(f.seed) {
		o, err := c.Plan(ctx, flow.Options{Steps: f.steps, Seed: f.seed})
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

func (f *flowFlags) print(out io.Writer, rows []flows.Row) error {
	t := cli.Table(out)
	fmt.Fprintln(t, "TRANSFER\tRULE\tHEFT\tWORST\tBOUND\tBEST")
	for _, r := range rows {
		transfer := "all"
		if r.Transfer > 0 {
			transfer = fmt.Sprint(r.Transfer)
		}
		fmt.Fprintf(t, "%s\t%s\t%.3f\t%.3f\t%.3f\t%d of %d\n", transfer, r.Rule, r.Ratio, r.Worst, r.Over, r.Best, r.Cases)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "--seed %d --steps %d\n", f.seed, f.steps)
	return err
}
