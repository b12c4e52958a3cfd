package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/internal/cli"
)

func (p *program) watch() *cobra.Command {
	var asJSON bool
	var after string
	cmd := &cobra.Command{
		Use:   "watch [WORKFLOW]",
		Short: "Tell what becomes of jobs, as it happens",
		Long: `Tell what becomes of the jobs that are yours, a line for each change, until Ctrl-C; an
administrator sees those of all users. What changed several times at once is told once,
as it is then. While the broker is restarted the watching goes on, for up to a minute.

With --json each line is an event: "job" with the job's status, "removed" with its id,
"here" and "reset" with a position. --after POSITION goes on behind one of an earlier
watch. "reset" says that what came behind it is not known any more: list the jobs.

With a workflow (ID.flow) it tells of each change of its tasks, until that has ended;
with --json by events "task", and "ended" with the status of the workflow.`,
		Example: "  gclient watch\n  gclient watch --json | jq -r 'select(.event==\"job\") | .job.state'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return p.orFlow(watchFlow(&asJSON), notWatched)(cmd, args)
			}
			from, err := api.ParsePosition(after)
			if err != nil {
				return cli.BadUsage("--after: %v", err)
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			err = c.Follow(cmd.Context(), from, patience, func(e api.FeedEvent) error { return printEvent(cmd, e, asJSON) })
			if interrupted(cmd.Context(), err) {
				return nil
			}
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&after, "after", "", "go on behind this `POSITION`")
	return cmd
}

// notWatched says what there is for a job or a group instead.
func notWatched(_ *cobra.Command, args []string) error {
	return cli.BadUsage("%.80q is no workflow: watch tells of all your jobs, or of one workflow; of a job or a group 'gclient wait' awaits the end, 'gclient logs -f' prints what a job writes, and 'gclient status' tells how it is", args[0])
}

func printEvent(cmd *cobra.Command, e api.FeedEvent, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		return cli.PrintLine(out, e)
	}
	var err error
	now := time.Now().Format("15:04:05")
	switch e.Name {
	case api.EventJob:
		why := printable(e.Job.Reason)
		if why != "" {
			why = "  " + why
		}
		_, err = fmt.Fprintf(out, "%s  %s  %-9s  %s  %s%s\n", now, e.Job.ID, stateText(e.Job), dash(string(e.Job.Owner)), dash(e.Job.Name), why)
	case api.EventRemoved:
		_, err = fmt.Fprintf(out, "%s  %s  removed\n", now, e.ID)
	case api.EventReset:
		_, err = fmt.Fprintf(out, "%s  changes before this were not told: 'gclient list' shows how the jobs are\n", now)
	}
	return err
}
