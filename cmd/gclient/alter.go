package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// alterFlags are what alter takes, as texts; "" is as it is.
type alterFlags struct {
	walltime, deadline, notBefore, queue string
	processes, priority                  int
}

func (p *program) alter() *cobra.Command {
	var f alterFlags
	cmd := &cobra.Command{
		Use:   "alter ID...",
		Short: "Change jobs that wait",
		Long: `Change jobs that wait, wherever they do. For another walltime, queue or number of processes a job
comes home first, and a place is searched for it anew; so a job is never started as it was before. Of a job
that runs only the deadline can be changed. Instants are written as 18:00 or 2026-12-01T08:00 (in your zone), with a zone as
2026-12-01T08:00:00Z, or as a span from now, such as +2h.`,
		Example: `  gclient alter xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF --walltime 2:30:00
  gclient alter xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF --deadline +6h --priority 10
  gclient alter 'xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF[3-10]' --walltime 4h`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: p.completeAllJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := f.alteration(cmd, time.Now())
			if err != nil {
				return err
			}
			return p.alterAll(cmd, args, to)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.walltime, "walltime", "", "run time, as `[[H:]M:]S`, 90m or 2d")
	flags.StringVar(&f.deadline, "deadline", "", "`INSTANT` by which it must have ended")
	flags.StringVar(&f.notBefore, "not-before", "", "`INSTANT` before which it is not to start")
	flags.StringVar(&f.queue, "queue", "", "`NAME` of the queue; 'any' lets the site choose")
	cli.CountVar(cmd, &f.processes, "processes", 0, 1, grid.MaxProcesses, "how many processes")
	cli.CountVar(cmd, &f.priority, "priority", 0, -grid.MaxPriority, grid.MaxPriority, "among your own waiting jobs, -1000 to 1000; greater goes first")
	return cmd
}

// alteration is what the flags say, of those that were given.
func (f *alterFlags) alteration(cmd *cobra.Command, now time.Time) (to api.Alteration, err error) {
	given := cmd.Flags().Changed
	if given("walltime") {
		span, err := readWalltime(f.walltime)
		if err != nil {
			return to, cli.BadUsage("--walltime: %v", err)
		}
		seconds := span.Seconds()
		to.WalltimeS = &seconds
	}
	for flag, at := range map[string]struct {
		text string
		to   **api.Time
	}{"deadline": {f.deadline, &to.Deadline}, "not-before": {f.notBefore, &to.NotBefore}} {
		if !given(flag) {
			continue
		}
		instant, err := instantOf(at.text, now)
		if err != nil {
			return to, cli.BadUsage("--%s: %v", flag, err)
		}
		t := api.Time(grid.InstantOf(instant))
		*at.to = &t
	}
	if given("queue") {
		if f.queue == "any" {
			f.queue = ""
		}
		to.Queue = &f.queue
	}
	if given("processes") {
		to.Processes = &f.processes
	}
	if given("priority") {
		to.Priority = &f.priority
	}
	if to == (api.Alteration{}) {
		return to, cli.BadUsage("say what is to be altered: --walltime, --processes, --queue, --deadline, --priority or --not-before")
	}
	return to, nil
}

// readWalltime reads a span that a job may run.
func readWalltime(text string) (time.Duration, error) {
	d, err := readSpan(text)
	if most := grid.MaxWalltime.Duration(); err == nil && (d <= 0 || d > most) {
		err = fmt.Errorf("%.40q: more than 0, and at most %s", text, grid.FormatSpan(most))
	}
	return d, err
}

// readSpan reads 90, 1:30, 1:00:00, 90m or 2d.
func readSpan(text string) (time.Duration, error) {
	if d, err := grid.ParseSpan(text); err == nil {
		return d, nil
	}
	return clockSpan(text)
}

// clockSpan reads seconds, and before them minutes and hours with colons.
func clockSpan(text string) (time.Duration, error) {
	parts := strings.Split(text, ":")
	seconds := 0.0
	for _, part := range parts {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || len(parts) > 3 {
			return 0, fmt.Errorf("%.40q is no span: write 1:30:00, 90m, 2d or seconds", text)
		}
		seconds = 60*seconds + float64(n)
	}
	return time.Duration(min(seconds, float64(math.MaxInt64/time.Second/2))) * time.Second, nil
}
