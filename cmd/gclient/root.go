package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// program is what the commands share.
type program struct {
	broker    string // flag --broker
	tokenFile string // flag --token-file
}

func newRoot() *cobra.Command {
	p := &program{}
	root := &cobra.Command{
		Use:   "gclient",
		Short: "Run jobs on a grid of clusters",
		Long: `gclient hands jobs to a broker. The brokers of all sites then find out where a job
would be finished first, take it there with its files, and bring back what it leaves.

A job is described by a JSDL document; 'gclient validate' checks one without a
broker. Files that the document names are looked for beside it and sent along.

The broker is named by --broker or $GBROKER, as unix:///path or http://127.0.0.1:PORT;
else it is the one at the well-known socket: $XDG_RUNTIME_DIR/gbroker.sock, for root
/run/gbroker/gbroker.sock. For http the file with the broker's token is named by
--token-file or $GBROKER_TOKEN_FILE.

Exit codes: 0 done; 1 the answer is no (refused, invalid, not found, not allowed);
2 wrong usage; 3 could not be done (no broker, I/O, not yet). 'wait' and
'submit --wait' end with the job's own exit status.`,
		Example: `  gclient submit job.jsdl                       # prints the job's identifier
  gclient submit job.jsdl --output results      # waits, fetches the output into results/
  gclient list
  gclient explain xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF   # why is it where it is?`,
	}
	f := root.PersistentFlags()
	f.StringVar(&p.broker, "broker", "", "the broker's `ADDRESS`: unix:///path or http://127.0.0.1:PORT")
	f.StringVar(&p.tokenFile, "token-file", "", "the `FILE` with the broker's token, for http")
	root.AddCommand(p.submit(), p.where(), p.flow(), p.reserve(), p.reservations(), p.budget(), p.status(), p.logs(), p.list(), p.wait(), p.watch(), p.top(), p.cancel(), p.output(),
		p.hold(), p.release(), p.alter(), p.resubmit(), p.explain(), p.run(), convert(), p.history(), p.sites(), p.usage(), p.pass(), p.remove(), validate(), printDocument())
	return root
}

// client makes the client of the broker that flags and environment name.
func (p *program) client(cmd *cobra.Command) (*api.Client, error) {
	address := p.broker
	if address == "" {
		address = os.Getenv("GBROKER")
	}
	if address == "" {
		socket, err := api.DefaultSocket()
		if err != nil {
			return nil, cli.BadUsage("no broker is named: use --broker ADDRESS or set GBROKER (%v)", err)
		}
		address = "unix://" + socket
	}
	config := api.ClientConfig{Address: address, Show: show, Unconfirmed: unconfirmed(cmd)}
	if strings.HasPrefix(address, "http:") {
		file := p.tokenFile
		if file == "" {
			file = os.Getenv("GBROKER_TOKEN_FILE")
		}
		if file == "" {
			return nil, cli.BadUsage("%s needs the broker's token: name its file with --token-file or GBROKER_TOKEN_FILE", address)
		}
		token, open, err := api.ReadToken(file)
		if err != nil {
			return nil, cli.Exit(cli.Failed, err)
		}
		if open {
			cmd.PrintErrf("gclient: warning: %s can be read by others: chmod 600 it\n", file)
		}
		config.Token = token
	}
	c, err := api.NewClient(config)
	if err != nil {
		return nil, cli.Exit(cli.Usage, err)
	}
	return c, nil
}

// unconfirmed tells, once for each, why answers may not be true.
func unconfirmed(cmd *cobra.Command) func(why string) {
	var told sync.Map
	return func(why string) {
		if _, again := told.LoadOrStore(why, true); !again {
			warnings(cmd, []string{why})
		}
	}
}

// referenceArg checks an argument that is to be the identifier of a job or a group, or to name one job of a group as GROUP[NUMBER].
func referenceArg(arg string) (grid.Reference, error) {
	switch some, is, err := members(arg); {
	case err != nil:
		return grid.Reference{}, err
	case is && len(some) != 1:
		return grid.Reference{}, cli.Exit(cli.No, fmt.Errorf("%.80q names %d jobs: name one of them, as %s", arg, len(some), some[0]))
	case is:
		return grid.Reference{Job: some[0]}, nil
	}
	if strings.HasSuffix(arg, api.FlowSuffix) {
		return grid.Reference{}, cli.Exit(cli.No, fmt.Errorf("%.80q is a workflow: name the job of one of its tasks, 'gclient flow status %.80s' lists them", arg, arg))
	}
	r, err := grid.ParseReference(arg)
	if err != nil {
		return r, cli.Exit(cli.No, err)
	}
	return r, nil
}

// jobArg is the same for what takes no group.
func jobArg(arg string) (grid.JobID, error) {
	r, err := referenceArg(arg)
	if err == nil && r.Job == "" {
		_, no := grid.ParseJobID(arg)
		err = cli.Exit(cli.No, no)
	}
	return r.Job, err
}

// onJob makes the RunE of a command whose first argument is a job.
func (p *program) onJob(run func(cmd *cobra.Command, c *api.Client, id grid.JobID, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := jobArg(args[0])
		if err != nil {
			return err
		}
		c, err := p.client(cmd)
		if err != nil {
			return err
		}
		defer c.Close()
		return run(cmd, c, id, args[1:])
	}
}

// jsonFlag adds --json.
func jsonFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON")
}

// interrupted reports that the user pressed Ctrl-C (or a signal asked us to end).
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}
