package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/pbs"
)

func (h *byHand) reserve() *cobra.Command {
	var nodes []string
	var start, span, user string
	cmd := &cobra.Command{
		Use:   "reserve --config FILE --nodes N1,N2 --start WHEN --for SPAN",
		Short: "Reserve nodes by hand",
		Long: `reserve makes an advance reservation of whole nodes and prints its identifier, which
"batch submit --reservation" and "batch unreserve" take. WHEN is an instant such as
2026-11-22T08:00:00Z, or +SPAN from now. It is read back before it counts.`,
		Example: `  gbroker batch reserve --config FILE --nodes n1,n2 --start +10m --for 1h
  gbroker batch reserve --config FILE --nodes n1 --start 2026-11-22T08:00:00Z --for 30m --user alice`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringSliceVar(&nodes, "nodes", nil, "the nodes, separated by commas")
	f.StringVar(&start, "start", "", "when it begins")
	f.StringVar(&span, "for", "", "how long it lasts, such as 1h30m")
	f.StringVar(&user, "user", "", "the account that may use it; that of the daemon")
	for _, name := range []string{"nodes", "start", "for"} {
		_ = cmd.MarkFlagRequired(name) // fails only for a flag that is not there
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := reservation(nodes, start, span, user, time.Now())
		if err != nil {
			return err
		}
		return h.reserver(func(ctx context.Context, cmd *cobra.Command, s pbs.Reserver, _ []string) error {
			if err := s.Reserve(ctx, r); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), r.ID)
			return nil
		})(cmd, args)
	}
	return cmd
}

// reservation is what the flags ask for.
func reservation(nodes []string, start, span, user string, now time.Time) (pbs.Reservation, error) {
	r := pbs.Reservation{ID: daemon.NewReservationID(), Account: user}
	for _, n := range nodes {
		r.Nodes = append(r.Nodes, grid.NodeName(n))
	}
	begin := now
	if rest, later := strings.CutPrefix(start, "+"); later {
		d, err := grid.ParseSpan(rest)
		if err != nil {
			return r, cli.BadUsage("--start: %w", err)
		}
		begin = now.Add(d)
	} else if at, err := time.Parse(time.RFC3339, start); err != nil {
		return r, cli.BadUsage("--start: %q is no instant: write it like 2026-11-22T08:00:00Z, or +10m", start)
	} else {
		begin = at
	}
	d, err := grid.ParseSpan(span)
	if err != nil {
		return r, cli.BadUsage("--for: %w", err)
	}
	if d < time.Second || d > grid.MaxWalltime.Duration() {
		return r, cli.BadUsage("--for: %s is out of range: 1s to 366d", span)
	}
	// Systems keep whole seconds.
	r.Start = grid.InstantOf(begin.Truncate(time.Second))
	r.End = r.Start + grid.Span(d.Truncate(time.Second))
	return r, nil
}

// reserver runs one thing with what makes reservations.
func (h *byHand) reserver(do func(ctx context.Context, cmd *cobra.Command, s pbs.Reserver, args []string) error) func(*cobra.Command, []string) error {
	return h.held(func(ctx context.Context, cmd *cobra.Command, hand *daemon.Hand, args []string) error {
		s, err := hand.Reserver()
		if err != nil {
			return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
		}
		return do(ctx, cmd, s, args)
	})
}

func (h *byHand) unreserve() *cobra.Command {
	return &cobra.Command{
		Use:     "unreserve --config FILE ID",
		Short:   "End a reservation made by hand",
		Long:    "unreserve ends a reservation by the identifier that reserve has printed. One that is not\nthere is no error; jobs that run in it go on.",
		Example: "  gbroker batch unreserve --config FILE handabcdef234567",
		Args:    cobra.ExactArgs(1),
		RunE: h.reserver(func(ctx context.Context, cmd *cobra.Command, s pbs.Reserver, args []string) error {
			if !strings.HasPrefix(args[0], "hand") {
				return cli.BadUsage("%q was not made by hand: those are called hand…", args[0])
			}
			if err := s.Release(ctx, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is released\n", args[0])
			return nil
		}),
	}
}

func (h *byHand) reservations() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "reservations --config FILE",
		Short:   "List the reservations made by hand",
		Long:    "reservations lists ours; those of others are shown by \"gbroker batch snapshot\".",
		Example: "  gbroker batch reservations --config FILE",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of id, nodes, start, end, user")
	cmd.RunE = h.reserver(func(ctx context.Context, cmd *cobra.Command, s pbs.Reserver, _ []string) error {
		all, err := s.Reservations(ctx)
		if err != nil {
			return err
		}
		list := []api.Reservation{}
		for _, r := range all {
			v := api.Reservation{ID: r.ID, Nodes: []string{}, Start: api.Time(r.Start), End: api.Time(r.End), User: r.Account}
			for _, n := range r.Nodes {
				v.Nodes = append(v.Nodes, string(n))
			}
			list = append(list, v)
		}
		if asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), list)
		}
		t := cli.Table(cmd.OutOrStdout())
		fmt.Fprintln(t, "ID\tUSER\tSTART\tEND\tNODES")
		for _, r := range list {
			fmt.Fprintln(t, strings.Join(texts([]any{r.ID, r.User, moment(r.Start), moment(r.End), strings.Join(r.Nodes, ",")}), "\t"))
		}
		return t.Flush()
	})
	return cmd
}
