package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/internal/cli"
)

func (p *program) usage() *cobra.Command {
	var asJSON bool
	var by, since, until string
	keys := []string{"user", "site", "month", "day"}
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Sum up what jobs have used",
		Long: `Sum up the jobs that have ended: how many, how many of them failed (did not end by themselves with
exit code 0), their core hours (cores asked for, times the run time), the hours of processor time that their
programs used, as far as the sites could tell, and how long they waited for their start.
It counts the jobs that this broker still knows, in the month or on the day on which they ended: those of a
user, or, for administrators, those of all, also of other homes that ran here.`,
		Example: `  gclient usage
  gclient usage --by month --since 2026-01
  gclient usage --by site --since 30d --until 7d
  gclient usage --by day --json | jq -r '.rows[] | [.key, .core_hours] | @tsv'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(keys, by) {
				return cli.BadUsage("--by %.40s: write one of %s", by, strings.Join(keys, ", "))
			}
			from, err := parseSince("--since", since)
			if err != nil {
				return err
			}
			to, err := parseSince("--until", until)
			if err != nil {
				return err
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			bar := newCount(cmd.ErrOrStderr())
			bar.show("summing up")
			u, err := c.Usage(cmd.Context(), by, from, to, zoneName())
			bar.end()
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), u)
			}
			return printUsage(cmd.OutOrStdout(), &u)
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&by, "by", "user", "a row for each user, site, month or day")
	cmd.Flags().StringVar(&since, "since", "", "only jobs that ended since this `TIME`: 12h, 30d, 2026-11 or '2026-11-22 14:00'")
	cmd.Flags().StringVar(&until, "until", "", "only jobs that ended before this `TIME`")
	p.complete(cmd, "by", completeWords(keys))
	return cmd
}

// zoneName is the user's zone as the tz database calls it; UTC where that cannot be told.
func zoneName() string {
	name := strings.TrimPrefix(os.Getenv("TZ"), ":")
	if name == "" {
		if at, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
			_, name, _ = strings.Cut(at, "zoneinfo/")
		}
	}
	if _, err := time.LoadLocation(name); err != nil || name == "" {
		return "UTC"
	}
	return name
}

func printUsage(w io.Writer, u *api.Usage) error {
	if len(u.Rows) == 0 {
		return nil
	}
	t := cli.Fitted(w, 0)
	fmt.Fprintf(t, "%s\tJOBS\tFAILED\tCORE HOURS\tCPU HOURS\tMEAN WAIT\tMAX WAIT\n", strings.ToUpper(u.By))
	line := func(name string, r *api.UsageRow) {
		fmt.Fprintf(t, "%s\t%d\t%d\t%.2f\t%.2f\t%s\t%s\n", name, r.Jobs, r.Failed, r.CoreHours, r.CPUHours, waited(r.MeanWaitS), waited(r.MaxWaitS))
	}
	for i := range u.Rows {
		line(printable(u.Rows[i].Key), &u.Rows[i])
	}
	if len(u.Rows) > 1 {
		line("total", &u.Total)
	}
	return flush(t)
}

func waited(s float64) string {
	return rough(time.Duration(s * float64(time.Second)).Round(time.Second))
}
