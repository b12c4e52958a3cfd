package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gbroker/daemon"
	"gbroker/overlay"
)

func gridCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "grid --config FILE",
		Short: "Give this broker the key of a grid",
		Long: `grid writes the key of a grid to grid.key beside the neighbours' file (mode 0600) and names it there:
"grid_key: grid.key". Brokers that share a key find each other's sites and jobs by the
directory that they keep together, beyond their neighbours: "gclient sites --all", and "gclient
status" of a job anywhere. Who has the key may speak that directory and nothing else; jobs go
to neighbours alone.

Without --key a new key is made, and printed; where there is one already, that one is: give it to the other administrators by a way that nobody else reads. A running
daemon takes it up at once, and warns of a neighbour that has another one, as "gbroker status" does. To take a key out, remove the line grid_key.`,
		Example: `  gbroker grid --config a/gbroker.yaml
  gbroker grid --config b/gbroker.yaml --key "$(cat a/grid.key)"`,
		Args: cobra.NoArgs,
	}
	file := configFlag(cmd)
	cmd.Flags().StringVar(&key, "key", "", "the grid's `KEY`, from a broker that has it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := daemon.Load(*file)
		if err != nil {
			return err
		}
		k := cfg.GridKey
		switch {
		case key != "":
			if k, err = overlay.ParseGridKey(key); err != nil {
				return err
			}
		case k == (overlay.GridKey{}):
			k = overlay.NewGridKey()
		}
		if err := daemon.SetGridKey(cmd.Context(), cfg, k); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), k.Text())
		return nil
	}
	return cmd
}
