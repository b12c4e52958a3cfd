// Command gsim will run many brokers in virtual time. So far it only says its version.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"gbroker/internal/cli"
)

func main() {
	os.Exit(cli.Main(&cobra.Command{
		Use:   "gsim",
		Short: "Simulate a grid of gbroker sites",
		Long: `gsim simulates many brokers, their networks and batch systems in virtual time.

The simulator itself is not built yet: this program only knows --help and --version.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}))
}
