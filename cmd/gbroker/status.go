package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/daemon"
	"gbroker/internal/cli"
)

func statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status --config FILE",
		Short: "Show how the running daemon is",
		Long: `status shows the running daemon of a site at a glance: its process and version, the jobs by
state, what the batch system has to do, the room on the disk, the neighbours, and the
alarms: what needs the administrator. It ends with exit code 1 where there is an alarm.`,
		Example: "  gbroker status --config FILE\n  gbroker status --json --config FILE | jq .alarms",
		Args:    cobra.NoArgs,
	}
	file := configFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = onDaemon(file, func(cmd *cobra.Command, client *api.Client, _ []string) error {
		o, err := client.Overview(cmd.Context())
		if err != nil {
			return err
		}
		if err := wrongFile(*file); err != nil {
			o.Alarms = append(o.Alarms, err.Error())
		}
		if asJSON {
			err = cli.PrintJSON(cmd.OutOrStdout(), o)
		} else {
			err = printOverview(cmd.OutOrStdout(), &o)
		}
		if err == nil && len(o.Alarms) > 0 {
			return cli.Exit(cli.No, nil)
		}
		return err
	})
	return cmd
}

// wrongFile is the alarm for a configuration with which the daemon would not start again; of the neighbours' file it tells itself.
func wrongFile(file string) error {
	var wrong daemon.Mistakes
	if _, err := daemon.LoadConfig(file); errors.As(err, &wrong) {
		return fmt.Errorf("%s has mistakes: the daemon goes on with what it has read before, and will not start with them: 'gbroker check --config %s' says why", file, file)
	}
	return nil
}

func printOverview(w io.Writer, o *api.Overview) error {
	for _, a := range o.Alarms {
		fmt.Fprintf(w, "ALARM: %s\n", a)
	}
	t := cli.Table(w)
	state := "serving"
	if o.Draining {
		state = "drained: it takes no grid jobs"
	}
	fmt.Fprintf(t, "site\t%s, %s\n", o.Site, state)
	fmt.Fprintf(t, "process\t%d, version %s, up %s\n", o.PID, o.Version, time.Duration(o.UptimeS)*time.Second)
	fmt.Fprintf(t, "peer\t%s\n", o.Peer)
	if o.Batch == nil {
		fmt.Fprintf(t, "batch\tnothing is known yet\n")
	} else {
		fmt.Fprintf(t, "batch\t%s: %d of %d cores busy, %d jobs waiting\n", o.Batch.System, o.Batch.Busy, o.Batch.Cores, o.Batch.Waiting)
	}
	jobs := "none"
	for i, s := range slices.Sorted(maps.Keys(o.Jobs)) {
		if i == 0 {
			jobs = ""
		} else {
			jobs += ", "
		}
		jobs += fmt.Sprintf("%d %s", o.Jobs[s], s)
	}
	fmt.Fprintf(t, "jobs\t%s\n", jobs)
	fmt.Fprintf(t, "disk\t%s: journal %s, %s free beyond what is kept back\n", o.Disk.Folder, cli.Size(o.Disk.JournalSize), cli.Size(o.Disk.Free))
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	if len(o.Members) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t = cli.Table(w)
	fmt.Fprintln(t, "NEIGHBOUR\tSTATE\tVERSION\tJOBS THERE")
	for _, m := range o.Members {
		known := m.Version
		if known == "" {
			known = "-"
		}
		state := api.StateInWords(m.State, m.Contact)
		if m.OtherKey {
			state += ", has another grid key"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\n", m.Name, state, known, m.Jobs)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}
