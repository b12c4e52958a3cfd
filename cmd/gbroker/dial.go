package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// onDaemon is a command that asks the running daemon of the site whose file it is given. Where the files have become wrong the daemon goes on with what
// it has read before, and is asked all the same.
func onDaemon(file *string, ask func(cmd *cobra.Command, client *api.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, wrong := daemon.Load(*file)
		if wrong != nil && cfg.Site == "" {
			return wrong // it is not known where the daemon listens
		}
		client, err := dial(cmd.Context(), cfg)
		if err != nil {
			return cmp.Or(wrong, err)
		}
		defer client.Close()
		if wrong != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "%v\ngbroker: the daemon of %s goes on with what it has read before\n", wrong, cfg.Site)
		}
		return ask(cmd, client, args)
	}
}

// dial makes a client of the site's running daemon.
func dial(ctx context.Context, cfg daemon.Config) (*api.Client, error) {
	ready, err := daemon.ReadReady(ctx, cfg)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the daemon of %s does not run: start it with `gbroker run --config %s`: %w", cfg.Site, cfg.File, grid.ErrUnavailable)
	}
	if err != nil {
		return nil, err
	}
	return api.NewClient(api.ClientConfig{Address: "unix://" + ready.Socket})
}

// confirm puts a question at the terminal; without one, --yes is needed.
func confirm(cmd *cobra.Command, question string) error {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !isTerminal(in) {
		return cli.Exit(cli.No, fmt.Errorf("nobody is here to be asked: look at what is shown, then say it again with --yes"))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s Type yes: ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "yes" {
		return cli.Exit(cli.No, fmt.Errorf("nothing was done"))
	}
	return nil
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
