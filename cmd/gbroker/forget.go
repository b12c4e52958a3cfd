package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func forgetCommand() *cobra.Command {
	var f api.Forgetting
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "forget --config FILE SITE",
		Short: "Say that a site will not come back, and decide about its jobs",
		Long: `forget decides about the jobs of this home that SITE has, by its name or its peer ID.
Nothing else does: a site that is only not heard keeps its jobs, however long.

A rerunnable job starts again here or elsewhere, and what SITE may still do with it
counts no more. Any other job may have started there unseen, and must not run twice:
it becomes LOST. With --fenced you state that the batch system of SITE is off, or
emptied: then all start again. Do not say so of a site that may still run them.

Should SITE come back after all, it is told; a result that it has is taken if the job
has not started again, and kept there beside the job's own if it has.

The jobs are listed first, with what becomes of each, and you are asked.`,
		Example: `  gbroker forget --config FILE xeon32 --dry-run
  gbroker forget --config FILE xeon32 --fenced --yes`,
		Args: cobra.ExactArgs(1),
	}
	file := configFlag(cmd)
	cmd.Flags().BoolVar(&f.Fenced, "fenced", false, "its batch system is off or emptied: nothing of it can start or run")
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "only list what would become of each job")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: peer, jobs; asks nothing, so it needs --yes or --dry-run")
	decide := onDaemon(file, func(cmd *cobra.Command, client *api.Client, args []string) error {
		f.Site = args[0]
		return forget(cmd, client, f, yes, asJSON)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if asJSON && !yes && !f.DryRun {
			return cli.BadUsage("--json does not ask: add --yes or --dry-run")
		}
		return decide(cmd, args)
	}
	return cmd
}

// forget lists the fates, asks unless told not to, and does it.
func forget(cmd *cobra.Command, client *api.Client, f api.Forgetting, yes, asJSON bool) error {
	only := f.DryRun
	f.DryRun = true
	plan, err := client.Forget(cmd.Context(), f)
	if err != nil {
		return err
	}
	if !asJSON {
		printFates(cmd, f.Site, plan)
		warnOfLiving(cmd, client, f.Site, plan.Peer)
	}
	f.DryRun = only
	if !only {
		if !yes && len(plan.Jobs) > 0 {
			if err := confirm(cmd, fmt.Sprintf("Forget %s, and do this with its jobs?", f.Site)); err != nil {
				return err
			}
		}
		if plan, err = client.Forget(cmd.Context(), f); err != nil {
			return err
		}
	}
	switch {
	case asJSON:
		return cli.PrintJSON(cmd.OutOrStdout(), plan)
	case !only:
		fmt.Fprintf(cmd.OutOrStdout(), "%s is forgotten; jobs that were decided: %d\n", f.Site, len(plan.Jobs))
	}
	return nil
}

// warnOfLiving says that a site which is to be forgotten lives: that may be meant, as its journal may be lost.
func warnOfLiving(cmd *cobra.Command, client *api.Client, site string, peer grid.PeerID) {
	sites, err := client.Sites(cmd.Context())
	if err == nil && slices.ContainsFunc(sites, func(s api.Site) bool { return s.Peer == peer && s.State == grid.Alive.String() }) {
		cmd.PrintErrf("gbroker: %s is alive, and forget is for a site that will not come back. To end its jobs there is 'gclient cancel', to send no more jobs there 'send: false' in neighbours.yaml.\n", site)
	}
}

func printFates(cmd *cobra.Command, site string, done api.Forgotten) {
	if len(done.Jobs) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%s has no job that is to be decided here.\n", site)
		return
	}
	t := cli.Table(cmd.OutOrStdout())
	fmt.Fprintln(t, "JOB\tSTATE\tBECOMES\tWHY")
	for _, j := range done.Jobs {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", j.ID, j.State, j.Verdict, j.Why)
	}
	t.Flush()
}
