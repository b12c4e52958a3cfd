package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gbroker/api"
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
	cmd.RunE = onDaemon(file, func(cmd *cobra.Command, client *api.Client, _ []string) error {
		if _, err := client.Drain(cmd.Context(), on); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), done)
		return nil
	})
	return cmd
}
