package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gbroker/daemon"
)

// notifyLimit is how long a hook waits for the daemon at most.
const notifyLimit = 5 * time.Second

func notifyCommand() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "notify --config FILE [ID]",
		Short: "Tell the daemon that a job of the batch system has changed (for hooks)",
		Long: `notify makes the running daemon look at the batch system now instead of at its next
poll. It is for hooks of the batch system, such as an epilogue: it takes no longer than
five seconds and ends with 0 also where the daemon is down or refuses, as a hook that
fails would hold up jobs. ID, the batch system's name of the job, is for the reader of
the hook: all jobs are looked at.

root, the daemon's own user, the operator and the administrators of gbroker.yaml may say it.`,
		Example: `  gbroker notify --config /srv/gbroker/gbroker.yaml "$SLURM_JOB_ID"
  gbroker notify --config /srv/gbroker/gbroker.yaml --strict`,
		Args: cobra.MaximumNArgs(1),
	}
	file := configFlag(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "end with an error if the daemon was not told")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), notifyLimit)
		defer cancel()
		err := notify(ctx, *file)
		if err != nil && !strict {
			fmt.Fprintf(cmd.ErrOrStderr(), "gbroker: not told: %v\n", err)
			return nil
		}
		return err
	}
	return cmd
}

// notify reads no more of the site than it needs: the identity is the daemon's alone.
func notify(ctx context.Context, file string) error {
	cfg, err := daemon.LoadConfig(file)
	if err != nil {
		return err
	}
	client, err := dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Notify(ctx)
}
