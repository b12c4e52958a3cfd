package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
until they know each other again.

Jobs that are on their way between the two sites at this moment are waited for; those
that are still on their way at the end are listed, and the file is left as it is (exit
1). With --now it is changed all the same: an offer dies and its job stays where it
is, and a handoff that is committed is confirmed when the two know each other again.`,
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
		open, err := awaitHandoffs(cmd.Context(), cfg, name, wait)
		if err != nil {
			return err
		}
		if len(open) > 0 {
			listHandoffs(cmd.ErrOrStderr(), name, open)
			if !now {
				return fmt.Errorf("%d jobs are on their way to or from %s: wait for them, or add --now: %w", len(open), name, grid.ErrNotYet)
			}
		}
		if err := daemon.RemoveNeighbour(cmd.Context(), cfg, name); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is no neighbour any more.\n", name)
		return nil
	}
	return cmd
}

// awaitHandoffs gives the handoffs with a neighbour that are still open after a
// while; none if no daemon runs, or the daemon does not know the neighbour.
func awaitHandoffs(ctx context.Context, cfg daemon.Config, name grid.SiteName, wait time.Duration) ([]api.Handoff, error) {
	client, err := dial(ctx, cfg)
	if errors.Is(err, grid.ErrUnavailable) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer client.Close()
	end := time.After(wait)
	for {
		open, err := client.Handoffs(ctx, name)
		switch {
		case errors.Is(err, grid.ErrNotFound), errors.Is(err, grid.ErrUnavailable):
			return nil, nil // the file is ahead of the daemon, and the edit says what is wrong; or it has just ended
		case err != nil, len(open) == 0:
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-end:
			return open, nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// listHandoffs says which jobs are on their way.
func listHandoffs(w io.Writer, name grid.SiteName, open []api.Handoff) {
	for _, h := range open {
		way, how := "to", "offered"
		if h.Incoming {
			way, how = "from", "prepared here, not owned"
		}
		if h.Committed {
			how = "committed: it belongs to that site, which has not confirmed it"
		}
		fmt.Fprintf(w, "%s  %s %s  %s\n", h.Job, way, name, how)
	}
}
