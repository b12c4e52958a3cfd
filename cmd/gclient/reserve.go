package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func (p *program) reserve() *cobra.Command {
	var site, at, queue, bandwidth, modify string
	var nodes, cores int
	var span, within time.Duration
	var asJSON, early bool
	cmd := &cobra.Command{
		Use:   "reserve (--nodes N | --bandwidth RATE) --for SPAN | --modify ID",
		Short: "Reserve whole nodes of a site, or its uplink, for a time",
		Long: `Have nodes of a site kept for one job of yours, and print the identifier of the reservation. It is made in the batch
system of the site, read back there and confirmed before this ends. 'gclient submit --reservation ID' hands in the job
for it: the reservation is that job's from then on, and ends with it. If no job has come five minutes after its start it
is given up by itself.

The reservation must be a little longer than the job may run: its start and its end take some seconds. --at is the
earliest start, as 18:00 (of today, or of tomorrow where that comes within twelve hours), 2027-01-31T18:00 or a span from now, as 30m; with --within it may begin so much later.

With --bandwidth it is a part of the uplink of another site, as far as its operator leaves any: from its start on all transfers
of files between that site and yours have that rate there, and those with all others share the rest.

With --modify one that you have is changed: --at moves it, --for makes it shorter or longer, --nodes gives it more nodes or fewer; what
is not said stays. It is done in the batch system and read back before this ends, all of it or nothing: what is refused stays as it
was, with the reason. One whose job runs can only be made longer, and none becomes too short for the job that is bound to it.`,
		Example: `  gclient reserve --site xeon80 --nodes 4 --at 18:00 --for 2h
  gclient reserve --nodes 1 --for 30m --within 6h
  gclient reserve --site xeon80 --bandwidth 20MB/s --at 17:00 --for 1h
  gclient reserve --modify r5xk2 --at 20:00 --for 3h --nodes 6
  ID=$(gclient reserve --nodes 2 --for 1h) && gclient submit --reservation $ID job.jsdl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := cmd.Flags().Changed
			switch {
			case modify == "" && !given("for"):
				return cli.BadUsage("--for is missing: how long, as 2h")
			case modify != "" && !given("at") && !given("for") && !given("nodes"):
				return cli.BadUsage("--modify %s: say what is to change: --at, --for or --nodes", modify)
			}
			from, err := instantOf(at, time.Now())
			if err != nil {
				return cli.BadUsage("--at %v", err)
			}
			if from.Add(within).Before(time.Now()) {
				return cli.BadUsage("--at %s is over: write an instant to come, or a span from now, as 30m", at)
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			if modify != "" {
				to := api.PlaceRequest{Span: span.Seconds(), Nodes: nodes}
				if given("at") {
					to.At = api.Time(grid.InstantOf(from))
				}
				h, err := c.ChangeReservation(cmd.Context(), grid.ReservationID(modify), to)
				if err != nil {
					return reservationInDoubt(cmd, err)
				}
				return reserved(cmd, h, asJSON)
			}
			q := api.ReservationRequest{
				Site: grid.SiteName(site), Nodes: nodes, Cores: cores, Queue: grid.QueueName(queue), Early: early,
				From: api.Time(grid.InstantOf(from)), Until: api.Time(grid.InstantOf(from.Add(span + within + time.Second))), Span: span.Seconds(),
			}
			if bandwidth != "" {
				if q.Bandwidth, err = rateOf(bandwidth); err != nil {
					return cli.BadUsage("--bandwidth %w", err)
				}
			}
			h, err := c.Reserve(cmd.Context(), q)
			if err != nil {
				return reservationInDoubt(cmd, err)
			}
			return reserved(cmd, h, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&site, "site", "", "of this site (default: the broker's own)")
	cli.CountVar(cmd, &nodes, "nodes", 0, 1, grid.MaxReservedNodes, "so many whole nodes")
	cli.CountVar(cmd, &cores, "cores", 0, 1, grid.MaxProcesses, "each with at least so many cores")
	f.StringVar(&queue, "queue", "", "of this queue")
	f.StringVar(&at, "at", "10s", "the earliest start")
	cli.SpanWithin(cmd, &span, "for", 0, time.Second, grid.MaxReservation.Duration(), "so long, as 2h or 3d")
	cli.SpanWithin(cmd, &within, "within", 0, 0, grid.MaxReservation.Duration(), "it may begin so much later")
	f.BoolVar(&early, "early", false, "it may begin sooner, when its job is there and the nodes are free")
	f.StringVar(&bandwidth, "bandwidth", "", "so much of its uplink instead, as 20MB/s")
	f.StringVar(&modify, "modify", "", "change this reservation of yours instead: what --at, --for and --nodes say")
	cmd.MarkFlagsOneRequired("nodes", "bandwidth", "modify")
	cmd.MarkFlagsMutuallyExclusive("nodes", "bandwidth")
	for _, other := range []string{"site", "cores", "queue", "within", "early", "bandwidth"} {
		cmd.MarkFlagsMutuallyExclusive("modify", other)
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// reservationInDoubt says how to see whether something was reserved: a reservation has no key, and a second one would be another.
func reservationInDoubt(cmd *cobra.Command, err error) error {
	if !inDoubt(cmd.Context(), err) {
		return err
	}
	return cli.Exit(cli.Failed, fmt.Errorf("it is not known whether the broker reserved it: %w; 'gclient reservations' shows what you have: look there before you try again", err))
}

// reserved shows what is held now.
func reserved(cmd *cobra.Command, h api.HeldReservation, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), h)
	}
	fmt.Fprintln(cmd.OutOrStdout(), h.ID)
	fmt.Fprintf(cmd.ErrOrStderr(), "%s at %s from %s to %s\n", nodesOf(h), printable(string(h.Site)), clockOf(h.Start), clockOf(h.End))
	return nil
}

// rateOf reads bytes per second, as 20MB/s.
func rateOf(text string) (int64, error) {
	if bare, err := strconv.Atoi(text); err == nil && 0 < bare && bare < 1000 { // nobody means 20 bytes per second
		return 0, fmt.Errorf("%d has no unit: write %dMB/s, or %dB/s if bytes are meant", bare, bare, bare)
	}
	n, err := humanize.ParseBytes(strings.TrimSuffix(text, "/s"))
	if err != nil || n == 0 || n > uint64(grid.MaxReservedRate) {
		return 0, fmt.Errorf("%.40q is no rate: write bytes per second, as 20MB/s", text)
	}
	return int64(n), nil
}

// instantOf reads an instant of today or tomorrow, a date, in the zone of the user where it names none, or a span from now.
func instantOf(text string, now time.Time) (time.Time, error) {
	if span, is := strings.CutPrefix(text, "+"); is {
		d, err := readSpan(span)
		return now.Add(d), err
	}
	if d, err := grid.ParseSpan(text); err == nil {
		return now.Add(d), nil
	}
	if t, err := time.ParseInLocation("15:04", text, now.Location()); err == nil {
		at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
		if at.Before(now) {
			at = at.AddDate(0, 0, 1)
		}
		if at.Sub(now) > 12*time.Hour && at.Day() != now.Day() { // who means today is not given another day without a word
			return at, fmt.Errorf("%s has passed today: for tomorrow write %s", text, at.Format("2006-01-02T15:04"))
		}
		return at, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return now, fmt.Errorf("%.40q is no instant: write 18:00, 2027-01-31T18:00, one with a zone, or a span from now, such as +2h", text)
}

func nodesOf(h api.HeldReservation) string {
	if h.Bandwidth > 0 {
		return cli.Size(h.Bandwidth) + "/s"
	}
	names := make([]string, len(h.Nodes))
	for i, n := range h.Nodes {
		names[i] = printable(string(n))
	}
	return strings.Join(names, ",")
}

func clockOf(t api.Time) string { return time.UnixMilli(int64(t)).Format("2006-01-02 15:04:05") }

func (p *program) reservations() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "reservations",
		Short: "List your reservations",
		Long: `List the reservations that you have made, at this site and at others, those at this site of the parts of your jobs over several
sites ('gclient explain ID' shows such a job's at all of them), and for a while those that are over. STATE is
TENTATIVE, CONFIRMED, BOUND (to a job), ACTIVE (its job runs), RELEASED, EXPIRED, or LOST, with why.`,
		Example: "  gclient reservations\n  gclient reservations --json | jq '.[] | select(.state == \"CONFIRMED\") | .id'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return answered(p, cmd, asJSON, (*api.Client).Reservations, printReservations)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func printReservations(w io.Writer, list []api.HeldReservation) error {
	t := cli.Fitted(w, 6)
	fmt.Fprintln(t, "ID\tSITE\tSTATE\tSTART\tEND\tJOB\tNODES\t")
	for _, h := range list {
		job := "-"
		if h.Job != nil {
			job = printable(string(*h.Job))
		}
		state := h.State
		if h.Reason != "" {
			state += " (" + printable(h.Reason) + ")"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", h.ID, printable(string(h.Site)), state, clockOf(h.Start), clockOf(h.End), job, nodesOf(h))
	}
	return flush(t)
}
