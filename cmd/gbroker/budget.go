package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/internal/cli"
)

func budgetCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "budget --config FILE",
		Short: "Show the budgets of the users of the site",
		Long: `budget lists what each user of the site is granted by budgets: in gbroker.yaml, what he has spent at sites with prices, what is in liens for
his jobs that are there or go there, and what is free. GRANTED is "-" of one whom the file names no more: he may pay anything, and what he
has spent counts again when he is named again. A user who is not listed has no budget.`,
		Example: "  gbroker budget --config FILE\n  gbroker budget --json --config FILE | jq '.[] | select(.free < 10) | .user'",
		Args:    cobra.NoArgs,
	}
	file := configFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = onDaemon(file, func(cmd *cobra.Command, client *api.Client, _ []string) error {
		list, err := client.Budgets(cmd.Context())
		if err != nil {
			return err
		}
		if asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), list)
		}
		return printBudgets(cmd.OutOrStdout(), list)
	})
	return cmd
}

func printBudgets(w io.Writer, list []api.Budget) error {
	t := cli.Fitted(w, 0)
	fmt.Fprintln(t, "USER\tGRANTED\tSPENT\tIN LIENS\tFREE\tJOBS WITH LIENS\t")
	for _, b := range list {
		granted, free := "-", "-"
		if b.Granted != nil && b.Free != nil {
			granted, free = cli.Amount(*b.Granted), cli.Amount(*b.Free)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t\n", b.User, granted, cli.Amount(b.Spent), cli.Amount(b.InLiens), free, len(b.Liens))
	}
	return t.Flush()
}
