package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// patience is how long a broker may be away while its client waits for a job.
const patience = time.Minute

// waitForEnd returns the status of a job once it has ended.
func waitForEnd(ctx context.Context, cmd *cobra.Command, c *api.Client, id grid.JobID) (api.Status, error) {
	s, err := c.Job(ctx, id)
	if err != nil {
		return s, stillGoing(ctx, "job", id, err)
	}
	defer func() {
		if s.State == grid.Completed.String() && s.Reason != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "job %s: %s\n", id, printable(s.Reason))
		}
	}()
	heard, away := time.Now(), absenceOf(cmd)
	for !s.Terminal() {
		next, err := c.Wait(ctx, id, s.State)
		switch {
		case err == nil:
			s, heard = next, time.Now()
			away.over()
		case ctx.Err() != nil || !api.Interrupted(err) || time.Since(heard) > patience+30*time.Second:
			return s, stillGoing(ctx, "job", id, err)
		default:
			away.begun(err)
			if !pause(ctx, time.Second) {
				return s, stillGoing(ctx, "job", id, ctx.Err())
			}
		}
	}
	return s, nil
}

// pause waits for d; it reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stillGoing is what to say where the waiting ends before what is waited for.
func stillGoing[T ~string](ctx context.Context, what string, id T, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s %s has not ended in time; it goes on: 'gclient wait %s' waits again: %w", what, id, id, grid.ErrNotYet)
	case ctx.Err() != nil:
		return cli.Exit(cli.Failed, fmt.Errorf("interrupted; %s %s goes on: 'gclient wait %s' waits again, 'gclient cancel %s' ends it", what, id, id, id))
	}
	return err
}

func requireFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "require-outputs", false, "an output that the document declares and the job did not leave is a failure: exit code 3")
}

// required makes missing outputs a failure of a job that ended well.
func required(s *api.Status, require bool, ended error) error {
	if !require || ended != nil || len(s.MissingOutputs) == 0 {
		return ended
	}
	return cli.Exit(cli.Failed, fmt.Errorf("job %s is COMPLETED, but lacks %d of its outputs: %s", s.ID, len(s.MissingOutputs), printable(strings.Join(s.MissingOutputs, ", "))))
}

// noStatus is the exit code for a job whose program has no exit status.
const noStatus = 255

// jobExit makes the exit code of a job that has ended that of this program.
func jobExit(s *api.Status) error {
	var said error
	if s.State != grid.Completed.String() {
		reason := s.Reason
		if reason == "" {
			reason = "no reason was given"
		}
		said = fmt.Errorf("job %s: %s: %s", s.ID, s.State, printable(reason))
	}
	switch {
	case s.Signal != nil && *s.Signal > 0 && *s.Signal < 127:
		return cli.Exit(128+*s.Signal, said)
	case s.ExitCode != nil:
		return cli.Exit(*s.ExitCode&0xff, said)
	case said == nil:
		said = fmt.Errorf("job %s has ended without an exit status", s.ID)
	}
	return cli.Exit(noStatus, said)
}

// cancelled tells what became of a job whose cancel is confirmed.
func cancelled(s *api.Status) string {
	switch s.State {
	case grid.Killed.String():
		return "is cancelled: it will not run (again)"
	case grid.Finished.String(), grid.StageOut.String():
		return "is not running any more; its output is coming home"
	}
	if s.State == grid.Lost.String() && s.CancelRequested { // by the cancel, perhaps
		return "is LOST: " + printable(s.Reason)
	}
	return "had ended already: " + s.State
}

func (p *program) remove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove ID",
		Short: "Delete an ended job and its files at the broker, or forget a workflow",
		Long: `Delete an ended job with its history and its files at the broker. What was fetched with
'gclient output' stays. A job that has not ended is not removed: cancel it first. Of a workflow
(ID.flow) the jobs of its tasks stay.`,
		Example:           "  gclient remove xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeJobs,
		RunE: p.orFlow(removeFlow, p.onEither(func(cmd *cobra.Command, c *api.Client, id grid.JobID, _ []string) error {
			return removed(cmd, id, c.Remove(cmd.Context(), id))
		}, func(cmd *cobra.Command, c *api.Client, id grid.GroupID, _ []string) error {
			return removed(cmd, id, c.RemoveGroup(cmd.Context(), id))
		})),
	}
}

// removed says that something is.
func removed[T ~string](cmd *cobra.Command, id T, err error) error {
	if err == nil {
		cmd.Printf("%s is removed\n", id)
	}
	return err
}
