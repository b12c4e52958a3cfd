package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func initCommand() *cobra.Command {
	o := daemon.DefaultInit()
	cmd := &cobra.Command{
		Use:   "init --dir DIR --site NAME",
		Short: "Make a new site: its configuration, identity and data folder",
		Long: `init makes the folder of a new site:

  gbroker.yaml      the configuration, with every field explained
  neighbours.yaml   the other sites: none yet
  identity.key      the site's identity (mode 0600); keep a copy in a safe place
  api.token         the token of the HTTP interface, if --api switches it on (mode 0600)
  data/             journal and sandboxes (mode 0700)

It overwrites nothing: where one of these is there already, nothing is written.`,
		Example: `  gbroker init --dir /srv/gbroker --site xeon80 --nodes 10 --cores 8
  gbroker init --dir ./a --site a --cores 4 --listen /ip4/127.0.0.1/tcp/0 --api 127.0.0.1:4080`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := daemon.Init(o)
			if errors.Is(err, fs.ErrExist) {
				return cli.Exit(cli.No, err)
			}
			if err != nil {
				return err
			}
			next(cmd.OutOrStdout(), o.Dir, c)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "dir", "", "the folder of the site; made if it is not there")
	f.StringVar((*string)(&o.Site), "site", "", "the site's name: a-z 0-9 - _")
	f.StringVar(&o.System, "batch", o.System, "the local batch system: embedded runs the jobs on this machine")
	f.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes to declare")
	f.IntVar(&o.Cores, "cores", o.Cores, "cores of each node to declare; may exceed the real ones")
	f.Float64Var(&o.Speed, "speed", o.Speed, "how fast a core is beside the reference machine's")
	f.StringVar(&o.Listen, "listen", o.Listen, "where other brokers reach this one; port 0 is chosen at start")
	f.StringVar(&o.API, "api", "", "HOST:PORT of the HTTP interface on loopback (none)")
	f.StringVar(&o.Socket, "socket", "", "the users' unix socket (gbroker.sock in the folder of the site)")
	_ = cmd.MarkFlagRequired("dir")
	_ = cmd.MarkFlagRequired("site")
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

// next tells what to do with the new site.
func next(w io.Writer, dir string, c daemon.Config) {
	file := shellWord(c.File)
	fmt.Fprintf(w, "The site %s is made in %s. Next:\n", c.Site, dir)
	fmt.Fprintf(w, "  gbroker run --config %s\n", file)
	fmt.Fprintf(w, "  export GBROKER=%s\n", shellWord("unix://"+c.Socket))
	fmt.Fprintf(w, "Others add it as a neighbour with the line of:\n")
	fmt.Fprintf(w, "  gbroker id --config %s\n", file)
}

// shellWord quotes s for a shell where that is needed.
func shellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:+,=@") == "" && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// siteName is a site's name as an argument.
func siteName(s string) (grid.SiteName, error) {
	if err := grid.CheckName(s); err != nil {
		return "", fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	return grid.SiteName(s), nil
}
