package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func doctorCommand() *cobra.Command {
	var o daemon.DoctorOptions
	var noJob, asJSON bool
	var other string
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "doctor --config FILE",
		Short: "Check the batch system, by trying what the broker needs of it",
		Long: `doctor checks one by one: the configuration; that the folders of the site are there, its user's, and have room; that its
ports are free, or this daemon's; that the commands
are there, and which version; that the controller answers as it should; clocks and zone; that ended jobs are listed long enough;
the queue; that the jobs of others are shown; that we may submit for mapped accounts; a reservation,
made in a week and released; a job, from its submission to its exit status, whether its node sees the
job's folder, and how its start compares with our estimate.

With --reach SITE it tries only whether the nodes of this site and of that neighbour reach each other, as one program
of MPI over both needs: the running daemon hands in a job of one process at each, that of this site listens on one of
batch.ports and on any other port, that of SITE connects to both and is connected to. Try it at both sites: the port
that is told is of the site where it is tried.

Each line begins with ok, mend (and what to do), or untried (and why). Exit 0 if nothing is to be
mended, else 1. It leaves nothing behind, and a running daemon does not mind it; run it as the daemon's user.`,
		Example: `  gbroker doctor --config FILE
  gbroker doctor --config FILE --wait 1h        where jobs wait for long
  gbroker doctor --config FILE --no-job --json
  gbroker doctor --config FILE --reach beta     before beta is written into batch.reach`,
		Args: cobra.NoArgs,
	}
	file := configFlag(cmd)
	f := cmd.Flags()
	f.BoolVar(&noJob, "no-job", false, "leave the test job out")
	f.StringVar(&o.As, "as", "", "the account of the test job; one of those that batch.users names, if any")
	cli.SpanVar(cmd, &o.Wait, "wait", 2*time.Minute, "how long a test job may wait for its start")
	cli.SpanVar(cmd, &limit, "timeout", 10*time.Minute, "give up after this long, besides --wait of each job")
	f.StringVar(&other, "reach", "", "try only whether the nodes of `SITE`, a neighbour, and those of here reach each other")
	f.BoolVar(&asJSON, "json", false, "print a JSON array of name, verdict, text")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if other != "" {
			limit += o.Wait // of the second job
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), limit+o.Wait)
		defer cancel()
		o.Job = !noJob
		all, ill := []daemon.Finding{}, false
		tell := func(f daemon.Finding) {
			all, ill = append(all, f), ill || f.Verdict == daemon.Mend
			if !asJSON {
				fmt.Fprintf(cmd.OutOrStdout(), "%-8s %-18s %s\n", f.Verdict, f.Name, plain(f.Text))
			}
		}
		examine := func() error { return daemon.Examine(ctx, *file, o, tell) }
		if other != "" {
			examine = func() error { return reach(ctx, *file, grid.SiteName(other), o.Wait, tell) }
		}
		err := examine()
		if err != nil {
			return err
		}
		if asJSON {
			if err := cli.PrintJSON(cmd.OutOrStdout(), all); err != nil {
				return err
			}
		}
		if ill {
			return cli.Exit(cli.No, nil)
		}
		return nil
	}
	return cmd
}
