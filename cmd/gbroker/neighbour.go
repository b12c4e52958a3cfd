package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func neighbourCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "neighbour",
		Aliases: []string{"neighbor"},
		Short:   "Add, remove and list the sites this broker knows",
		Long: `A broker hears the sites of its neighbours' file, and nobody else. To those with
send it also sends jobs. A running daemon takes up a change at once.

Two sites know each other when each has added the line that the other's
"gbroker id" prints.`,
		Example: `  gbroker neighbour add --config FILE xeon32 12D3KooW... /ip4/192.0.2.7/tcp/4010
  gbroker neighbour list --config FILE
  gbroker neighbour remove --config FILE xeon32`,
	}
	file := configFlag(cmd)
	cmd.AddCommand(neighbourAdd(file), neighbourRemove(file), neighbourList(file), neighbourPlan(file), neighbourOffers(file), neighbourAccept(file))
	return cmd
}

func neighbourAdd(file *string) *cobra.Command {
	var rate, bandwidth, via string
	var send, sameUsers bool
	cmd := &cobra.Command{
		Use:   "add --config FILE LINE",
		Short: "Add a site by the line that its `gbroker id` prints",
		Long: `add writes a site to the neighbours' file, at its end; comments and the rest of the
file stay as they are. LINE is what "gbroker id" prints at that site, as one argument
or several: NAME PEERID ADDRESS[,ADDRESS...]. NAME is only this site's name for the
other; another one may be written, if it is taken already.

A site that is there already, with the very same line, is left as it is (exit 0); one
whose name or peer ID is there with another line is refused (exit 1).`,
		Example: `  gbroker neighbour add --config b/gbroker.yaml "$(gbroker id --config a/gbroker.yaml)"
  gbroker neighbour add --config FILE --send=false --rate-limit 10MB/s xeon32 12D3KooW... /ip4/192.0.2.7/tcp/4010`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := daemon.Load(*file)
			if err != nil {
				return err
			}
			m, err := daemon.ParseLine(strings.Join(args, " "))
			if err != nil {
				return err
			}
			m.Send, m.SameUsers, m.Via = send, sameUsers, grid.SiteName(via)
			if err := rates(cmd, &m, rate, bandwidth); err != nil {
				return err
			}
			again, err := daemon.AddNeighbour(cmd.Context(), cfg, m)
			switch {
			case err != nil:
				return err
			case again:
				fmt.Fprintf(cmd.OutOrStdout(), "%s is a neighbour already.\n", m.Name)
			default:
				fmt.Fprintf(cmd.OutOrStdout(), "%s is a neighbour now.\n", m.Name)
			}
			if len(m.Addresses) == 0 && m.Via == "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "The line has no address: this site waits for %s to dial it.\n", m.Name)
			}
			awaitTaken(cmd, cfg, m)
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&send, "send", true, "send jobs there, not only hear it")
	f.BoolVar(&sameUsers, "same-users", false, "its users are those of the same name here: they may ask there for their jobs of here")
	f.StringVar(&via, "via", "", "the neighbour through which the two meet, where neither can dial the other; its neighbours.yaml says relay, and both say via")
	f.StringVar(&rate, "rate-limit", "", "limit of file transfers each way, in bytes per second, such as 10MB/s (none)")
	f.StringVar(&bandwidth, "default-bandwidth", "", "bandwidth to believe until it is measured (10MB/s)")
	return cmd
}

// takenLimit is how long add waits for a running daemon to take the line up.
const takenLimit = 2 * time.Second

// awaitTaken waits until the daemon, if it runs, knows the new neighbour, so that
// the next command finds it.
func awaitTaken(cmd *cobra.Command, cfg daemon.Config, m grid.Member) {
	ctx, cancel := context.WithTimeout(cmd.Context(), takenLimit)
	defer cancel()
	client, err := dial(ctx, cfg)
	if err != nil {
		return // it does not run: the file is read at its start
	}
	defer client.Close()
	for {
		sites, err := client.Sites(ctx)
		taken := slices.ContainsFunc(sites, func(s api.Site) bool { return s.Name == m.Name && s.State == grid.Alive.String() })
		passed := slices.ContainsFunc(sites, func(s api.Site) bool { return s.Name == m.Name && s.NotChosen })
		known := slices.ContainsFunc(sites, func(s api.Site) bool { return s.Name == m.Name })
		switch {
		case taken:
			return
		case passed:
			fmt.Fprintf(cmd.ErrOrStderr(), "The rule of the file does not choose it: 'gbroker neighbour plan' says why.\n")
			return
		case err == nil && known && len(m.Addresses) == 0, ctx.Err() != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "It is not heard yet: it must know this site too. 'gclient sites' shows when it is.\n")
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// rates reads the two flags that are rates.
func rates(cmd *cobra.Command, m *grid.Member, rate, bandwidth string) error {
	for _, f := range []struct {
		name, text string
		to         *int64
		least      int64
	}{
		{"rate-limit", rate, &m.RateLimit, 0},
		{"default-bandwidth", bandwidth, &m.DefaultBandwidth, 1},
	} {
		if !cmd.Flags().Changed(f.name) {
			continue
		}
		v, err := daemon.ParseRate(f.text)
		if bare, e := strconv.Atoi(f.text); err == nil && e == nil && 0 < bare && bare < 1000 { // nobody means 20 bytes per second
			err = fmt.Errorf("%d has no unit: write %dMB/s, or %dB/s if bytes are meant", bare, bare, bare)
		}
		if err == nil && v < f.least {
			err = fmt.Errorf("%s is too little: write at least 1", f.text)
		}
		if err != nil {
			return cli.BadUsage("--%s: %w", f.name, err)
		}
		*f.to = v
	}
	return nil
}

// memberView is a neighbour as JSON, in the words of the file.
type memberView struct {
	Name             grid.SiteName `json:"name"`
	Peer             grid.PeerID   `json:"peer"`
	Addresses        []string      `json:"addresses"`
	Send             bool          `json:"send"`
	RateLimit        int64         `json:"rate_limit"` // bytes per second; 0 is none
	DefaultBandwidth int64         `json:"default_bandwidth"`
	SameUsers        bool          `json:"same_users"`
	Via              grid.SiteName `json:"via,omitempty"`
	Chosen           bool          `json:"chosen"` // by the rule of the file
}

func neighbourList(file *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list --config FILE",
		Short: "List the sites of the neighbours' file",
		Long: `list prints the sites of the neighbours' file. Where that has a rule, CHOSEN tells whom the running daemon has chosen by it, or
would choose at its start; "gbroker neighbour plan" says why. Whether they live, "gclient sites" tells.`,
		Example: `  gbroker neighbour list --config FILE --json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := daemon.Load(*file)
			if err != nil {
				return err
			}
			chosen, err := chosenBy(cmd, cfg)
			if err != nil {
				return err
			}
			if !asJSON {
				return listMembers(cmd.OutOrStdout(), cfg.Neighbourhood, chosen)
			}
			views := make([]memberView, len(cfg.Members))
			for i, m := range cfg.Members {
				views[i] = memberView{m.Name, m.Peer, append([]string{}, m.Addresses...), m.Send, m.RateLimit, m.DefaultBandwidth, m.SameUsers, m.Via, chosen[m.Peer]}
			}
			return cli.PrintJSON(cmd.OutOrStdout(), views)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// chosenBy are the members that the rule of the file makes neighbours.
func chosenBy(cmd *cobra.Command, cfg daemon.Config) (map[grid.PeerID]bool, error) {
	plan, err := planOf(cmd, cfg, cfg.Rule, false)
	chosen := map[grid.PeerID]bool{}
	for _, c := range plan {
		chosen[c.Peer] = c.Chosen
	}
	return chosen, err
}

func listMembers(w io.Writer, n daemon.Neighbourhood, chosen map[grid.PeerID]bool) error {
	t := cli.Table(w)
	head := "NAME\tSEND\tRATE_LIMIT\t"
	if n.Rule.Kind != "" {
		head += "CHOSEN\t"
	}
	fmt.Fprintln(t, head+"PEER\tADDRESSES")
	for _, m := range n.Members {
		limit := "-"
		if m.RateLimit > 0 {
			limit = grid.FormatSize(m.RateLimit) + "/s"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t", m.Name, yes(m.Send), limit)
		if n.Rule.Kind != "" {
			fmt.Fprintf(t, "%s\t", yes(chosen[m.Peer]))
		}
		fmt.Fprintf(t, "%s\t%s\n", m.Peer, strings.Join(m.Addresses, ","))
	}
	return t.Flush()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
