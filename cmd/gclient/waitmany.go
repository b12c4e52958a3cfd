package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// waiting is what the flags of wait say.
type waiting struct {
	selection
	json, require, any bool
	timeout            time.Duration
}

// jobCodes are the exit codes of commands that wait for jobs, for their manual pages.
const jobCodes = `That of the job's program: its exit code, 128+n if signal n ended it, 255 with a reason on stderr if it has none; of
several the first that is not 0. 1 where the answer is no (refused, not found, not allowed), 2 wrong usage, 3 where the
waiting ended before the job (timeout, Ctrl-C, no broker): then stderr says so.`

func (p *program) wait() *cobra.Command {
	var w waiting
	cmd := &cobra.Command{
		Use:   "wait ID...",
		Short: "Wait for the end of jobs, and end with their exit status",
		Long: `Wait for the end of a job and end with its exit status: its exit code, 128+n if
signal n ended it, 255 with a reason on stderr if its program has none. Of several jobs, and of a
group, it waits for the end of all, and ends with 0 if all did so, else with what the first says
that did not. With --any it waits for the first that ends, prints its identifier, and ends with its status.
Jobs can be chosen by flags too: those that fit at the start are waited for. A sweep is waited for as a whole, with the jobs
whose turn has not come, unless --state leaves some of its live jobs out, or --site is given.

A workflow (ID.flow) is named alone; exit code 0: all of its tasks have ended well, 1: not all.

Ctrl-C ends only the waiting: the jobs go on. While the broker is restarted
the waiting goes on, for up to a minute.`,
		Example: `  gclient wait ID && echo it worked
  gclient wait ID --timeout 10m
  gclient wait --any ID1 ID2 ID3
  gclient wait --state live --name 'mesh-*'`,
		Annotations:       map[string]string{cli.ExitCodes: jobCodes},
		Args:              idsOrFlags(&w.selection),
		ValidArgsFunction: p.completeAllJobs,
		RunE: p.orFlow(w.flow, func(cmd *cobra.Command, args []string) error {
			f, err := w.filter()
			if err != nil {
				return err
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			all, err := w.targets(cmd, c, args, f)
			if err != nil {
				return err
			}
			ids := all.ids
			ctx, cancel := cmd.Context(), context.CancelFunc(func() {})
			if w.timeout > 0 {
				ctx, cancel = context.WithTimeout(ctx, w.timeout)
			}
			defer cancel()
			switch {
			case len(ids) == 0:
				cmd.PrintErrln(noneFits)
			case w.any:
				return w.first(ctx, cmd, c, ids)
			case len(ids) == 1:
				return w.one(ctx, cmd, c, ids[0])
			}
			return w.all(ctx, cmd, c, ids)
		}),
	}
	jsonFlag(cmd, &w.json)
	requireFlag(cmd, &w.require)
	cmd.Flags().BoolVar(&w.any, "any", false, "wait for the first that ends")
	cli.SpanVar(cmd, &w.timeout, "timeout", 0, "give up, with exit code 3, after this `SPAN` such as 90s or 2h; 0 waits for ever")
	p.selectionFlags(cmd, &w.selection)
	return cmd
}

// ended waits for the end of a job or group; result is its status, exit what its end says.
func (w *waiting) ended(ctx context.Context, cmd *cobra.Command, c *api.Client, r *grid.Reference) (result any, exit, err error) {
	err = either(r, func(id grid.JobID) error {
		s, err := waitForEnd(ctx, cmd, c, id)
		if err == nil {
			result, exit = s, required(&s, w.require, jobExit(&s))
		}
		return err
	}, func(id grid.GroupID) error {
		s, err := waitForGroup(ctx, cmd, c, id)
		if err == nil {
			result, exit = s, groupExit(ctx, c, &s, w.require)
		}
		return err
	})
	return result, exit, err
}

func (w *waiting) one(ctx context.Context, cmd *cobra.Command, c *api.Client, r grid.Reference) error {
	s, exit, err := w.ended(ctx, cmd, c, &r)
	if err != nil {
		return err
	}
	if w.json {
		if err := cli.PrintJSON(cmd.OutOrStdout(), s); err != nil {
			return err
		}
	}
	return exit
}

// all waits for one after the other: all have ended when the last has.
func (w *waiting) all(ctx context.Context, cmd *cobra.Command, c *api.Client, ids []grid.Reference) error {
	bar := newCount(cmd.ErrOrStderr())
	defer bar.end()
	var first error
	list := []any{}
	for i := range ids {
		bar.show(fmt.Sprintf("%d of %d have ended", i, len(ids)))
		s, exit, err := w.ended(ctx, cmd, c, &ids[i])
		if err != nil {
			return err
		}
		if first == nil {
			first = exit
		}
		if w.json {
			list = append(list, s)
		}
	}
	bar.end()
	if w.json {
		if err := cli.PrintJSON(cmd.OutOrStdout(), list); err != nil {
			return err
		}
	}
	return first
}

// lookAgain is how often jobs are asked after that the feed of changes may not tell of: those of
// other homes, and groups.
const lookAgain = 5 * time.Second

// first waits for one of several to end.
func (w *waiting) first(ctx context.Context, cmd *cobra.Command, c *api.Client, ids []grid.Reference) error {
	stop, found := context.WithCancel(ctx)
	defer found()
	var first *grid.Reference
	bar := newCount(cmd.ErrOrStderr())
	defer bar.end()
	bar.show(fmt.Sprintf("none of %d has ended", len(ids)))
	gone := absenceOf(cmd)
	look := func() error {
		for i := range ids {
			over, err := hasEnded(stop, c, &ids[i])
			if err != nil {
				return err
			}
			if over {
				first = &ids[i]
				found()
				return context.Canceled
			}
		}
		return nil
	}
	self, err := c.Self(stop)
	looked := time.Time{}
	if err == nil {
		err = look()
	}
	pace, away := patience, func(err error) { bar.end(); gone.begun(err) }
	wanted := make(map[grid.JobID]bool, len(ids))
	for _, r := range ids {
		wanted[r.Job] = true
		if r.Job == "" || r.Job.Site() != self.Name {
			pace = lookAgain
		}
	}
	for err == nil {
		// Each look is followed by the feed from then on: what ends meanwhile is in it.
		looked = time.Now()
		piece, end := context.WithTimeout(stop, pace)
		err = c.Follow(piece, api.Position{}, patience, func(e api.FeedEvent) error {
			gone.over()
			if e.Name == api.EventReset || e.Name == api.EventHere && time.Since(looked) < lookAgain/2 {
				return look() // it has begun, or missed some: what ended before shows now
			}
			if e.Job != nil && wanted[e.Job.ID] && e.Job.Terminal() {
				return look()
			}
			return nil
		}, away)
		end()
		if errors.Is(err, context.DeadlineExceeded) && stop.Err() == nil {
			err = look()
		}
	}
	bar.end()
	switch {
	case first != nil:
		if !w.json {
			cmd.Println(first)
		}
		return w.one(ctx, cmd, c, *first)
	case ctx.Err() != nil:
		return stillGoing(ctx, "job", ids[0].String(), err)
	}
	return err
}

func hasEnded(ctx context.Context, c *api.Client, r *grid.Reference) (over bool, err error) {
	err = either(r, func(id grid.JobID) error {
		s, err := c.Job(ctx, id)
		over = s.Terminal()
		return err
	}, func(id grid.GroupID) error {
		s, err := c.Group(ctx, id)
		over = s.Ended != 0
		return err
	})
	return over, err
}

// flow waits for the end of a workflow.
func (w *waiting) flow(cmd *cobra.Command, c *api.Client, id api.FlowID) error {
	if w.timeout > 0 {
		ctx, cancel := context.WithTimeout(cmd.Context(), w.timeout)
		defer cancel()
		cmd.SetContext(ctx)
	}
	return waitFlow(&flowSubmission{json: w.json})(cmd, c, id)
}
