package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
	"gbroker/sim/replay"
)

const predictHelp = `Predict replays a log as 'gsim replay' does, and after the pass at each arrival it
estimates when the job that came will start, if it must wait: the policy is run forward
from what is known then. Jobs end when they are believed to end, while the scheduler's
own reservations rest on the requested times. No later arrival is known; what comes in
the same second is. At the end the estimates are compared with what came.

What run times are believed in (--runtime):
  requested    those that were requested
  last2        the mean of the user's last two jobs that ended
  ratio        the part of the requested times that the user's jobs used
  best         a spread of run times, by the user's jobs that ended, those that still run
               and what others did; the policy is run forward with many of them, among
               arrivals like those of the last days, and the median of the starts is the
               estimate
  actual       the run times that will come: what an oracle would say
A belief that a job outlives is raised. None is beyond the requested time. The jobs of
users that the log does not name count as one user's.

The answer:
  waited               jobs that had to wait, and have an estimate
  absolute error       of the start; median and p90 by nearest rank
  within 60 s, 600 s   share of jobs whose error is no more
  too early            share of jobs that started later than estimated
  after p90            share of jobs that started after the p90 told with the estimate, which
                       is learned from the errors before and should be a tenth`

const predictExample = `  gsim predict --policy easy --runtime best SDSC-SP2-5000.swf.gz
  gsim predict --policy fcfs --runtime requested --estimates e.tsv --json KTH-SP2-5000.swf.gz`

// predictFlags are what gsim predict is told.
type predictFlags struct {
	logFlags
	method string
	json   bool
}

func newPredict() *cobra.Command {
	f := &predictFlags{}
	cmd := &cobra.Command{
		Use:                   "predict --policy P --runtime HOW [flags] LOG.swf[.gz]",
		Short:                 "Estimate the starts of a log's jobs, and see how good that was",
		Long:                  predictHelp,
		Example:               predictExample,
		Args:                  cobra.ExactArgs(1),
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.method, "runtime", "", "believe in the run times of `HOW`: "+strings.Join(replay.Methods, ", "))
	cmd.Flags().String("estimates", "", "write the estimates to `FILE`, as \"job<TAB>time<TAB>estimate<TAB>start<TAB>p90\" lines")
	cmd.Flags().BoolVar(&f.json, "json", false, "answer in JSON")
	return cmd
}

// accuracy is what gsim predict prints.
type accuracy struct {
	Policy  string `json:"policy"`
	RunTime string `json:"runtime"`
	Jobs    int    `json:"jobs"`
	replay.Accuracy
	AfterP90   float64         `json:"after_p90"` // share: the job started after the time told for nine of ten
	Normalised *replay.Changes `json:"normalised,omitempty"`
}

func (f *predictFlags) run(cmd *cobra.Command, path string) error {
	if f.method == "" {
		return cli.BadUsage("--runtime is needed: %s", strings.Join(replay.Methods, ", "))
	}
	if err := replay.CheckMethod(f.method); err != nil {
		return cli.BadUsage("%v", err)
	}
	p, log, changes, err := f.read(cmd, path, replay.NeedsLimits(f.method))
	if err != nil {
		return err
	}
	file, err := openAnswer(cmd, "estimates")
	if err != nil {
		return err
	}
	defer file.close()
	bar := newProgress(cmd.ErrOrStderr(), len(log.Jobs))
	all, err := replay.Predict(cmd.Context(), log, p, f.method, bar.at)
	bar.done()
	if err != nil {
		return interrupted(err)
	}
	if err := file.write(func(w io.Writer) error { return replay.WriteEstimates(w, log, all) }); err != nil {
		return err
	}
	a := accuracy{Policy: p.String(), RunTime: f.method, Jobs: len(log.Jobs), Accuracy: replay.Judge(all), AfterP90: replay.AfterP90(all), Normalised: changes}
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), a)
	}
	return a.print(cmd.OutOrStdout())
}

func (a accuracy) print(w io.Writer) error {
	return printRows(w, [][2]string{
		{"policy", a.Policy},
		{"run times", a.RunTime},
		{"jobs", fmt.Sprint(a.Jobs)},
		{"waited", fmt.Sprint(a.Waited)},
		{"absolute error, mean", fmt.Sprintf("%.1f s", a.Mean)},
		{"absolute error, median", fmt.Sprintf("%.0f s", a.Median)},
		{"absolute error, p90", fmt.Sprintf("%.0f s", a.P90)},
		{"within 60 s", fmt.Sprintf("%.2f %%", 100*a.Within60)},
		{"within 600 s", fmt.Sprintf("%.2f %%", 100*a.Within600)},
		{"too early", fmt.Sprintf("%.2f %%", 100*a.TooEarly)},
		{"after p90", fmt.Sprintf("%.2f %%", 100*a.AfterP90)},
	})
}
