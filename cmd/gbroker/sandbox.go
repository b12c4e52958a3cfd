package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gbroker/grid"
	"gbroker/internal/handover"
)

// sandboxCommand is what the daemon runs as another account; see docs/batch.md for sudoers.
func sandboxCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "sandbox hello | send FOLDER | clear FOLDER...",
		Short:  "Act in a job's folders in the name of its account (the daemon calls it, by sudo)",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := handover.Serve(args, cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return fmt.Errorf("%w: acting in a sandbox: %w", grid.ErrUnavailable, err)
			}
			return nil
		},
	}
}
