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
Jobs can be chosen by flags too: those that fit at the start are waited for.

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
			ids, err := w.targets(cmd, c, args, f)
			if err != nil {
				return err
			}
			ctx, cancel := cmd.Context(), context.CancelFunc(func() {})
			if w.timeout > 0 {
				ctx, cancel = context.WithTimeout(ctx, w.timeout)
			}
			defer cancel()
			switch {
			case len(ids) == 1:
				return w.one(ctx, cmd, c, ids[0])
			case w.any && len(ids) > 0:
				return w.first(ctx, cmd, c, ids)
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
func (w *waiting) ended(ctx context.Context, cmd *cobra.Command, c *api.Client, id string) (result any, exit, err error) {
	if group, bad := grid.ParseGroupID(id); bad == nil {
		s, err := waitForGroup(ctx, cmd, c, group)
		if err != nil {
			return nil, nil, err
		}
		return s, groupExit(ctx, c, &s, w.require), nil
	}
	s, err := waitForEnd(ctx, cmd, c, grid.JobID(id))
	if err != nil {
		return nil, nil, err
	}
	return s, required(&s, w.require, jobExit(&s)), nil
}

func (w *waiting) one(ctx context.Context, cmd *cobra.Command, c *api.Client, id string) error {
	s, exit, err := w.ended(ctx, cmd, c, id)
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
func (w *waiting) all(ctx context.Context, cmd *cobra.Command, c *api.Client, ids []string) error {
	bar := newCount(cmd.ErrOrStderr())
	defer bar.end()
	var first error
	list := []any{}
	for i, id := range ids {
		bar.show(fmt.Sprintf("%d of %d have ended", i, len(ids)))
		s, exit, err := w.ended(ctx, cmd, c, id)
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
func (w *waiting) first(ctx context.Context, cmd *cobra.Command, c *api.Client, ids []string) error {
	stop, found := context.WithCancel(ctx)
	defer found()
	id := ""
	bar := newCount(cmd.ErrOrStderr())
	defer bar.end()
	bar.show(fmt.Sprintf("none of %d has ended", len(ids)))
	look := func() error {
		for _, one := range ids {
			over, err := hasEnded(stop, c, one)
			if err != nil {
				return err
			}
			if over {
				id = one
				found()
				return context.Canceled
			}
		}
		return nil
	}
	self, err := c.Self(stop)
	pace := patience
	wanted := make(map[string]bool, len(ids))
	for _, one := range ids {
		wanted[one] = true
		if _, bad := grid.ParseGroupID(one); bad == nil || grid.JobID(one).Site() != self.Name {
			pace = lookAgain
		}
	}
	looked := time.Time{}
	if err == nil {
		err = look()
	}
	for err == nil {
		// Each look is followed by the feed from then on: what ends meanwhile is in it.
		looked = time.Now()
		piece, end := context.WithTimeout(stop, pace)
		err = c.Follow(piece, api.Position{}, patience, func(e api.FeedEvent) error {
			if e.Name == api.EventHere && time.Since(looked) < lookAgain/2 {
				return look() // it has begun: what ended before shows now
			}
			if e.Job != nil && wanted[string(e.Job.ID)] && e.Job.Terminal() {
				return look()
			}
			return nil
		})
		end()
		if errors.Is(err, context.DeadlineExceeded) && stop.Err() == nil {
			err = look()
		}
	}
	bar.end()
	switch {
	case id != "":
		if !w.json {
			cmd.Println(id)
		}
		return w.one(ctx, cmd, c, id)
	case ctx.Err() != nil:
		return stillGoing(ctx, "job", ids[0], err)
	}
	return err
}

func hasEnded(ctx context.Context, c *api.Client, id string) (bool, error) {
	if group, bad := grid.ParseGroupID(id); bad == nil {
		s, err := c.Group(ctx, group)
		return s.Ended != 0, err
	}
	s, err := c.Job(ctx, grid.JobID(id))
	return s.Terminal(), err
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
