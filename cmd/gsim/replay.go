package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
	"gbroker/plan"
	"gbroker/sim/replay"
)

const replayHelp = `Replay runs the jobs of a log through the policy of a local scheduler, and says
what their users would have seen. The log is in Standard Workload Format, plain or
gzip: see https://www.cs.huji.ac.il/labs/parallel/workload/ for many.

Policies (P):
  fcfs                 strictly in the order of arrival
  firstfit[:N]         each pass starts all that fits now; a job that was overtaken N
                       times is a barrier until it starts
  easy[:K[:ORDER]]     the first K that do not fit get reservations (K is 1 if not said);
                       others may start if they delay none of these
  easysjbf             as easy, but behind the head the shortest come first
  cons-rebuild         conservative: everyone has a reservation; all are made anew at
                       each event
  cons-compress        conservative: reservations are kept, and where a job ended each
                       may move to an earlier place
ORDER is that of the queue: fcfs, sjf, ljf (short or long jobs first), smallest or
largest (by processors); equal jobs by submit time and number.

A job runs for its run time; the scheduler believes the requested time. A log in which
jobs lack what is needed is refused with the number of the line; --normalise drops jobs
without processors or run time and those that are too large, takes the run time where
no time was requested, cuts run times to the requested times, and counts submit times
from 0 and jobs from 1. It says on standard error what it dropped.

The answer:
  wait                 start - submit; p99 is the value that 99 % do not exceed
  bounded slowdown     max(1, (wait + run) / max(run, 10 s)), the mean
  response             wait + run
  utilisation          sum of processors x run / (machine x makespan)
  makespan             last end - first submit`

const replayExample = `  gsim replay --policy easy KTH-SP2-5000.swf.gz
  gsim replay --policy easy:1:sjf --starts starts.tsv --json KTH-SP2-5000.swf.gz
  gsim replay --policy fcfs --normalise --partition 7 --procs 148 METACENTRUM-2009-2.swf.gz`

// replayFlags are what gsim replay is told.
type replayFlags struct {
	logFlags
	json bool
}

func newReplay() *cobra.Command {
	f := &replayFlags{}
	cmd := &cobra.Command{
		Use:                   "replay --policy P [flags] LOG.swf[.gz]",
		Short:                 "Replay the log of a machine under a scheduler's policy",
		Long:                  replayHelp,
		Example:               replayExample,
		Args:                  cobra.ExactArgs(1),
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.add(cmd)
	cmd.Flags().String("starts", "", "write the start of each job to `FILE`, as \"job<TAB>start\" lines")
	cmd.Flags().BoolVar(&f.json, "json", false, "answer in JSON")
	return cmd
}

// answer is what gsim replay prints.
type answer struct {
	Policy string `json:"policy"`
	Procs  int32  `json:"processors"`
	replay.Measures
	Normalised *replay.Changes `json:"normalised,omitempty"`
}

func (f *replayFlags) run(cmd *cobra.Command, path string) error {
	p, log, changes, err := f.read(cmd, path, false)
	if err != nil {
		return err
	}
	file, err := openAnswer(cmd, "starts")
	if err != nil {
		return err
	}
	defer file.close()
	r, err := replayed(cmd.Context(), cmd.ErrOrStderr(), log, p)
	if err != nil {
		return err
	}
	if err := file.write(func(w io.Writer) error { return replay.WriteStarts(w, log, r) }); err != nil {
		return err
	}
	a := answer{Policy: p.String(), Procs: log.Procs, Measures: replay.Measure(log, r), Normalised: changes}
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), a)
	}
	return a.print(cmd.OutOrStdout())
}

func replayed(ctx context.Context, stderr io.Writer, log *replay.Log, p plan.Policy) (*replay.Result, error) {
	bar := newProgress(stderr, len(log.Jobs))
	defer bar.done()
	r, err := replay.Run(ctx, log, p, bar.at)
	return r, interrupted(err)
}

// interrupted says in words that the user ended the work.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

func (a answer) print(w io.Writer) error {
	return printRows(w, [][2]string{
		{"policy", a.Policy},
		{"processors", fmt.Sprint(a.Procs)},
		{"jobs", fmt.Sprint(a.Jobs)},
		{"wait, mean", fmt.Sprintf("%.1f s", a.WaitMean)},
		{"wait, p99", fmt.Sprintf("%d s", a.WaitP99)},
		{"bounded slowdown, mean", fmt.Sprintf("%.2f", a.Slowdown)},
		{"response, mean", fmt.Sprintf("%.1f s", a.Response)},
		{"utilisation", fmt.Sprintf("%.2f %%", 100*a.Utilisation)},
		{"makespan", fmt.Sprintf("%d s", a.Makespan)},
		{"replayed", fmt.Sprintf("%.0f jobs/s", a.JobsPerS)},
	})
}

// printRows prints names and values in two columns.
func printRows(w io.Writer, rows [][2]string) error {
	t := cli.Table(w)
	for _, row := range rows {
		if _, err := fmt.Fprintf(t, "%s\t%s\n", row[0], row[1]); err != nil {
			return err
		}
	}
	return t.Flush()
}
