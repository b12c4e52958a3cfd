package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/daemon"
)

// batchCommand holds what is done to the batch system by hand.
func batchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "batch",
		Short: "See the batch system as the broker does, and act on it by hand",
		Long: `The commands below batch go through the same driver as the daemon, with the same
configuration, beside a running daemon or without one. What they submit and reserve carries
the mark "hand", so that no daemon takes it for its own, and is noted in data/hand.
By hand the embedded system is one of its own, over nodes like the daemon's: the snapshot, which is
of the daemon's, does not show what was handed to it, and it starts what waits only while a command runs.`,
	}
	file := configFlag(cmd)
	limit := cmd.PersistentFlags().Duration("timeout", time.Minute, "give up after this long")
	h := &byHand{file: file, limit: limit}
	cmd.AddCommand(h.snapshot(), h.submit(), h.status(), h.reserve(), h.unreserve(), h.reservations())
	cmd.AddCommand(h.acts()...)
	return cmd
}

// byHand is what the commands below batch share.
type byHand struct {
	file  *string
	limit *time.Duration
}

// run does one thing within the time limit.
func (h *byHand) run(do func(ctx context.Context, cmd *cobra.Command, cfg daemon.Config, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := daemon.LoadConfig(*h.file)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), *h.limit)
		defer cancel()
		return do(ctx, cmd, cfg, args)
	}
}

// look asks the driver; where jobs run inside of the daemon, the daemon.
func look(ctx context.Context, cfg daemon.Config) (api.Batch, error) {
	if cfg.Batch.System != daemon.Embedded && cfg.Batch.System != daemon.Pool {
		return daemon.ViewBatch(ctx, cfg)
	}
	client, err := dial(ctx, cfg)
	if err != nil {
		return api.Batch{}, fmt.Errorf("the embedded batch system lives in the daemon: %w", err)
	}
	defer client.Close()
	return client.Batch(ctx)
}
