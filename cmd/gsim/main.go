// Command gsim asks what local schedulers would do: it replays the logs of real
// machines under their policies, and estimates when jobs will start.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
)

func main() { os.Exit(cli.Main(newRoot())) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "gsim",
		Short: "Simulate sites and their schedulers",
		Long: `gsim runs what gbroker knows about local schedulers in virtual time.

The simulator of many brokers is not built yet.`,
	}
	root.AddCommand(newReplay(), newPredict(), newSelect())
	return root
}
