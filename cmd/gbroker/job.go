package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func jobCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "job",
		Short: "Decide about one job of which the broker knows less than you",
	}
	cmd.AddCommand(jobEndCommand())
	return cmd
}

func jobEndCommand() *cobra.Command {
	var dead, lost, yes, dry bool
	cmd := &cobra.Command{
		Use:   "end --config FILE (--dead | --lost) JOB",
		Short: "Say what became of a job that would wait for ever",
		Long: `end gives an end to a job that this site has, where the broker cannot find out what became of
it: its control files are damaged, its nodes are gone, its batch system was set up anew.

--dead   nothing of it runs, or ever will: you have looked. It becomes FAILED, or KILLED where
         its user has cancelled it, and what it left is brought home.
--lost   you do not know. It becomes LOST: its user is told that it may still run.

Either way whatever the batch system has of it is told to end. A job that is well is better
cancelled: gclient cancel. One that another site has is ended there, or, where that site will not
come back, by gbroker forget. The history of the job (gclient explain) says who ended it.

The job is shown first, and you are asked.`,
		Example: `  gbroker job end --config FILE --dead xeon16.01KB3V7Q0J8Y6Z5T4W3R2P1N0M
  gbroker job end --config FILE --lost --yes xeon16.01KB3V7Q0J8Y6Z5T4W3R2P1N0M`,
		Args: cobra.ExactArgs(1),
	}
	file := configFlag(cmd)
	cmd.Flags().BoolVar(&dead, "dead", false, "nothing of it runs or will: FAILED, or KILLED where it was cancelled")
	cmd.Flags().BoolVar(&lost, "lost", false, "whether it runs is not known: LOST")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show the job, and whether it may be ended so")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	var id grid.JobID
	end := onDaemon(file, func(cmd *cobra.Command, client *api.Client, _ []string) error {
		return endJob(cmd, client, id, map[bool]string{true: api.AsDead, false: api.AsLost}[dead], dry, yes)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if dead == lost {
			return cli.BadUsage("say --dead if nothing of it runs, or --lost if you do not know")
		}
		if id, err = grid.ParseJobID(args[0]); err != nil {
			return cli.BadUsage("%v", err)
		}
		return end(cmd, args)
	}
	return cmd
}

// endJob shows the job, asks unless told not to, and ends it.
func endJob(cmd *cobra.Command, client *api.Client, id grid.JobID, as string, dry, yes bool) error {
	before, err := client.End(cmd.Context(), id, api.Ending{As: as, DryRun: true})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s of %s is %s: %s\n", id, before.User, before.State, orNothing(before.Reason))
	if dry {
		return nil
	}
	if !yes {
		if err := confirm(cmd, "End it as "+as+"?"); err != nil {
			return err
		}
	}
	if _, err := client.End(cmd.Context(), id, api.Ending{As: as}); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s is ended as %s.\n", id, as)
	return nil
}

func orNothing(reason string) string {
	if reason == "" {
		return "no reason is known"
	}
	return reason
}
