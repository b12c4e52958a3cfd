package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gbroker/daemon"
	"gbroker/internal/cli"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Tell every mistake of both files, with its place",
		Long: `check reads gbroker.yaml and the neighbours' file as the daemon would, and prints every
mistake as FILE:LINE:COLUMN: what is wrong and what to write instead. It also looks
at the identity key, the token and the data folder. Exit 0 if all is well, else 1. Where the
topology wants names, tags or organisations that no member has it warns, and exits with 0.`,
		Example: `  gbroker check --config /srv/gbroker/gbroker.yaml && systemctl restart gbroker`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.BadUsage("%.200q: the file is named by a flag: gbroker check --config %.200s", args[0], args[0])
			}
			return nil
		},
	}
	file := configFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of file, line, column, text; empty if all is well")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, wrong, err := daemon.Check(*file)
		if err != nil {
			return err
		}
		switch {
		case asJSON:
			if err := cli.PrintJSON(cmd.OutOrStdout(), append(daemon.Mistakes{}, wrong...)); err != nil {
				return err
			}
		case len(wrong) == 0:
			fmt.Fprintf(cmd.OutOrStdout(), "%s is right: site %s, %s.\n", *file, cfg.Site, neighboursText(len(cfg.Members)))
			for _, text := range cfg.Idle() {
				fmt.Fprintf(cmd.OutOrStdout(), "warning: %s\n", text)
			}
		default:
			fmt.Fprintln(cmd.OutOrStdout(), wrong.Error())
		}
		if len(wrong) > 0 {
			return cli.Exit(cli.No, nil)
		}
		return nil
	}
	return cmd
}

// neighboursText is a number of neighbours.
func neighboursText(n int) string {
	if n == 1 {
		return "1 neighbour"
	}
	return fmt.Sprintf("%d neighbours", n)
}
