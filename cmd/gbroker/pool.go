package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/pbs/pool"
)

func poolCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pool",
		Short: "Invite, list, foresee and remove the computers of a pool of desktops",
		Long: `A pool of desktops (batch.system: pool) has computers that stay their owners'. Each
joins with a code that is good once. A running daemon takes up all that these
commands do at once.`,
		Example: `  gbroker pool invite --config FILE      prints a code; at the computer: gbroker-agent join --dir DIR CODE
  gbroker pool list --config FILE
  gbroker pool forecast --config FILE desk17
  gbroker pool remove --config FILE desk17`,
	}
	file := configFlag(cmd)
	cmd.AddCommand(poolInvite(file), poolList(file), poolForecast(file), poolRemove(file))
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
			if code.Address != c.Listen && code.Address != c.Address {
				fmt.Fprintf(cmd.ErrOrStderr(), "The computer calls %s; where that is not how it reaches this machine, set batch.address.\n", code.Address)
			}
			return nil
		},
	}
	cli.SpanVar(cmd, &good, "good-for", 24*time.Hour, "how long the code is good")
	return cmd
}

func poolList(file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "list --config FILE",
		Short: "List the computers that have joined, and what they have",
		Long: `list tells what each computer said of itself, and what a job on one of its cores may
expect beside a computer that is the reference and has no owner: H is the part of the
reference that it would have in the present hour, DAY and WEEK are means of the next
day and week, SEEN is how long the pool watched the computer in the last four weeks.
NOW is whether it takes jobs now, or why not; "?" where the daemon does not run. Who has
joined and whose agent has never run has "never connected", and nothing else.`,
		Example: `  gbroker pool list --config FILE`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := ofPool(*file)
			if err != nil {
				return err
			}
			list, err := pool.List(c)
			if err != nil {
				return err
			}
			now := presence(cmd.Context(), *file)
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tNOW\tCORES\tMEMORY\tSPEED\tH\tDAY\tWEEK\tSEEN\tARCHITECTURE\tSYSTEM\tUSERS")
			for _, l := range list {
				if !l.Registered {
					fmt.Fprintf(w, "%s\tnever connected\n", l.Name)
					continue
				}
				users := strings.Join(l.Users, ",")
				if users == "" {
					users = "all"
				}
				at := grid.InstantOf(time.Now())
				fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f h\t%s\t%s\t%s\n", l.Name, cmp.Or(now[l.Name], "?"), l.Cores, cli.Size(l.Memory), l.Speed,
					l.Forecast.At(at), mean(&l, at, grid.Day), mean(&l, at, 7*grid.Day), l.Seen.Seconds()/3600, l.Architecture, l.System, users)
			}
			return w.Flush()
		},
	}
}

// presence is whether computers take jobs now, as the daemon says; nothing where it does not run.
func presence(ctx context.Context, file string) map[string]string {
	cfg, err := daemon.Load(file)
	if err != nil {
		return nil
	}
	b, err := look(ctx, cfg)
	if err != nil {
		return nil
	}
	now := map[string]string{}
	for _, n := range b.Nodes {
		now[n.Name] = "free"
		if n.Down {
			now[n.Name] = cmp.Or(n.Why, "down")
		}
	}
	return now
}

// mean is H on average from now on.
func mean(l *pool.Listed, now, span grid.Tick) float64 {
	return l.Forecast.Done(now, now+span) / span.Seconds()
}

func poolForecast(file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "forecast --config FILE NAME",
		Short: "Say what is expected of a computer in each hour of the week",
		Long: `forecast prints H for each hour of the week, by the clock of the computer's owner: the
part of the reference processor that a job on one core may expect under the policy of
the owner. It is learned from the last four weeks.`,
		Example: `  gbroker pool forecast --config FILE desk17`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := ofPool(*file)
			if err != nil {
				return err
			}
			list, err := pool.List(c)
			if err != nil {
				return err
			}
			at := slices.IndexFunc(list, func(l pool.Listed) bool { return l.Name == args[0] })
			if at >= 0 && !list[at].Registered {
				return fmt.Errorf("%w: computer %s has never connected: nothing is known of it", grid.ErrNotYet, args[0])
			}
			if at < 0 {
				return fmt.Errorf("%w: no computer %q has joined", grid.ErrNotFound, args[0])
			}
			return writeForecast(cmd.OutOrStdout(), &list[at], grid.InstantOf(time.Now()))
		},
	}
}

// writeForecast writes a line for each day from today on, a number for each hour.
func writeForecast(out io.Writer, l *pool.Listed, now grid.Tick) error {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "hour\t")
	for hour := range 24 {
		fmt.Fprintf(w, "%d\t", hour)
	}
	fmt.Fprintln(w)
	offset := grid.Tick(l.Policy.Offset)
	today := (now+offset)/grid.Day*grid.Day - offset
	for day := range grid.Tick(7) {
		begin := today + day*grid.Day
		fmt.Fprintf(w, "%s\t", (begin + offset).Time().UTC().Format("Mon"))
		for hour := range grid.Tick(24) {
			at := begin + hour*grid.Hour
			if at < now { // the same hour of the week to come
				at += 7 * grid.Day
			}
			fmt.Fprintf(w, "%.2f\t", l.Forecast.Done(at, at+grid.Hour)/3600)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func poolRemove(file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "remove --config FILE NAME",
		Short: "Remove a computer for good",
		Long: `remove makes the certificate of a computer worth nothing. What runs there counts as
cut off. The name is not given again. A name that no computer has is an error, and burns nothing.`,
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
