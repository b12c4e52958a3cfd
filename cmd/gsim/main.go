// Command gsim asks what local schedulers would do: it replays the logs of real
// machines under their policies, and estimates when jobs will start. And it runs many
// brokers in a world in which everything breaks.
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
		Short: "Simulate sites, their schedulers and their brokers",
		Long: `gsim runs what gbroker knows about local schedulers in virtual time, and whole
neighbourhoods of brokers in a world in which everything breaks.`,
	}
	root.AddCommand(newRun(), newReplay(), newPredict(), newSelect(), newCoallocate(), newFlow(), newFaults(), newPool())
	return root
}
