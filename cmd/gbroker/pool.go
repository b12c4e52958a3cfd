package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gbroker/daemon"
	"gbroker/internal/cli"
	"gbroker/pbs/pool"
)

func poolCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pool",
		Short: "Invite, list and remove the computers of a pool of desktops",
		Long: `A pool of desktops (batch.system: pool) has computers that stay their owners'. Each
joins with a code that is good once. A running daemon takes up all that these
commands do at once.`,
		Example: `  gbroker pool invite --config FILE      prints a code; at the computer: gbroker-agent join --dir DIR CODE
  gbroker pool list --config FILE
  gbroker pool remove --config FILE desk17`,
	}
	file := configFlag(cmd)
	cmd.AddCommand(poolInvite(file), poolList(file), poolRemove(file))
	return cmd
}

func ofPool(file string) (pool.Config, error) {
	cfg, err := daemon.Load(file)
	if err != nil {
		return pool.Config{}, err
	}
	return cfg.ThePool()
}

func poolInvite(file *string) *cobra.Command {
	var good time.Duration
	cmd := &cobra.Command{
		Use:   "invite --config FILE",
		Short: "Print a code with which one computer may join",
		Example: `  gbroker pool invite --config FILE
  gbroker pool invite --config FILE --good-for 15m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := ofPool(*file)
			if err != nil {
				return err
			}
			code, err := pool.Invite(c, time.Now().Add(good))
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), code)
			return nil
		},
	}
	cli.SpanVar(cmd, &good, "good-for", 24*time.Hour, "how long the code is good")
	return cmd
}

func poolList(file *string) *cobra.Command {
	return &cobra.Command{
		Use:     "list --config FILE",
		Short:   "List the computers that have joined, and what they have",
		Long:    `list tells what each computer said of itself. Whether it takes jobs now, "gbroker batch snapshot" tells.`,
		Example: `  gbroker pool list --config FILE`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := ofPool(*file)
			if err != nil {
				return err
			}
			list, err := pool.List(c.Spool)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tCORES\tMEMORY\tSPEED\tARCHITECTURE\tSYSTEM\tUSERS")
			for _, l := range list {
				users := strings.Join(l.Users, ",")
				if users == "" {
					users = "all"
				}
				fmt.Fprintf(w, "%s\t%d\t%s\t%.2f\t%s\t%s\t%s\n", l.Name, l.Cores, daemon.FormatSize(l.Memory), l.Speed, l.Architecture, l.System, users)
			}
			return w.Flush()
		},
	}
}

func poolRemove(file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "remove --config FILE NAME",
		Short: "Remove a computer for good",
		Long: `remove makes the certificate of a computer worth nothing. What runs there counts as
cut off. The name is not given again.`,
		Example: `  gbroker pool remove --config FILE desk17`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := ofPool(*file)
			if err != nil {
				return err
			}
			return pool.Revoke(c.Spool, args[0])
		},
	}
}
