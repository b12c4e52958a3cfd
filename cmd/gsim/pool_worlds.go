package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"gbroker/sim/pool"
)

// inWorlds runs so many models of a pool in made worlds, with their progress, and prints and draws the rows; those of an interrupted run are not drawn.
func inWorlds[R any](cmd *cobra.Command, models int, o pool.Options, run func(context.Context, pool.Options) (rows []R, partial bool), print func(io.Writer, []R) error, draw func([]R) error) error {
	bar := newProgress(cmd.ErrOrStderr(), models*o.Seeds)
	bar.unit = "runs"
	o.Seen = func(done, _ int) { bar.at(done) }
	rows, partial := run(cmd.Context(), o)
	bar.done()
	if err := print(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	if partial {
		return errors.New("interrupted: the results are partial")
	}
	return draw(rows)
}
