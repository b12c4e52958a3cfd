package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/overlay"
	"gbroker/overlay/topology"
)

// planView is a site that a rule looks at, as JSON.
type planView struct {
	Name   grid.SiteName `json:"name"`
	Peer   grid.PeerID   `json:"peer"`
	Chosen bool          `json:"chosen"`
	Why    string        `json:"why"`
}

func neighbourPlan(file *string) *cobra.Command {
	var rule, by string
	var degree, most int
	var tags, organisations []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan --config FILE",
		Short: "Show which neighbours a rule would choose, and why",
		Long: `plan shows which sites of the neighbours' file the rule in it chooses, and why; with --rule what another
rule would choose. It changes nothing. Round trips and bandwidths are those that the running daemon has measured,
of one that it does not choose when it last did; where none runs nothing is measured. By the rule of the file CHOSEN is
what the daemon has chosen, which looks again each hour, and at once when the file changes.

The rules: explicit and full choose all; ring and grid by the order of the peer IDs; random by a hash that both
ends see alike; nearest by what is measured.`,
		Example: `  gbroker neighbour plan --config FILE
  gbroker neighbour plan --config FILE --rule nearest --degree 4 --by bandwidth --tags gpu`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := daemon.Load(*file)
			if err != nil {
				return err
			}
			r := cfg.Rule
			for _, of := range []string{"degree", "at-most", "by", "tags", "organisations"} {
				if rule == "" && cmd.Flags().Changed(of) {
					return cli.BadUsage("--%s is of a rule that is tried: name it with --rule", of)
				}
			}
			if rule != "" {
				r = topology.Rule{Kind: topology.Kind(rule), Degree: degree, Bandwidth: by == "bandwidth", Tags: tags, Organisations: organisations, AtMost: most, Always: r.Always}
			}
			if by != "" && by != "round_trip" && by != "bandwidth" {
				return cli.BadUsage("--by: %q is no measure: write round_trip or bandwidth", by)
			}
			if err := r.Validate(); err != nil {
				return cli.Exit(cli.Usage, err)
			}
			plan, err := planOf(cmd, cfg, r, rule != "")
			if err != nil {
				return err
			}
			if asJSON {
				views := make([]planView, len(plan))
				for i, c := range plan {
					views[i] = planView{c.Name, c.Peer, c.Chosen, c.Why}
				}
				return cli.PrintJSON(cmd.OutOrStdout(), views)
			}
			t := cli.Table(cmd.OutOrStdout())
			fmt.Fprintln(t, "NAME\tCHOSEN\tWHY")
			for _, c := range plan {
				fmt.Fprintf(t, "%s\t%s\t%s\n", c.Name, yes(c.Chosen), c.Why)
			}
			return t.Flush()
		},
	}
	f := cmd.Flags()
	f.StringVar(&rule, "rule", "", "the `RULE` to try: explicit, full, ring, grid, random, nearest (that of the file)")
	cli.CountVar(cmd, &degree, "degree", 0, 1, topology.MaxDegree, "how many neighbours a ring (2), random and nearest (8) choose")
	cli.CountVar(cmd, &most, "at-most", 0, 1, topology.MaxDegree, "no more neighbours than this (no bound)")
	f.StringVar(&by, "by", "", "what nearest goes by: round_trip or bandwidth (round_trip)")
	f.StringSliceVar(&tags, "tags", nil, "only sites with one of these tags")
	f.StringSliceVar(&organisations, "organisations", nil, "only sites of these organisations")
	f.BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// planOf is what a rule makes of the sites of the file; one that is not tried is that of the file, by which the running daemon has chosen.
func planOf(cmd *cobra.Command, cfg daemon.Config, r topology.Rule, tried bool) ([]topology.Choice, error) {
	key, err := overlay.LoadKey(cfg.IdentityFile())
	if err != nil {
		return nil, err
	}
	now := seenBy(cmd, cfg)
	plan := r.Plan(overlay.PeerIDOf(key), cfg.Known(measured(now)))
	tellAges(plan, now)
	if !tried {
		asChosen(plan, now)
	}
	return plan, nil
}

// seenBy are the sites as the running daemon sees them; none where none runs.
func seenBy(cmd *cobra.Command, cfg daemon.Config) map[grid.PeerID]api.Site {
	client, err := dial(cmd.Context(), cfg)
	if err != nil {
		return nil
	}
	defer client.Close()
	sites, err := client.Sites(cmd.Context())
	if err != nil {
		return nil
	}
	of := map[grid.PeerID]api.Site{}
	for _, s := range sites {
		of[s.Peer] = s
	}
	return of
}

// measured is what is measured of sites: the bandwidth for the largest messages that were, as the daemon reckons.
func measured(sites map[grid.PeerID]api.Site) map[grid.PeerID]topology.Known {
	of := map[grid.PeerID]topology.Known{}
	for p, s := range sites {
		k := topology.Known{}
		if s.RTTS != nil {
			k.RTT = *s.RTTS
		}
		for _, r := range slices.Backward(s.Bandwidth) {
			if r.Measured && r.BytesPerS != nil {
				k.Bandwidth = *r.BytesPerS
				break
			}
		}
		of[p] = k
	}
	return of
}

// tellAges says how old the measures are of those that are no neighbours now.
func tellAges(plan []topology.Choice, now map[grid.PeerID]api.Site) {
	for i, c := range plan {
		if s := now[c.Peer]; s.NotChosen && s.AgeS != nil {
			plan[i].Why += fmt.Sprintf(", %s ago", (time.Duration(*s.AgeS) * time.Second).Round(time.Second))
		}
	}
}

// asChosen puts the daemon's choice in the place of what its rule would choose at this moment.
func asChosen(plan []topology.Choice, now map[grid.PeerID]api.Site) {
	for i, c := range plan {
		if s, known := now[c.Peer]; known && s.NotChosen == c.Chosen {
			plan[i].Chosen = !s.NotChosen
			plan[i].Why += "; the daemon chose before that, and looks again within the hour"
		}
	}
}

func neighbourOffers(file *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "offers --config FILE",
		Short: "List the sites that neighbours propose",
		Long: `offers lists the sites of the grid that are members of neighbours, and none here: those propose them. It
asks the running daemon, and needs a grid key. "gbroker neighbour accept NAME" adds one; both sides have to.
With "accept: true" under topology in the neighbours' file all that are proposed are known to the rule.`,
		Example: `  gbroker neighbour offers --config FILE`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			offers, _, err := proposals(cmd, *file)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), offers)
			}
			for _, s := range offers {
				fmt.Fprintf(cmd.OutOrStdout(), "%s proposes %s (%d cores, %s)\n", strings.Join(s.ProposedBy, ", "), s.Name, s.Processes, s.Peer)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

func neighbourAccept(file *string) *cobra.Command {
	var send bool
	cmd := &cobra.Command{
		Use:   "accept --config FILE NAME",
		Short: "Add a site that a neighbour proposes",
		Long: `accept writes a site that neighbours propose into the neighbours' file, by the name, peer ID and addresses of
its own signed record. NAME may be its peer ID, where several call themselves alike.`,
		Example: `  gbroker neighbour accept --config FILE xeon32`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			offers, cfg, err := proposals(cmd, *file)
			if err != nil {
				return err
			}
			offers = slices.DeleteFunc(offers, func(s api.Site) bool { return string(s.Name) != args[0] && string(s.Peer) != args[0] })
			switch len(offers) {
			case 0:
				return fmt.Errorf("%w: no site that neighbours propose is called %q: `gbroker neighbour offers` lists them", grid.ErrNotFound, args[0])
			case 1:
			default:
				return fmt.Errorf("%w: %d sites that neighbours propose are called %q: `gbroker neighbour offers` lists them, and a peer ID names one", grid.ErrNotFound, len(offers), args[0])
			}
			m, err := daemon.ParseLine(fmt.Sprintf("%s %s %s", offers[0].Name, offers[0].Peer, strings.Join(offers[0].Addresses, ",")))
			if err != nil {
				return err
			}
			m.Send = send
			if _, err := daemon.AddNeighbour(cmd.Context(), cfg, m); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is a neighbour now, as %s proposed.\n", m.Name, strings.Join(offers[0].ProposedBy, ", "))
			awaitTaken(cmd, cfg, m)
			return nil
		},
	}
	cmd.Flags().BoolVar(&send, "send", true, "send jobs there, not only hear it")
	return cmd
}

// proposals are the sites that neighbours propose.
func proposals(cmd *cobra.Command, file string) ([]api.Site, daemon.Config, error) {
	cfg, err := daemon.Load(file)
	if err != nil {
		return nil, cfg, err
	}
	client, err := dial(cmd.Context(), cfg)
	if err != nil {
		return nil, cfg, err
	}
	defer client.Close()
	sites, err := client.AllSites(cmd.Context())
	return slices.DeleteFunc(sites, func(s api.Site) bool { return len(s.ProposedBy) == 0 }), cfg, err
}
