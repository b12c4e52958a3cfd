package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"gbroker/internal/cli"
	"gbroker/sim/experiment"
)

const runHelp = `Run runs the experiment of a file: grids of brokers, with the code that decides in the daemon, over sites that run the
real policies of gsim replay, in virtual time, on jobs that are made or come from logs. Fields of the file that are lists are
varied; what a file may say is told by go doc gbroker/sim/experiment, and configs/experiments has some.

The same file and seed give the same numbers, on any machine and with any number of workers. Ctrl-C gives the results so far, marked
as partial, and the exit status is not 0.

The table, each with its deviation over the seeds:
  response    from the arrival to the end, of the jobs that entered the grid; mean
  wait        from the arrival to the start
  queued      the same without delivery, where that takes a fixed time
  slowdown    max(1, response / max(run, 10 s))
  by oracle   mean response by that of a central scheduler that knows everything, on the same seeds
  moves, messages   from site to site and between brokers, for each job
  use         part of all cores until the last job ended
  fairness    Jain's index of the slowdowns of the homes: 1 is all alike
  error       of the start that was told when a job came into its queue`

const runExample = `  gsim run configs/experiments/gbroker-2010.yaml --plots figures
  gsim run --quick --json configs/experiments/scale.yaml
  gsim run --seed 7 --workers 2 --csv results.csv experiment.yaml`

type runFlags struct {
	json, quick, time bool
	plots, plotsAs    string
	workers           int
	seed              uint64
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "run EXPERIMENT.yaml",
		Short:   "Run an experiment with many brokers in virtual time",
		Long:    runHelp,
		Example: runExample,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "answer in JSON: a list of runs")
	flags.String("csv", "", "write the results into `FILE` too")
	flags.StringVar(&f.plots, "plots", "", "draw the experiment's figures into the folder `DIR`")
	flags.StringVar(&f.plotsAs, "plots-as", "svg", "what the figures are: svg or png (`KIND`)")
	flags.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "how many runs at once (`N`); it changes no result")
	flags.Uint64Var(&f.seed, "seed", 0, "of the first replication (`SEED`); 0 is the file's")
	flags.BoolVar(&f.quick, "quick", false, "with the fields of the file's section quick")
	flags.BoolVar(&f.time, "time", false, "measure the processor time of a job too, which differs from run to run")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, path string) error {
	if f.workers < 1 || f.workers > 1024 {
		return cli.BadUsage("--workers %d: from 1 to 1024", f.workers)
	}
	if f.plotsAs != "svg" && f.plotsAs != "png" {
		return cli.BadUsage("--plots-as %q: svg or png", f.plotsAs)
	}
	data, err := readSmall(path)
	if err != nil {
		return err
	}
	e, err := experiment.Parse(path, data, f.quick)
	if err != nil {
		return err
	}
	table, err := openAnswer(cmd, "csv")
	if err != nil {
		return err
	}
	defer table.close()
	if f.plots != "" {
		if err := os.MkdirAll(f.plots, 0o777); err != nil {
			return fmt.Errorf("making the folder for --plots: %w", err)
		}
	}
	results, err := f.results(cmd.Context(), cmd.ErrOrStderr(), e, filepath.Dir(path))
	if err != nil {
		return err
	}
	if err := table.write(results.WriteCSV); err != nil {
		return err
	}
	if f.plots != "" {
		if _, err := e.Draw(results, f.plots, f.plotsAs); err != nil {
			return err
		}
	}
	if err := f.print(cmd.OutOrStdout(), results); err != nil {
		return err
	}
	if results.Partial {
		return errors.New("interrupted: the results are partial")
	}
	return nil
}

// readSmall reads a file of which no more is looked at than an experiment may have.
func readSmall(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the experiment: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, experiment.MostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the experiment: %w", err)
	}
	return data, nil
}

func (f *runFlags) results(ctx context.Context, stderr io.Writer, e *experiment.Experiment, folder string) (*experiment.Results, error) {
	bar := newProgress(stderr, 1000)
	bar.unit = "parts of the work"
	defer bar.done()
	defer collectSeldom()()
	o := experiment.Options{Folder: folder, Workers: f.workers, Seed: f.seed, Seen: func(part float64, runs, all int) {
		bar.unit = fmt.Sprintf("parts of the work, %d of %d runs", runs, all)
		bar.at(int(1000 * part))
	}}
	if f.time {
		o.Clock = processorTime
	}
	return e.Run(ctx, o)
}

// processorTime is that of the calling thread. A run does not change its thread for long where there are as many workers as
// processors or fewer.
func processorTime() time.Duration {
	runtime.LockOSThread()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (f *runFlags) print(out io.Writer, results *experiment.Results) error {
	if f.json {
		return cli.PrintJSON(out, results.Rows)
	}
	t := cli.Table(out)
	for _, line := range results.Table() {
		for i, cell := range line {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
