// Command gbroker-agent gives the idle time of a computer to a pool of the grid. Its owner stays its owner.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
)

func main() { os.Exit(cli.Main(newRoot())) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "gbroker-agent",
		Short: "Give a computer's idle time to a pool of the grid",
		Long: `gbroker-agent lets jobs of the grid run on this computer while its owner does not
need it. It opens all connections itself, and only to the pool that it has joined.

  gbroker-agent join --dir DIR CODE    CODE comes from the pool's operator, and is good once
  gbroker-agent run --dir DIR
  gbroker-agent status --dir DIR
  gbroker-agent pause --dir DIR        nothing runs until resume
  gbroker-agent leave --dir DIR        for good

Exit codes: 0 done; 1 the answer is no; 2 usage; 3 could not be done.`,
	}
	root.AddCommand(joinCommand(), runCommand(), statusCommand(), pauseCommand(), resumeCommand(), leaveCommand())
	return root
}
