package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/internal/cli"
)

func (p *program) watch() *cobra.Command {
	var asJSON bool
	var after, kinds string
	cmd := &cobra.Command{
		Use:   "watch [WORKFLOW]",
		Short: "Tell what becomes of jobs, as it happens",
		Long: `Tell what becomes of the jobs that are yours, a line for each change, until Ctrl-C; an
administrator sees those of all users. What changed several times at once is told once,
as it is then. While the broker is restarted the watching goes on, for up to a minute.

With --json each line is an event: "job" with the job's status, "removed" with its id
where it is not in the list any more (removed, or one of another home that has left),
"here" and "reset" with a position. --after POSITION goes on behind one of an earlier
watch. "reset" says that what came behind it is not known any more, as after a restart of the
broker: list what you follow, and go on behind the position of "reset".

--kinds job,group,reservation,flow tells of groups, reservations and workflows too, or of
those alone; with --json by events of these names.

With a workflow (ID.flow) it tells of each change of its tasks, until that has ended;
with --json by events "task", and "ended" with the status of the workflow.`,
		Example: "  gclient watch\n  gclient watch --json | jq -r 'select(.event==\"job\") | .job.state'\n  gclient watch --kinds group,flow",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return p.orFlow(watchFlow(&asJSON), notWatched)(cmd, args)
			}
			from, err := api.ParsePosition(after)
			if err != nil {
				return cli.BadUsage("--after: %v", err)
			}
			follow, err := api.ParseKinds(kinds)
			if err != nil {
				return cli.BadUsage("--kinds: %v", err)
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			if err := reached(cmd.Context(), c); err != nil {
				return err
			}
			away := absenceOf(cmd)
			err = c.Follow(cmd.Context(), from, patience, func(e api.FeedEvent) error {
				away.over()
				return printEvent(cmd, e, follow, asJSON)
			}, away.begun, follow...)
			if interrupted(cmd.Context(), err) {
				return nil
			}
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&after, "after", "", "go on behind this `POSITION`")
	cmd.Flags().StringVar(&kinds, "kinds", "", "tell of these `KINDS`, of job,group,reservation,flow (default job)")
	return cmd
}

// notWatched says what there is for a job or a group instead.
func notWatched(_ *cobra.Command, args []string) error {
	return cli.BadUsage("%.80q is no workflow: watch tells of all your jobs, or of one workflow; of a job or a group 'gclient wait' awaits the end, 'gclient logs -f' prints what a job writes, and 'gclient status' tells how it is", args[0])
}

// reached is an error where no broker answers: only one that goes away later is waited for.
func reached(ctx context.Context, c *api.Client) error {
	_, err := c.Self(ctx)
	return err
}

func printEvent(cmd *cobra.Command, e api.FeedEvent, kinds []api.Kind, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		return cli.PrintLine(out, e)
	}
	text := eventText(&e, kinds)
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintf(out, "%s  %s\n", time.Now().Format("15:04:05"), text)
	return err
}

// eventText is a line for people; "" where there is nothing to tell.
func eventText(e *api.FeedEvent, kinds []api.Kind) string {
	switch {
	case e.Job != nil:
		return fmt.Sprintf("%s  %-9s  %s  %s", e.Job.ID, stateText(e.Job), dash(string(e.Job.Owner)), dash(e.Job.Name)) + because(e.Job.Reason)
	case e.Group != nil:
		g := e.Group
		text := fmt.Sprintf("%s  %d of %d jobs over  %s", g.ID, g.Over, g.Jobs, dash(g.Name))
		if g.CancelRequested {
			text += because("cancelled")
		}
		return text
	case e.Reservation != nil:
		r := e.Reservation
		return fmt.Sprintf("%s  %-9s  %s", r.ID, r.State, dash(string(r.Site))) + because(r.Reason)
	case e.Flow != nil:
		f := e.Flow
		text := fmt.Sprintf("%s  %-9s  %s", f.ID, f.State, dash(f.Name))
		if f.Cancelled {
			text += because("cancelled")
		}
		return text
	}
	switch e.Name {
	case api.EventRemoved:
		return printable(e.ID) + "  removed"
	case api.EventReset:
		return "changes before this were not told, look how it is: " + listsOf(kinds)
	}
	return ""
}

// listsOf names the commands that list what is of some kinds.
func listsOf(kinds []api.Kind) string {
	var list []string
	for _, k := range kinds {
		command := "'gclient list --groups'" // workflows too
		switch k {
		case api.KindJob:
			command = "'gclient list'"
		case api.KindReservation:
			command = "'gclient reservations'"
		}
		if !slices.Contains(list, command) {
			list = append(list, command)
		}
	}
	return strings.Join(list, ", ")
}

// because is a reason behind a line.
func because(why string) string {
	if why == "" {
		return ""
	}
	return "  " + printable(why)
}
