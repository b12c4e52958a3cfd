package main

import (
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"gbroker/daemon"
	"gbroker/internal/cli"
	"gbroker/internal/logger"
	_ "gbroker/pbs/embedded/supervise" // before main it takes over a process that was started as a job's supervisor
)

func runCommand() *cobra.Command {
	var listen []string
	var level string
	var empty bool
	cmd := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Run the broker until SIGINT or SIGTERM",
		Long: `run serves the site until SIGINT or SIGTERM, then stops cleanly; a second signal
ends it at once. Running jobs go on in both cases and are found again at the next
start. The log goes to stderr.

The first start makes the journal in the data folder. Later one that is missing is
refused, since all jobs would be forgotten in silence: the disk may not be mounted. If
it is lost, --empty-journal begins with an empty one.

While it serves, the file "ready" in the site's folder tells (JSON) its pid, peer,
addresses, socket and api. Changes of the neighbours' file are taken up at once, and at
SIGHUP; at SIGHUP gbroker.yaml is read too: the log level and the limits are taken up, and
the log names the fields that need a restart.`,
		Example: `  gbroker run --config /srv/gbroker/gbroker.yaml
  gbroker run --config a/gbroker.yaml --listen /ip4/127.0.0.1/tcp/0 --log-level debug`,
		Args: cobra.NoArgs,
	}
	file := configFlag(cmd)
	cmd.Flags().StringSliceVar(&listen, "listen", nil, "listen here instead of where the file says")
	cmd.Flags().StringVar(&level, "log-level", "", "debug, info, warn or error instead of what the file says")
	cmd.Flags().BoolVar(&empty, "empty-journal", false, "begin with an empty journal where it is lost; once")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := daemon.Load(*file)
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("listen") {
			if cfg.ListenInstead, err = daemon.ListenAddresses(listen); err != nil {
				return cli.BadUsage("--listen: %w", err)
			}
		}
		cfg.EmptyJournal = empty
		if level == "" {
			level = cfg.LogLevel
		}
		log, at, err := logger.New(level, cfg.LogFormat)
		if err != nil {
			return cli.BadUsage("--log-level: %w", err)
		}
		defer func() { _ = log.Sync() }() // stderr cannot always be synced
		spareMemory()
		return daemon.Run(cmd.Context(), cfg, log, at)
	}
	return cmd
}

// gcPercent is GOGC of a broker: it computes little, and lives beside others. Collecting twice as often takes a quarter of its memory away.
const gcPercent = 50

// spareMemory leaves the last word to the environment.
func spareMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
