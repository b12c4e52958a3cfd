package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/jsdl"
	"gbroker/plan"
)

const selectHelp = `Find the nodes of several sites that one parallel job can hold at the same time, as
early as possible: all its processes run at once. The job is a JSDL document, or so many
processes of one core each.

FILE (- is the standard input) says what is free, in seconds:

  {
    "now": 0,
    "sites": [
      {"name": "a", "delivery_s": 10, "speed": 1},
      {"name": "b", "delivery_s": 60, "speed": 2}
    ],
    "slots": [
      {"site": "a", "node": "n1", "start": 0, "end": 5000, "price": 1},
      {"site": "b", "node": "n1", "start": 0, "end": 9000, "price": 2}
    ]
  }

A node is of one core, where its site does not say more, and a slot is all of its node:

  {"name": "c", "delivery_s": 0, "speed": 1, "architecture": "x86_64", "nodes": [
    {"name": "n1", "cores": 16, "memory": 68719476736, "resources": {"gpu": 2}, "properties": ["fast"]}]}
  {"site": "c", "node": "n1", "start": 0, "end": 900, "cores": 4, "memory": 8589934592, "price": 0}

A slot of a site is usable from now + delivery_s + margin on: the job's files are not
there sooner. On a site of speed 2 the job runs half as long; over several sites, as
long as the slowest needs. Slots of one node that touch count as one, whose price is
that of the dearest part the job takes; slots that overlap are an error, but for a dearer
one of the same time that has more. A price is that of a core for an hour, and must not exceed the fee.

The answer is {start, end, slots, cost}, with what is taken of each node, for as long as
it could be had, and the cost of the cores, for as long as the job has them; or {reason} and the exit code 1, with the
numbers and the rules that alone stand in the way. What is free at that time is taken
from the cheapest slot on; with --max-sites or --min-per-site at the sites with the most room.`

const selectExample = `  gsim select --slots free.json --job wide.jsdl
  gsim select --slots free.json --processes 64 --walltime 3600
  gsim select --slots free.json --processes 64 --walltime 3600 --fee 5 --max-sites 2 --min-per-site 8`

type selectFlags struct {
	file, job        string
	processes        int
	walltime, margin float64
	fee              float64
	sites, perSite   int
	first            string
}

func newSelect() *cobra.Command {
	var f selectFlags
	cmd := &cobra.Command{
		Use:     "select --slots FILE (--job DOCUMENT | --processes P --walltime S)",
		Short:   "Find slots at several sites for one parallel job",
		Long:    selectHelp,
		Example: selectExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSelect(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.file, "slots", "", "what is free, as JSON: a `FILE`, or - for the standard input")
	flags.StringVar(&f.job, "job", "", "the job, as a JSDL `DOCUMENT`")
	flags.IntVar(&f.processes, "processes", 0, "or how many processes of one core run at once (`P`)")
	flags.Float64Var(&f.walltime, "walltime", 0, "for how many `SECONDS`, at speed 1 (as the document says, if not given)")
	flags.Float64Var(&f.fee, "fee", 0, "no slot may cost more than `F` (any price, if not given)")
	flags.IntVar(&f.sites, "max-sites", 0, "at most `K` sites take part (0: any number)")
	flags.IntVar(&f.perSite, "min-per-site", 0, "at least `M` pieces (processes, where each is one) at each site that takes part")
	flags.Float64Var(&f.margin, "margin", 0, "`SECONDS` between the delivery of the files and the start")
	flags.StringVar(&f.first, "first", "end", "what is to be earliest: `start|end`; they differ where speeds do")
	if err := cmd.MarkFlagRequired("slots"); err != nil {
		panic(err) // a name that is no flag: found by the first test
	}
	cmd.MarkFlagsOneRequired("job", "processes")
	cmd.MarkFlagsMutuallyExclusive("job", "processes")
	return cmd
}

func runSelect(cmd *cobra.Command, f selectFlags) error {
	w, err := f.wanted(cmd.Flags().Changed("fee"))
	if err != nil {
		return err
	}
	in, err := readSlots(cmd.InOrStdin(), f.file)
	if err != nil {
		return err
	}
	w.Now, w.Delivery = in.now, in.delivery
	if err := w.Check(len(in.sites)); err != nil {
		return fmt.Errorf("%s: %w: %w", f.file, grid.ErrInvalid, err)
	}
	market, err := plan.NewMarket(in.sites, in.slots)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", f.file, grid.ErrInvalid, err)
	}
	chosen, lack := market.Select(w)
	if lack != nil {
		if err := cli.PrintJSON(cmd.OutOrStdout(), struct {
			Reason string `json:"reason"`
		}{lack.String()}); err != nil {
			return err
		}
		return cli.Exit(cli.No, nil)
	}
	return cli.PrintJSON(cmd.OutOrStdout(), answerOf(chosen))
}

// wanted is what the flags ask for.
func (f selectFlags) wanted(withFee bool) (w plan.Wanted, err error) {
	w = plan.Wanted{Fee: plan.AnyFee, MaxSites: f.sites, MinPerSite: f.perSite, FirstStart: f.first == "start"}
	if withFee {
		w.Fee = f.fee
	}
	w.Demand.Chunks = []grid.Chunk{{Count: f.processes, Processes: 1, Cores: 1}}
	if f.job != "" {
		text, err := os.ReadFile(f.job)
		if err != nil {
			return w, err
		}
		document, err := jsdl.Parse(f.job, text)
		if err != nil {
			return w, err
		}
		w.Demand, w.Walltime = document.Job.Demand, document.Job.Walltime
	}
	switch {
	case f.first != "start" && f.first != "end":
		return w, cli.BadUsage("--first %q: start or end", f.first)
	case f.walltime != 0 && !(f.walltime >= 0.001): // also what is not a number
		return w, cli.BadUsage("--walltime %v: at least 0.001 seconds", f.walltime)
	case f.walltime == 0 && w.Walltime == 0:
		return w, cli.BadUsage("--walltime is needed: no document says how long the job runs")
	case f.margin != f.margin:
		return w, cli.BadUsage("--margin %v: a number of seconds", f.margin)
	}
	w.Margin = grid.FromSeconds(f.margin)
	if f.walltime != 0 {
		w.Walltime = grid.FromSeconds(f.walltime)
	}
	if err := w.Check(0); err != nil {
		return w, cli.BadUsage("%w", err)
	}
	return w, nil
}

type slotAnswer struct {
	Site      grid.SiteName    `json:"site"`
	Node      grid.NodeName    `json:"node"`
	Start     float64          `json:"start"`
	End       float64          `json:"end"`
	Price     float64          `json:"price"`
	Processes int              `json:"processes"`
	Cores     int              `json:"cores"`
	Memory    int64            `json:"memory,omitempty"`
	Resources map[string]int64 `json:"resources,omitempty"`
}

type selectAnswer struct {
	Start float64      `json:"start"`
	End   float64      `json:"end"`
	Slots []slotAnswer `json:"slots"`
	Cost  float64      `json:"cost"`
}

func answerOf(s *plan.Selection) selectAnswer {
	out := selectAnswer{Start: s.Start.Seconds(), End: s.End.Seconds(), Cost: s.Cost}
	for _, t := range s.Taken {
		a := slotAnswer{Site: t.Site, Node: t.Node, Start: t.Start.Seconds(), End: t.End.Seconds(), Price: t.Price, Processes: t.Processes, Cores: t.Cores, Memory: t.Memory}
		for _, r := range t.Resources {
			if a.Resources == nil {
				a.Resources = make(map[string]int64)
			}
			a.Resources[r.Name] = r.Amount
		}
		out.Slots = append(out.Slots, a)
	}
	return out
}

func readSlots(stdin io.Reader, file string) (*slotFile, error) {
	from := stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		from = opened
	}
	in, err := parseSlots(bufio.NewReaderSize(from, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return in, nil
}
