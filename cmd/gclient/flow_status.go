package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// onFlow makes the RunE of a command whose first argument is a workflow.
func (p *program) onFlow(run func(*cobra.Command, *api.Client, api.FlowID, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := api.ParseFlowID(args[0])
		if err != nil {
			return cli.Exit(cli.No, err)
		}
		c, err := p.client(cmd)
		if err != nil {
			return err
		}
		defer c.Close()
		return run(cmd, c, id, args[1:])
	}
}

func (p *program) flowStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [ID]",
		Short: "Tell how a workflow is, or list those that there are",
		Long: `Tell how a workflow is: how many of its tasks wait, run and have ended, its makespan and what was planned, and each task with
its job, the site where it runs or ran, and why it failed. Without an ID the workflows are listed.`,
		Example: "  gclient flow status\n  gclient flow status xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF.flow",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return p.listFlows(cmd, asJSON)
			}
			return p.orFlow(statusOfFlow(&asJSON), p.noFlow)(cmd, args)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) listFlows(cmd *cobra.Command, asJSON bool) error {
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Flows(cmd.Context())
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), list)
	}
	return printFlows(cmd.OutOrStdout(), list)
}

// tasksText is how many tasks are in which state.
func tasksText(s *api.FlowStatus) string {
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(s.States)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.States[state], state))
	}
	return strings.Join(parts, ", ")
}

// flowState is the state of a workflow, and whether somebody has cancelled it.
func flowState(s *api.FlowStatus) string {
	if s.Cancelled {
		return s.State + ", cancelled"
	}
	return s.State
}

func printFlow(w io.Writer, s *api.FlowStatus) error {
	fmt.Fprintf(w, "workflow  %s\nname      %s\nstate     %s\ntasks     %s\n", s.ID, dash(printable(s.Name)), flowState(s), tasksText(s))
	if p := s.Periods; p != nil {
		fmt.Fprintf(w, "periods   %d begun, %d under way, %d well, %d failed, %d missed, %d after their deadline\n", p.Begun, p.Open, p.Done, p.Failed, p.Missed, p.Late)
		fmt.Fprintf(w, "age       median %.3f s, p99 %.3f s, most %.3f s\n", p.AgeP50S, p.AgeP99S, p.AgeMostS)
		if p.Reserved > 0 || p.Unreserved != "" {
			fmt.Fprintf(w, "reserved  %d slots of tasks\n", p.Reserved)
		}
		if p.Unreserved != "" {
			fmt.Fprintf(w, "refused   %s\n", printable(p.Unreserved))
		}
		if p.Waits != "" {
			fmt.Fprintf(w, "waits     %s\n", printable(p.Waits))
		}
	}
	if s.PlannedS > 0 {
		fmt.Fprintf(w, "planned   %s, lower bound %s, %d plans made\n", tenths(s.PlannedS), tenths(s.BoundS), s.PlansMade)
	}
	if s.MakespanS > 0 {
		fmt.Fprintf(w, "makespan  %s\n", tenths(s.MakespanS))
	}
	fmt.Fprintln(w)
	t := cli.Table(w)
	fmt.Fprintln(t, "TASK\tSTATE\tJOB\tSITE\tPLANNED\tSTARTED\tENDED\tWHY")
	for _, x := range s.Tasks {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", printable(x.Name), x.State, dash(string(x.Job)), dash(inWay(x.Site, x.Configuration)), dash(inWay(x.Planned, x.Configuration)), clock(x.Started), clock(x.Ended), dash(printable(x.Reason)))
	}
	return flush(t)
}

// inWay is a site, with the configuration in which a task runs there.
func inWay(site, configuration string) string {
	if site == "" || configuration == "" {
		return site
	}
	return site + " (" + configuration + ")"
}

func (p *program) flowGraph() *cobra.Command {
	return &cobra.Command{
		Use:   "graph ID",
		Short: "Print the graph of a workflow, for dot",
		Long: `Print the graph of a workflow in the language of Graphviz: a node for each task, with its state, and an edge to each task that
needs it.`,
		Example: "  gclient flow graph xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF.flow | dot -Tsvg > graph.svg",
		Args:    cobra.ExactArgs(1),
		RunE: p.onFlow(func(cmd *cobra.Command, c *api.Client, id api.FlowID, _ []string) error {
			s, err := c.Flow(cmd.Context(), id)
			if err != nil {
				return err
			}
			return printGraph(cmd.OutOrStdout(), &s)
		}),
	}
}

var flowColours = map[string]string{
	api.FlowDone: "palegreen", api.FlowReused: "darkseagreen1", api.FlowFailed: "salmon", api.FlowCancelled: "lightgrey", api.FlowGiven: "lightblue", api.FlowWaiting: "white",
}

func printGraph(w io.Writer, s *api.FlowStatus) error {
	fmt.Fprintf(w, "digraph %q {\n  node [shape=box, style=filled];\n", string(s.ID))
	for i, t := range s.Tasks {
		fmt.Fprintf(w, "  %d [label=%s, fillcolor=%s];\n", i, strconv.Quote(t.Name+"\n"+t.State), flowColours[t.State])
	}
	for _, e := range s.Edges {
		fmt.Fprintf(w, "  %d -> %d;\n", e[0], e[1])
	}
	_, err := fmt.Fprintln(w, "}")
	return err
}

func (p *program) flowCancel() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "End a workflow",
		Long: `End a workflow: jobs of its tasks that have not ended are cancelled, and no other task begins. What has ended well stays, and
'gclient flow resume' goes on from there.`,
		Example: "  gclient flow cancel xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF.flow",
		Args:    cobra.ExactArgs(1),
		RunE:    p.orFlow(cancelFlow(&asJSON), p.noFlow),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) flowRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove ID",
		Short: "Forget an ended workflow",
		Long: `Forget an ended workflow at its home, with the files that were handed in with it. The jobs of its tasks stay, with what they left, as
long as jobs do: 'gclient remove' takes them one by one. One that has not ended is not removed: cancel it first.`,
		Example: "  gclient flow remove xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF.flow",
		Args:    cobra.ExactArgs(1),
		RunE:    p.orFlow(removeFlow, p.noFlow),
	}
}

// removeFlow forgets a workflow.
func removeFlow(cmd *cobra.Command, c *api.Client, id api.FlowID) error {
	return removed(cmd, id, c.RemoveFlow(cmd.Context(), id))
}

func (p *program) flowResume() *cobra.Command {
	var f flowSubmission
	cmd := &cobra.Command{
		Use:   "resume ID [FILE]",
		Short: "Run what of a workflow has no valid output",
		Long: `Run an ended workflow again, but for the tasks that have ended well with the same document and the same inputs, by content, and
whose outputs are still there, by content. With a FILE, an edited workflow is handed in, as a new one, and takes over
likewise what is unchanged.`,
		Example: `  gclient flow resume xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF.flow
  gclient flow resume xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF.flow words.yaml --wait`,
		Args: cobra.RangeArgs(1, 2),
		RunE: p.onFlow(func(cmd *cobra.Command, c *api.Client, id api.FlowID, rest []string) error {
			if len(rest) == 1 {
				return handInFlow(cmd, c, rest[0], id, &f)
			}
			s, err := c.ResumeFlow(cmd.Context(), id)
			if err != nil {
				return err
			}
			return followFlow(cmd, c, s, &f)
		}),
	}
	f.flags(cmd)
	return cmd
}

func (p *program) flowWait() *cobra.Command {
	var f flowSubmission
	cmd := &cobra.Command{
		Use:     "wait ID",
		Short:   "Wait until a workflow has ended",
		Long:    `Wait until a workflow has ended. Exit code 0: all of its tasks have ended well; 1: not all.`,
		Example: "  gclient flow wait xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF.flow --output results",
		Args:    cobra.ExactArgs(1),
		RunE:    p.orFlow(waitFlow(&f), p.noFlow),
	}
	cli.FolderVar(cmd, &f.output, "output", "wait, and fetch what the last tasks left into a folder of `DIR` each")
	jsonFlag(cmd, &f.json)
	return cmd
}

// followFlow tells of a workflow that was begun, and waits for its end if that is asked for.
func followFlow(cmd *cobra.Command, c *api.Client, s api.FlowStatus, f *flowSubmission) (err error) {
	wait := f.wait || f.output != ""
	if !f.json {
		cmd.Println(s.ID)
	}
	if wait {
		if s, err = waitForFlow(cmd, c, s); err != nil {
			return err
		}
	}
	if f.json {
		if err := cli.PrintJSON(cmd.OutOrStdout(), s); err != nil {
			return err
		}
	}
	if !wait {
		return nil
	}
	if f.output != "" {
		if err := fetchFlow(cmd, c, &s, f.output); err != nil {
			return err
		}
	}
	if n := s.States[api.FlowDone] + s.States[api.FlowReused]; n < len(s.Tasks) {
		return cli.Exit(cli.No, fmt.Errorf("the workflow %s has ended: %s; 'gclient flow status %s' says why, 'gclient flow resume %s' goes on", s.ID, tasksText(&s), s.ID, s.ID))
	}
	return nil
}

// tenths is a span as 'gclient flow plan' tells it.
func tenths(seconds float64) time.Duration {
	return grid.FromSeconds(seconds).Duration().Round(100 * time.Millisecond)
}

func waitForFlow(cmd *cobra.Command, c *api.Client, s api.FlowStatus) (api.FlowStatus, error) {
	ctx, heard, away := cmd.Context(), time.Now(), absenceOf(cmd)
	bar := newCount(cmd.ErrOrStderr())
	defer bar.end()
	for s.State != "ended" {
		next, err := c.WaitFlow(ctx, s.ID)
		switch {
		case err == nil:
			s, heard = next, time.Now()
			away.over()
			bar.show(tasksText(&s))
		case ctx.Err() != nil:
			return s, stillGoing(ctx, "the workflow", s.ID, err)
		case !api.Interrupted(err) || time.Since(heard) > patience+30*time.Second:
			return s, err
		default:
			bar.end()
			away.begun(err)
			pause(ctx, time.Second)
		}
	}
	return s, nil
}

// fetchFlow brings what no task needed, each file under its own name.
func fetchFlow(cmd *cobra.Command, c *api.Client, s *api.FlowStatus, dir string) error {
	needed := map[int]bool{}
	for _, e := range s.Edges {
		needed[e[0]] = true
	}
	for i, t := range s.Tasks {
		if needed[i] || t.State != api.FlowDone && t.State != api.FlowReused {
			continue
		}
		if err := fetchAll(cmd, c, t.Job, filepath.Join(dir, folderOfTask(t.Name)), true); err != nil {
			return fmt.Errorf("what task %s left: %w", t.Name, err)
		}
	}
	return os.MkdirAll(dir, 0o755)
}

// folderOfTask is a name that a folder can have.
func folderOfTask(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, strings.TrimLeft(name, "."))
}
