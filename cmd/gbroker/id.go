package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/overlay"
)

func idCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "id --config FILE",
		Short: "Print the line by which other sites add this one",
		Long: `id prints one line: the site's name, its peer ID and the addresses where it is
dialled, separated by commas. "gbroker neighbour add" at another site takes the line.

While the daemon runs these are the addresses it listens on; else those of the
configuration, where a port that is chosen at start (tcp/0) is not yet known.`,
		Example: `  gbroker id --config /srv/gbroker/gbroker.yaml
  gbroker id --config a/gbroker.yaml | xargs gbroker neighbour add --config b/gbroker.yaml`,
		Args: cobra.NoArgs,
	}
	file := configFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: name, peer, addresses, running")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := daemon.Load(*file)
		if err != nil {
			return err
		}
		key, err := overlay.LoadKey(cfg.IdentityFile())
		if err != nil {
			return err
		}
		listen, running := cfg.Listen, false
		switch r, err := daemon.ReadReady(cmd.Context(), cfg); {
		case err == nil:
			listen, running = r.Addresses, true
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		addresses, err := daemon.Dialable(listen)
		if err != nil {
			return err
		}
		if len(addresses) == 0 && !running && len(listen) > 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "gbroker: the port is chosen when the daemon starts: run it, then ask again for the addresses")
		}
		if asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), struct {
				Name      grid.SiteName `json:"name"`
				Peer      grid.PeerID   `json:"peer"`
				Addresses []string      `json:"addresses"`
				Running   bool          `json:"running"`
			}{cfg.Site, overlay.PeerIDOf(key), append([]string{}, addresses...), running})
		}
		fmt.Fprintln(cmd.OutOrStdout(), daemon.Line(cfg.Site, overlay.PeerIDOf(key), addresses))
		return nil
	}
	return cmd
}
