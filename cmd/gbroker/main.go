// Command gbroker is the daemon of one site and the commands of its administrator.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
)

func main() {
	os.Exit(cli.Main(newRoot()))
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "gbroker",
		Short: "The broker of one site, and the commands of its administrator",
		Long: `gbroker runs beside the batch system of a cluster. With the brokers of other sites
it finds where a job would be finished first, takes it there with its files, and
brings the results back. Users speak to it with gclient.

A first site, on this machine:

  gbroker init --dir /srv/gbroker --site here
  gbroker doctor --config /srv/gbroker/gbroker.yaml   is the batch system as it is needed?
  gbroker run --config /srv/gbroker/gbroker.yaml

A second one joins when each knows the other:

  gbroker id --config /srv/gbroker/gbroker.yaml      at the first, prints a line
  gbroker neighbour add --config FILE 'LINE'         at the second, and the other way round

Exit codes: 0 done; 1 the answer is no (refused, invalid, not found); 2 usage;
3 could not be done (I/O, no daemon).`,
	}
	root.AddCommand(initCommand(), runCommand(), idCommand(), neighbourCommand(), gridCommand(), inviteCommand(), joinCommand(), checkCommand(), statusCommand(),
		drainCommand(true), drainCommand(false), forgetCommand(), jobCommand(), resumeCommand(), hadDuplicateCommand(), notifyCommand(), poolCommand(), batchCommand(), reservationsCommand(), budgetCommand(), doctorCommand(), sandboxCommand())
	return root
}

// configFlag adds --config to a command, and to those below it.
func configFlag(cmd *cobra.Command) *string {
	file := cmd.PersistentFlags().String("config", "", "the site's gbroker.yaml, which init has made")
	_ = cmd.MarkPersistentFlagFilename("config", "yaml") // fails only for a flag that is not there
	_ = cmd.MarkPersistentFlagRequired("config")
	return file
}
