package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/internal/cli"
)

func (p *program) budget() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "Show what you may pay at sites with prices",
		Long: `Show what the administrator of your site has granted you to pay at sites with prices, in their unit: what you have spent, what
is in liens, kept back for your jobs that are there or go there (the most that each can cost), and what is free. When a job has ended it is charged
for what it has run, and the rest of its lien is free again; a job that is LOST costs nothing, unless its result comes after all.`,
		Example: "  gclient budget\n  gclient budget --json | jq '.[0].free'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return answered(p, cmd, asJSON, (*api.Client).Budgets, printBudgets)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printBudgets(w io.Writer, list []api.Budget) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "you have no budget: you may pay anything")
		return err
	}
	t := cli.Fitted(w, 0)
	for _, b := range list {
		if b.Granted == nil || b.Free == nil {
			fmt.Fprintf(t, "%s\tmay pay anything; %s spent, %s in liens\t\n", printable(b.User), cli.Amount(b.Spent), cli.Amount(b.InLiens))
		} else {
			fmt.Fprintf(t, "%s\tgranted %s = %s spent + %s in liens + %s free\t\n", printable(b.User), cli.Amount(*b.Granted), cli.Amount(b.Spent), cli.Amount(b.InLiens), cli.Amount(*b.Free))
		}
		for _, h := range b.Liens {
			note := ""
			if h.Back {
				note = ", LOST: given back"
			}
			fmt.Fprintf(t, "  %s for %s\t%d cores at %s for a core and hour%s\t\n", cli.Amount(h.Amount), printable(string(h.Job)), h.Cores, cli.Amount(h.Rate), note)
		}
	}
	return flush(t)
}
