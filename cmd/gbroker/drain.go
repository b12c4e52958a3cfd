package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
)

// drainCommand is drain, and undrain with on false.
func drainCommand(on bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain --config FILE",
		Short: "Take no more grid jobs, and hand on those that wait",
		Long: `drain makes the running daemon take no more grid jobs: other brokers hear that the
site is drained, jobs that its own users hand in are placed elsewhere, and those that
wait in the local queue are handed to neighbours as these can take them. Running jobs
go on to their end here. The state is kept over restarts, until "gbroker undrain".`,
		Example: "  gbroker drain --config FILE\n  gclient list       what is still here",
		Args:    cobra.NoArgs,
	}
	done := "The site is drained: it takes no grid jobs, and hands on those that wait."
	if !on {
		cmd.Use, cmd.Short = "undrain --config FILE", "Take grid jobs again"
		cmd.Long = "undrain ends what \"gbroker drain\" began."
		cmd.Example = "  gbroker undrain --config FILE"
		done = "The site takes grid jobs again."
	}
	file := configFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := daemon.Load(*file)
		if err != nil {
			return err
		}
		client, err := dial(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer client.Close()
		if _, err := client.Drain(cmd.Context(), on); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), done)
		return nil
	}
	return cmd
}

// dial makes a client of the site's running daemon.
func dial(ctx context.Context, cfg daemon.Config) (*api.Client, error) {
	ready, err := daemon.ReadReady(ctx, cfg)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the daemon of %s does not run: start it with `gbroker run` first: %w", cfg.Site, grid.ErrUnavailable)
	}
	if err != nil {
		return nil, err
	}
	return api.NewClient(api.ClientConfig{Address: "unix://" + ready.Socket})
}
