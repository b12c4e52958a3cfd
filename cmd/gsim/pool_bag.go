package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
	desks "gbroker/pool"
	"gbroker/sim/pool"
)

const bagHelp = `Bag simulates a bag of tasks on a pool whose owners come and go and whose computers fail, with the replication of package pool. A
computer has H uniform in [0.1, 1] while its owner is away (an hour on average), and none while the owner is there (a quarter of an hour): a task stands still
then. It fails every four hours, for ten minutes: what it ran is cut off. Tasks have work uniform in [150, 750], and all are there at the beginning.

Kinds of replication (--replication), where no task waits:
  none    computers that are free stay so; what is cut off is lost
  wqr     they repeat tasks that still run, of which the first end counts; what is cut off everywhere is lost
  wqr-r   and what is cut off everywhere begins again
  wqr-ft  and goes on from its checkpoint, which it writes after each minute of work

With --knows none a rule repeats whatever runs. With forecast it is told the mean performance of each computer, and which tasks stand still or are overdue; with full all
that will happen to it until it fails: then a copy begins only where it is foreseen to end before those that run, and with full nothing begins that will be cut off.

The same seed gives the same numbers, with any number of workers. Ctrl-C gives the results so far, and the exit status is not 0.

The table, means over the seeds with their deviations:
  makespan  seconds until the last task ended
  stretch   that, by what the bag would take if all computers shared it to its end
  lost      tasks that never ended
  wasted    part of all work that served no task's end`

type bagFlags struct {
	worldFlags
	kinds, tasks, knows string
	computers, copies   int
}

func newBag() *cobra.Command {
	var f bagFlags
	cmd := &cobra.Command{
		Use:     "bag",
		Short:   "Simulate a bag of tasks whose last are repeated on free computers",
		Long:    bagHelp,
		Example: "  gsim pool bag\n  gsim pool bag --tasks 50,100,200,500 --knows none,full --plot bag.svg",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	m := pool.StandardBag()
	flags := cmd.Flags()
	flags.StringVar(&f.kinds, "replication", "none,wqr,wqr-r,wqr-ft", "simulate these: `KIND[,KIND]`")
	flags.StringVar(&f.tasks, "tasks", fmt.Sprint(m.Tasks), "how many a bag has: `N[,N]`")
	flags.StringVar(&f.knows, "knows", "none,forecast,full", "what rules know of computers: `WHAT[,WHAT]`")
	flags.IntVar(&f.computers, "computers", m.Computers, "of the pool (`N`)")
	flags.IntVar(&f.copies, "copies", 2, "of a task at once, at most, the first included (`N`)")
	f.add(cmd)
	flags.StringVar(&f.plot, "plot", "", "draw a measure by the tasks for each computer into `FILE`.svg or .png")
	flags.StringVar(&f.measure, "measure", "stretch", "what is drawn: a `COLUMN` of the table")
	flags.StringVar(&f.title, "title", "A bag of tasks on shared desktops", "of the figure: `TEXT`")
	return cmd
}

// models reads the flags.
func (f *bagFlags) models() (out []pool.Bag, err error) {
	tasks, err := numbersOf("tasks", f.tasks, 1, 100_000, true)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(f.kinds, ",") {
		kind, err := desks.ParseReplication(name)
		if err != nil {
			return nil, cli.BadUsage("--replication: %w", err)
		}
		for knows := range strings.SplitSeq(f.knows, ",") {
			m := pool.StandardBag()
			if m.Knows = pool.Information(knows); m.Knows != pool.None && m.Knows != pool.Forecast && m.Knows != pool.Full {
				return nil, cli.BadUsage("--knows %q: forecast, full or none", knows)
			}
			m.Computers, m.Rule = f.computers, desks.Replication{Kind: kind, Most: f.copies, Informed: m.Knows != pool.None}
			for _, n := range tasks {
				m.Tasks = int(n)
				out = append(out, m)
			}
		}
	}
	return out, f.check(len(out))
}

func (f *bagFlags) check(models int) error {
	if f.computers < 1 || f.computers > 10_000 || f.copies < 1 || f.copies > 100 {
		return cli.BadUsage("--computers %d, --copies %d: from 1 to 10,000 and 100", f.computers, f.copies)
	}
	return f.worldFlags.check(models)
}

func (f *bagFlags) run(cmd *cobra.Command) error {
	models, err := f.models()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(pool.BagMeasures, func(m pool.BagMeasure) bool { return m.Name == f.measure })
	if at < 0 {
		return cli.BadUsage("--measure %q: makespan, stretch, lost or wasted", f.measure)
	}
	return inWorlds(cmd, &f.worldFlags, len(models), func(ctx context.Context, o pool.Options) ([]pool.BagRow, bool) { return pool.RunBags(ctx, models, o) }, f.print,
		func(rows []pool.BagRow) error { return pool.DrawBags(f.plot, f.title, rows, pool.BagMeasures[at]) })
}

// bagRow is a row in JSON.
type bagRow struct {
	Replication string             `json:"replication"`
	Knows       string             `json:"knows"`
	Computers   int                `json:"computers"`
	Tasks       int                `json:"tasks"`
	Copies      int                `json:"copies"`
	Seeds       int                `json:"seeds"`
	Mean        map[string]float64 `json:"mean"`
	SD          map[string]float64 `json:"sd"`
}

func (f *bagFlags) print(out io.Writer, rows []pool.BagRow) error {
	list := []bagRow{}
	for _, r := range rows {
		m := r.Model
		row := bagRow{m.Rule.Kind.String(), string(m.Knows), m.Computers, m.Tasks, m.Rule.Most, len(r.Outcomes), map[string]float64{}, map[string]float64{}}
		for _, k := range pool.BagMeasures {
			row.Mean[k.Name], row.SD[k.Name] = r.Mean(k.Of)
		}
		list = append(list, row)
	}
	if f.json {
		return cli.PrintJSON(out, list)
	}
	t := cli.Table(out)
	fmt.Fprintf(t, "REPLICATION\tKNOWS\tTASKS\tSEEDS\tMAKESPAN\tSTRETCH\tLOST\tWASTED\n")
	for _, r := range list {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.0f +- %.0f s\t%.2f +- %.2f\t%.1f\t%.1f %%\n", r.Replication, r.Knows, r.Tasks, r.Seeds,
			r.Mean["makespan"], r.SD["makespan"], r.Mean["stretch"], r.SD["stretch"], r.Mean["lost"], r.Mean["wasted"])
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d computers, %d copies at most, --seed %d\n", f.computers, f.copies, f.seed)
	return err
}
