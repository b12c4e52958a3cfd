package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/internal/cli"
)

// lookAtFlow is how often a workflow that is watched is looked at.
const lookAtFlow = time.Second

// flowEvent is what a workflow that is watched tells: that a task is different, or that all is over.
type flowEvent struct {
	Name string            `json:"event"` // task or ended
	Task *api.FlowTaskView `json:"task,omitempty"`
	Flow *api.FlowStatus   `json:"flow,omitempty"` // of ended
}

// watchFlow tells of each change of a task, until the workflow has ended.
func watchFlow(asJSON *bool) func(*cobra.Command, *api.Client, api.FlowID) error {
	return func(cmd *cobra.Command, c *api.Client, id api.FlowID) error {
		ctx := cmd.Context()
		told := map[string]flowEvent{}
		var heard time.Time // no broker that never answered is waited for
		away := absenceOf(cmd)
		tell := func(e flowEvent) error {
			if *asJSON {
				return cli.PrintLine(cmd.OutOrStdout(), e)
			}
			cmd.Printf("%s  %s\n", time.Now().Format(time.TimeOnly), e)
			return nil
		}
		for {
			s, err := c.Flow(ctx, id)
			switch {
			case interrupted(ctx, err):
				return nil
			case err != nil && (!api.Interrupted(err) || time.Since(heard) > patience+30*time.Second):
				return err
			case err != nil:
				away.begun(err)
			default:
				heard = time.Now()
				away.over()
				for _, x := range s.Tasks {
					e := flowEvent{Name: "task", Task: &x}
					if before, is := told[x.Name]; is && before.String() == e.String() {
						continue
					}
					told[x.Name] = e
					if err := tell(e); err != nil {
						return err
					}
				}
				if s.State == "ended" {
					return tell(flowEvent{Name: "ended", Flow: &s})
				}
			}
			if !pause(ctx, lookAtFlow) {
				return nil
			}
		}
	}
}

func (e flowEvent) String() string {
	if e.Flow != nil {
		return fmt.Sprintf("%s  ended: %s", e.Flow.ID, tasksText(e.Flow))
	}
	line := fmt.Sprintf("%s  %-9s  %s  %s", dash(string(e.Task.Job)), e.Task.State, dash(e.Task.Site), printable(e.Task.Name))
	if e.Task.Reason != "" {
		line += "  " + printable(e.Task.Reason)
	}
	return line
}
