package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
	"gbroker/sim/pool"
)

// worldFlags are those of every command that simulates models of a pool in made worlds.
type worldFlags struct {
	plot, measure, title string // each command says what of it is drawn
	seeds, workers       int
	seed                 uint64
	json                 bool
}

func (f *worldFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.seeds, "seeds", 100, "how many worlds are made of each kind (`N`)")
	flags.Uint64Var(&f.seed, "seed", 0, "of the first world (`SEED`); 0 draws one")
	flags.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "how many runs at once (`N`); it changes no result")
	flags.BoolVar(&f.json, "json", false, "answer in JSON: a list")
}

// mostPoolRuns bounds what one command simulates.
const mostPoolRuns = 10_000_000

func (f *worldFlags) check(models int) error {
	switch {
	case f.seeds < 1 || f.seeds > 100_000 || f.workers < 1 || f.workers > 1024:
		return cli.BadUsage("--seeds %d, --workers %d: from 1 to 100,000 and 1,024", f.seeds, f.workers)
	case models*f.seeds > mostPoolRuns:
		return cli.BadUsage("these are %d runs: at most %d", models*f.seeds, mostPoolRuns)
	}
	return checkPlot(f.plot)
}

// checkPlot refuses a name that says no kind of figure.
func checkPlot(file string) error {
	if file != "" && !strings.HasSuffix(file, ".svg") && !strings.HasSuffix(file, ".png") {
		return cli.BadUsage("--plot %s: its name ends with .svg or .png", file)
	}
	return nil
}

// drawSeed draws one where none was given.
func drawSeed(seed *uint64) {
	if *seed == 0 {
		*seed = rand.Uint64() >> 16
	}
}

// inWorlds runs so many models, with their progress, and prints and draws the rows; those of an interrupted run are not drawn.
func inWorlds[R any](cmd *cobra.Command, f *worldFlags, models int, run func(context.Context, pool.Options) (rows []R, partial bool), print func(io.Writer, []R) error, draw func([]R) error) error {
	drawSeed(&f.seed)
	bar := newProgress(cmd.ErrOrStderr(), models*f.seeds)
	bar.unit = "runs"
	rows, partial := run(cmd.Context(), pool.Options{Seed: f.seed, Seeds: f.seeds, Workers: f.workers, Seen: func(done, _ int) { bar.at(done) }})
	bar.done()
	if err := print(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	switch {
	case partial:
		return errors.New("interrupted: the results are partial")
	case f.plot == "":
		return nil
	}
	return draw(rows)
}
