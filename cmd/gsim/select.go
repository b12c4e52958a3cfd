package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/plan"
)

const selectHelp = `Find the nodes of several sites that one parallel job can hold at the same time, as
early as possible: all its processes run at once, one on each node.

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

A slot of a site is usable from now + delivery_s + margin on: the job's files are not
there sooner. On a site of speed 2 the job runs half as long; over several sites, as
long as the slowest needs. Slots of one node that touch count as one, whose price is
that of the dearest part the job takes; slots that overlap are an error. A slot's price
must not exceed the fee.

The answer is {start, end, slots, cost}, with one slot for each process, as long as it
is free, and with the sum of their prices; or {reason} and the exit code 1, with the
numbers and the rules that alone stand in the way. Of the nodes free at that time the
cheapest are taken; with --max-sites or --min-per-site those of the sites with the most.`

const selectExample = `  gsim select --slots free.json --processes 64 --walltime 3600
  gsim select --slots free.json --processes 64 --walltime 3600 --fee 5 --max-sites 2 --min-per-site 8`

type selectFlags struct {
	file             string
	processes        int
	walltime, margin float64
	fee              float64
	sites, perSite   int
	first            string
}

func newSelect() *cobra.Command {
	var f selectFlags
	cmd := &cobra.Command{
		Use:     "select --slots FILE --processes P --walltime S",
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
	flags.IntVar(&f.processes, "processes", 0, "how many processes run at once, each on a node of its own (`P`)")
	flags.Float64Var(&f.walltime, "walltime", 0, "for how many `SECONDS`, at speed 1")
	flags.Float64Var(&f.fee, "fee", 0, "no slot may cost more than `F` (any price, if not given)")
	flags.IntVar(&f.sites, "max-sites", 0, "at most `K` sites take part (0: any number)")
	flags.IntVar(&f.perSite, "min-per-site", 0, "at least `M` processes at each site that takes part")
	flags.Float64Var(&f.margin, "margin", 0, "`SECONDS` between the delivery of the files and the start")
	flags.StringVar(&f.first, "first", "end", "what is to be earliest: `start|end`; they differ where speeds do")
	for _, name := range []string{"slots", "processes", "walltime"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // a name that is no flag: found by the first test
		}
	}
	return cmd
}

func runSelect(cmd *cobra.Command, f selectFlags) error {
	w, fee, err := f.wanted(cmd.Flags().Changed("fee"))
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
	chosen, lack := market.Within(fee).Select(w)
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
func (f selectFlags) wanted(withFee bool) (w plan.Wanted, fee float64, err error) {
	fee = plan.AnyFee
	if withFee {
		fee = f.fee
	}
	switch {
	case !(fee >= 0):
		return w, 0, cli.BadUsage("--fee %v: a number from 0 up", fee)
	case !(f.walltime >= 0.001): // also what is not a number
		return w, 0, cli.BadUsage("--walltime %v: at least 0.001 seconds", f.walltime)
	case f.margin != f.margin:
		return w, 0, cli.BadUsage("--margin %v: a number of seconds", f.margin)
	case f.first != "start" && f.first != "end":
		return w, 0, cli.BadUsage("--first %q: start or end", f.first)
	}
	w = plan.Wanted{
		Processes: f.processes, Walltime: grid.FromSeconds(f.walltime), Margin: grid.FromSeconds(f.margin),
		MaxSites: f.sites, MinPerSite: f.perSite, FirstStart: f.first == "start",
	}
	if err := w.Check(0); err != nil {
		return w, 0, cli.BadUsage("%w", err)
	}
	return w, fee, nil
}

type slotAnswer struct {
	Site  grid.SiteName `json:"site"`
	Node  grid.NodeName `json:"node"`
	Start float64       `json:"start"`
	End   float64       `json:"end"`
	Price float64       `json:"price"`
}

type selectAnswer struct {
	Start float64      `json:"start"`
	End   float64      `json:"end"`
	Slots []slotAnswer `json:"slots"`
	Cost  float64      `json:"cost"`
}

func answerOf(s *plan.Selection) selectAnswer {
	out := selectAnswer{Start: s.Start.Seconds(), End: s.End.Seconds(), Cost: s.Cost}
	for _, slot := range s.Slots {
		out.Slots = append(out.Slots, slotAnswer{slot.Site, slot.Node, slot.Start.Seconds(), slot.End.Seconds(), slot.Price})
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
