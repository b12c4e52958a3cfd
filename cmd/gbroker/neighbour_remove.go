package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func neighbourRemove(file *string) *cobra.Command {
	var now bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "remove --config FILE NAME",
		Short: "Take a site out of the neighbours' file",
		Long: `remove takes a site out of the neighbours' file, with the comment right above it. It
is then no longer heard: jobs of the two sites that are at the other one stay there
until they know each other again, and nobody hears how they go.

Jobs that are on their way between the two sites at this moment are waited for. Those
still on their way at the end, jobs of this home that are there and jobs of its home
that are here are listed, and the file is left as it is (exit 3). Drain the site and let
them end, "gbroker forget" it first where it will not come back, or say --now: then the file is changed all the same. An offer dies and its job
stays where it is, and a handoff that is committed is confirmed when the two know each
other again; "gbroker forget NAME" decides about jobs that are there, also later. Where
the site has a journal and no daemon runs nobody can tell, and --now is needed, too.`,
		Example: `  gbroker neighbour remove --config FILE xeon32
  gbroker neighbour remove --config FILE --now xeon32`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&now, "now", false, "do not wait for jobs that are on their way")
	cli.SpanVar(cmd, &wait, "wait", 30*time.Second, "how long to wait for them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := daemon.Load(*file)
		if err != nil {
			return err
		}
		name, err := siteName(args[0])
		if err != nil {
			return err
		}
		if wait < 0 {
			return cli.BadUsage("--wait: %s is negative", wait)
		}
		if now {
			wait = 0
		}
		tied, err := awaitHandoffs(cmd.Context(), cfg, name, wait)
		switch {
		case errors.Is(err, errNobodyTells) && now:
		case err != nil:
			return err
		}
		listHandoffs(cmd.ErrOrStderr(), name, tied)
		if len(tied) > 0 && !now {
			return fmt.Errorf("%d jobs would be out of reach without %s: let them end (`gbroker drain` there), or add --now; if %s will not come back, `gbroker forget %s` decides about them first: %w", len(tied), name, name, name, grid.ErrNotYet)
		}
		if err := daemon.RemoveNeighbour(cmd.Context(), cfg, name); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is no neighbour any more.\n", name)
		return nil
	}
	return cmd
}

// errNobodyTells is there where a site may have jobs and its daemon does not run.
var errNobodyTells = errors.New("no daemon runs, so that nobody can tell which jobs would be out of reach: start it, or add --now")

// awaitHandoffs gives the jobs that tie this site to a neighbour, when those on their
// way have come or a time is over; none if the daemon does not know the neighbour.
func awaitHandoffs(ctx context.Context, cfg daemon.Config, name grid.SiteName, wait time.Duration) ([]api.Handoff, error) {
	client, err := dial(ctx, cfg)
	if errors.Is(err, grid.ErrUnavailable) || errors.Is(err, fs.ErrNotExist) {
		return nil, nobodyTells(cfg, name)
	}
	if err != nil {
		return nil, err
	}
	defer client.Close()
	end := time.After(wait)
	for {
		tied, err := client.Handoffs(ctx, name)
		switch {
		case errors.Is(err, grid.ErrNotFound):
			return nil, nil // the file is ahead of the daemon, and the edit says what is wrong
		case errors.Is(err, grid.ErrUnavailable):
			return nil, nobodyTells(cfg, name) // it has just ended
		case err != nil, !slices.ContainsFunc(tied, api.Handoff.Moves):
			return tied, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-end:
			return tied, nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// nobodyTells is an error unless the site has never had a job, or has no such neighbour.
func nobodyTells(cfg daemon.Config, name grid.SiteName) error {
	had, err := daemon.HasJournal(cfg)
	if err == nil && had && slices.ContainsFunc(cfg.Members, func(m grid.Member) bool { return m.Name == name }) {
		err = errNobodyTells
	}
	return err
}

// listHandoffs says which jobs are on their way, there, or here for the neighbour.
func listHandoffs(w io.Writer, name grid.SiteName, open []api.Handoff) {
	for _, h := range open {
		way, how := "to", "offered"
		switch {
		case h.Incoming:
			way, how = "from", "prepared here, not owned"
		case h.Committed:
			how = "committed: it belongs to that site, which has not confirmed it"
		case h.There:
			way, how = "at", h.State
		case h.Here:
			way, how = "here, of", h.State
		}
		fmt.Fprintf(w, "%s  %s %s  %s\n", h.Job, way, name, how)
	}
}
