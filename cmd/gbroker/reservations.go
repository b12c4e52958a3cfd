package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/internal/cli"
)

func reservationsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "reservations --config FILE",
		Short: "Show the reservation book of the site",
		Long: `reservations lists who holds which nodes of the site, or how much of its uplink, from when to when, those that users of the site hold elsewhere,
and for a while those that are over, with why. A maintenance window of gbroker.yaml takes the place of what is in its way;
its holders are told at once.`,
		Example: "  gbroker reservations --config FILE\n  gbroker reservations --json --config FILE | jq '.[] | select(.state == \"LOST\")'",
		Args:    cobra.NoArgs,
	}
	file := configFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = onDaemon(file, func(cmd *cobra.Command, client *api.Client, _ []string) error {
		list, err := client.Reservations(cmd.Context())
		if err != nil {
			return err
		}
		if asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), list)
		}
		return printBook(cmd.OutOrStdout(), list)
	})
	return cmd
}

func printBook(w io.Writer, list []api.HeldReservation) error {
	t := cli.Fitted(w, 7)
	at := func(t api.Time) string { return time.UnixMilli(int64(t)).Format("2006-01-02 15:04:05") }
	fmt.Fprintln(t, "ID\tSITE\tHOLDER\tSTATE\tSTART\tEND\tJOB\tNODES\t")
	for _, h := range list {
		job := "-"
		if h.Job != nil {
			job = string(*h.Job)
		}
		fmt.Fprintf(t, "%s\t%s\t%s@%s\t%s\t%s\t%s\t%s\t%s\t\n", h.ID, h.Site, h.User, h.Home, strings.Join(strings.Fields(h.State+" "+h.Reason), " "), at(h.Start), at(h.End), job, reservedOf(h))
	}
	return t.Flush()
}

// reservedOf is what is reserved: nodes, or so much of the uplink.
func reservedOf(h api.HeldReservation) string {
	if h.Bandwidth > 0 {
		return cli.Size(h.Bandwidth) + "/s"
	}
	names := make([]string, len(h.Nodes))
	for i, n := range h.Nodes {
		names[i] = string(n)
	}
	return strings.Join(names, ",")
}
