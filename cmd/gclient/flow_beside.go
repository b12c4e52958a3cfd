package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gbroker/api"
	"gbroker/internal/cli"
)

// orFlow makes the RunE of a command for jobs that takes a workflow too, alone.
func (p *program) orFlow(flow func(*cobra.Command, *api.Client, api.FlowID) error, jobs func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	single := p.onFlow(func(cmd *cobra.Command, c *api.Client, id api.FlowID, _ []string) error { return flow(cmd, c, id) })
	return func(cmd *cobra.Command, args []string) error {
		for _, a := range args {
			if !strings.HasSuffix(a, api.FlowSuffix) {
				continue
			}
			if len(args) > 1 {
				return cli.BadUsage("%.80q is a workflow: name it alone", a)
			}
			if f := notOfFlows(cmd); f != "" {
				return cli.BadUsage("--%s is for jobs, and %.80q is a workflow: leave it out", f, a)
			}
			return single(cmd, args)
		}
		return jobs(cmd, args)
	}
}

// notOfFlows is a flag that is given and means nothing to workflows.
func notOfFlows(cmd *cobra.Command) (name string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if cmd.InheritedFlags().Lookup(f.Name) == nil && !slices.Contains([]string{"json", "timeout", "yes", "output"}, f.Name) {
			name = f.Name
		}
	})
	return name
}

// noFlow says that an argument is no workflow.
func (p *program) noFlow(_ *cobra.Command, args []string) error {
	_, err := api.ParseFlowID(args[0])
	return cli.Exit(cli.No, err)
}

// statusOfFlow tells how a workflow is.
func statusOfFlow(asJSON *bool) func(*cobra.Command, *api.Client, api.FlowID) error {
	return tellFlow(asJSON, printFlow)
}

// explainFlow tells why each task of a workflow is where it is.
func explainFlow(asJSON *bool) func(*cobra.Command, *api.Client, api.FlowID) error {
	return tellFlow(asJSON, printWhy)
}

func tellFlow(asJSON *bool, text func(io.Writer, *api.FlowStatus) error) func(*cobra.Command, *api.Client, api.FlowID) error {
	return func(cmd *cobra.Command, c *api.Client, id api.FlowID) error {
		s, err := c.Flow(cmd.Context(), id)
		if err != nil {
			return err
		}
		if *asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), s)
		}
		return text(cmd.OutOrStdout(), &s)
	}
}

// cancelFlow ends a workflow.
func cancelFlow(asJSON *bool) func(*cobra.Command, *api.Client, api.FlowID) error {
	return func(cmd *cobra.Command, c *api.Client, id api.FlowID) error {
		s, err := c.CancelFlow(cmd.Context(), id)
		if err != nil {
			return err
		}
		if *asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), s)
		}
		cmd.Println(cancelledFlow(&s))
		return nil
	}
}

// cancelledFlow says what the cancel of a workflow has done.
func cancelledFlow(s *api.FlowStatus) string {
	did := "cancelled"
	if s.Ended != 0 && !s.Cancelled {
		did = "had ended already"
	}
	return fmt.Sprintf("%s: %s; %s", s.ID, did, tasksText(s))
}

// waitFlow waits for the end of a workflow, and fetches what f says.
func waitFlow(f *flowSubmission) func(*cobra.Command, *api.Client, api.FlowID) error {
	return func(cmd *cobra.Command, c *api.Client, id api.FlowID) error {
		s, err := c.Flow(cmd.Context(), id)
		if err != nil {
			return err
		}
		f.wait = true
		return followFlow(cmd, c, s, f)
	}
}

func printWhy(w io.Writer, s *api.FlowStatus) error {
	fmt.Fprintf(w, "%s is %s: %s\n", s.ID, s.State, tasksText(s))
	if s.PlannedS > 0 {
		fmt.Fprintf(w, "planned for %s, %d plans made; no run can be shorter than %s, if tasks take what they say\n", tenths(s.PlannedS), s.PlansMade, tenths(s.BoundS))
	}
	t := cli.Table(w)
	fmt.Fprintln(t, "TASK\tSTATE\tPLANNED\tSITE\tJOB\tWHY")
	for i, x := range s.Tasks {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", printable(x.Name), x.State, dash(x.Planned), dash(x.Site), dash(string(x.Job)), dash(printable(whyTask(s, i))))
	}
	return flush(t)
}

// whyTask is what a task waits for, or why it is as it is.
func whyTask(s *api.FlowStatus, i int) string {
	x := &s.Tasks[i]
	switch {
	case x.Reason != "":
		return x.Reason
	case x.State == api.FlowWaiting:
		var waits []string
		for _, e := range s.Edges {
			if k := &s.Tasks[e[0]]; e[1] == i && k.State != api.FlowDone && k.State != api.FlowReused {
				waits = append(waits, k.Name)
			}
		}
		if len(waits) > 0 {
			return "it needs " + strings.Join(waits, ", ")
		}
	case x.State == api.FlowReused:
		return "done before, with the same inputs"
	case x.State == api.FlowGiven && x.Planned != "" && x.Site != "" && x.Planned != x.Site:
		return "the brokers found that it ends earlier there: 'gclient explain' of its job shows by what"
	}
	return ""
}

// printFlows lists workflows.
func printFlows(w io.Writer, list []api.FlowStatus) error {
	t := cli.Table(w)
	if len(list) > 0 {
		fmt.Fprintln(t, "WORKFLOW\tNAME\tUSER\tSTATE\tTASKS\tSUBMITTED\tENDED")
	}
	for i := range list {
		s := &list[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, dash(printable(s.Name)), s.User, flowState(s), tasksText(s), clock(s.Submitted), clock(s.Ended))
	}
	return flush(t)
}
