package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func initCommand() *cobra.Command {
	o := daemon.DefaultInit()
	var system, agents string
	cmd := &cobra.Command{
		Use:   "init --dir DIR --site NAME",
		Short: "Make a new site: its configuration, identity and data folder",
		Long: `init makes the folder of a new site:

  gbroker.yaml      the configuration, with every field explained
  neighbours.yaml   the other sites: none yet
  identity.key      the site's identity (mode 0600); keep a copy in a safe place
  api.token         the token of the HTTP interface, if --api switches it on (mode 0600)
  data/             journal and sandboxes (mode 0700)

It overwrites nothing: where one of these is there already, nothing is written.

It looks which batch system there is: whose commands are on PATH, and answer. It says what
it has found, and what it has left out. With --nodes or --cores, with --batch embedded, or
where nothing answers, it is the embedded one, which runs the jobs on this machine. With
--batch pool the site is a pool of shared desktops, which join it one by one.`,
		Example: `  gbroker init --dir /srv/gbroker --site xeon80 --nodes 10 --cores 8
  gbroker init --dir ./a --site a --cores 4 --listen /ip4/127.0.0.1/tcp/0 --api 127.0.0.1:4080`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			declared := cmd.Flags().Changed("nodes") || cmd.Flags().Changed("cores")
			if system == daemon.Pool {
				o.Pool = agents
			} else if cmd.Flags().Changed("agents") {
				return cli.BadUsage("--agents is of a pool of desktops: give --batch pool with it")
			}
			if err := choose(cmd, &o, system, declared); err != nil {
				return err
			}
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
	f.StringVar(&system, "batch", "", "the local batch system: "+strings.Join(systems, ", ")+" (the one that is found)")
	f.StringVar(&agents, "agents", daemon.DefaultPoolListen, "with --batch pool, HOST:PORT where the agents of the desktops call")
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

var systems = append([]string{daemon.Embedded, daemon.Pool}, daemon.External...)

// choose looks for a batch system unless the embedded one is asked for.
func choose(cmd *cobra.Command, o *daemon.InitOptions, system string, declared bool) error {
	switch {
	case system != "" && !slices.Contains(systems, system):
		return cli.BadUsage("--batch: %q is none of %s", system, strings.Join(systems, ", "))
	case system == daemon.Embedded || system == "" && declared:
		return nil
	case declared && system == daemon.Pool:
		return cli.BadUsage("--nodes and --cores are of the embedded batch system: the computers of a pool tell what they have")
	case system == daemon.Pool:
		return nil
	case declared:
		return cli.BadUsage("--nodes and --cores are of the embedded batch system: %s tells its nodes itself", system)
	}
	found := daemon.Detect(cmd.Context(), os.Environ())
	for _, note := range found.Notes {
		fmt.Fprintf(cmd.OutOrStdout(), "init: %s\n", note)
	}
	if system != "" && found.System != system {
		return fmt.Errorf("%w: %s was not found to answer on this machine: put its commands on PATH and start it, or take another --batch", grid.ErrUnavailable, system)
	}
	if found.System == "" {
		fmt.Fprintln(cmd.OutOrStdout(), "init: no batch system answers: the embedded one is taken, which runs the jobs on this machine itself")
	}
	o.Found = found
	return nil
}

// next tells what to do with the new site.
func next(w io.Writer, dir string, c daemon.Config) {
	file := shellWord(c.File)
	fmt.Fprintf(w, "The site %s is made in %s. Next:\n", c.Site, dir)
	if c.Batch.System != daemon.Embedded && c.Batch.System != daemon.Pool {
		fmt.Fprintf(w, "  write sandboxes in gbroker.yaml: a folder that the nodes see under the same path\n")
		fmt.Fprintf(w, "  gbroker doctor --config %s\n", file)
	}
	fmt.Fprintf(w, "  gbroker run --config %s\n", file)
	if c.Batch.System == daemon.Pool {
		fmt.Fprintf(w, "  gbroker pool invite --config %s    # for each computer: gbroker-agent join --dir DIR CODE\n", file)
	}
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
