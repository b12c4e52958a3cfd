package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/overlay"
)

func inviteCommand() *cobra.Command {
	var within time.Duration
	cmd := &cobra.Command{
		Use:   "invite --config FILE",
		Short: "Make a code by which one site becomes a neighbour",
		Long: `invite prints a code for the administrator of one other site, who runs "gbroker join CODE" there: then each side has
the other in its neighbours' file, and both have tried the ports. The code works once, for a day (--for), and
only while this daemon runs. It is a secret until then: who has it first is the neighbour.`,
		Example: `  gbroker invite --config FILE
  gbroker join --config OTHER "$(gbroker invite --config FILE)"`,
		Args: cobra.NoArgs,
	}
	file := configFlag(cmd)
	cli.SpanWithin(cmd, &within, "for", 24*time.Hour, time.Second, 30*24*time.Hour, "how long the code works")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := daemon.Load(*file)
		if err != nil {
			return err
		}
		ready, err := daemon.ReadReady(cmd.Context(), cfg)
		if err != nil {
			return fmt.Errorf("a code tells where this broker is: start it first: %w", err)
		}
		i := overlay.NewInvitation(cfg.Site, ready.Peer, ready.Addresses, time.Now().Add(within))
		if err := daemon.Invite(cmd.Context(), cfg, i); err != nil {
			return err
		}
		code, err := i.Code()
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), code)
		return nil
	}
	return cmd
}

func joinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "join --config FILE CODE",
		Short: "Become a neighbour of the site that has made a code",
		Long: `join takes the code that "gbroker invite" printed at another site: that site adds this one, this one adds that, and each
tries the port of the other. What is at fault is named: firewall, key or clock. A site whose port cannot be dialled from the other works
all the same, as long as it can dial itself.`,
		Example: `  gbroker join --config FILE CODE`,
		Args:    cobra.ExactArgs(1),
	}
	file := configFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := daemon.Load(*file)
		if err != nil {
			return err
		}
		i, err := overlay.ParseInvitation(args[0])
		if err != nil {
			return err
		}
		key, err := overlay.LoadKey(cfg.IdentityFile())
		if err != nil {
			return err
		}
		ready, err := daemon.ReadReady(cmd.Context(), cfg)
		if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "The daemon here does not run: the other side cannot try its port.")
		}
		m := grid.Member{Name: i.Site, Peer: i.Peer, Addresses: i.Addresses, Send: true, DefaultBandwidth: grid.DefaultBandwidth}
		if i.Peer == overlay.PeerIDOf(key) {
			return fmt.Errorf("%w: this site has made the code itself: run `gbroker join` with it at the other site", grid.ErrInvalid)
		}
		again, err := daemon.AddNeighbour(cmd.Context(), cfg, m)
		if err != nil {
			return err
		}
		joined, err := overlay.Join(cmd.Context(), key, i, cfg.Site, ready.Addresses)
		if err != nil && !again {
			err = errors.Join(err, daemon.RemoveNeighbour(cmd.Context(), cfg, i.Site))
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s and %s are neighbours now.\n", cfg.Site, i.Site)
		if trouble := joined.Trouble(); trouble != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), trouble)
		}
		awaitTaken(cmd, cfg, m)
		return nil
	}
	return cmd
}
