package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func (p *program) status() *cobra.Command {
	var asJSON bool
	var page api.Members
	cmd := &cobra.Command{
		Use:   "status ID",
		Short: "Show how a job is",
		Long: `Show how a job is: its state, where it is, when it began and ended and with which exit
code. Estimates of its start: "now" is the latest, while it waits; "at submit" is that on
which it was first placed, "at queue" that of the moment it entered the queue of this site.

The states: SUBMITTED, STAGEIN (its files come), READY (a place is being chosen),
ASSIGNED (in the queue of a site), MOVING (on the way to another), RUNNING, FINISHED,
STAGEOUT (its output comes home); and at the end COMPLETED (it ended by itself, with
any exit code), FAILED (it could not be run), KILLED, CANCELLED_WALLTIME,
CANCELLED_DEADLINE or LOST. Of a workflow (ID.flow) it shows each task.`,
		Example: "  gclient status xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF\n  gclient status --json ID | jq .exit_code\n" +
			"  gclient status 'GROUP[3-10,12]'    # some jobs of a group, one after the other",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeJobs,
		RunE: p.orFlow(statusOfFlow(&asJSON), p.onSome(p.onEither(func(cmd *cobra.Command, c *api.Client, id grid.JobID, _ []string) error {
			s, err := c.Job(cmd.Context(), id)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), s)
			}
			return printStatus(cmd.OutOrStdout(), &s)
		}, func(cmd *cobra.Command, c *api.Client, id grid.GroupID, _ []string) error {
			s, err := c.GroupPage(cmd.Context(), id, page)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), s)
			}
			return printGroup(cmd.OutOrStdout(), &s)
		}), func(cmd *cobra.Command, c *api.Client, ids []grid.JobID, _ []string) error {
			return statusOfSome(cmd, c, ids, asJSON)
		})),
	}
	jsonFlag(cmd, &asJSON)
	cli.CountVar(cmd, &page.After, "after", 0, 0, math.MaxInt32, "of a group: the jobs behind number `N`")
	cli.CountVar(cmd, &page.Limit, "limit", 100, 0, math.MaxInt32, "of a group: at most so many jobs; 0 is the group alone")
	return cmd
}

// statusOfSome tells of jobs of a group, one after the other.
func statusOfSome(cmd *cobra.Command, c *api.Client, ids []grid.JobID, asJSON bool) error {
	all := []api.Status{}
	for i, id := range ids {
		s, err := c.Job(cmd.Context(), id)
		if err != nil {
			return err
		}
		if asJSON {
			all = append(all, s)
			continue
		}
		if i > 0 {
			cmd.Println()
		}
		if err := printStatus(cmd.OutOrStdout(), &s); err != nil {
			return err
		}
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	return nil
}

// printStatus prints what there is to say of a job, one line each.
func printStatus(w io.Writer, s *api.Status) error {
	t := cli.Table(w)
	line := func(name, value string) {
		if value != "" && value != "-" {
			fmt.Fprintf(t, "%s\t%s\n", name, printable(value))
		}
	}
	line("job", string(s.ID))
	line("name", s.Name)
	line("state", stateText(s))
	line("reason", s.Reason)
	line("user", s.User)
	line("home", string(s.Home))
	line("at", sitesOf(s))
	line("local id", string(s.LocalID))
	line("queue", string(s.Queue))
	if s.Processes > 0 { // else it has no record yet, or none any more
		line("processes", strconv.Itoa(s.Processes))
		demandLines(s.Demand, line)
		walltime := span(s.WalltimeS)
		if s.WalltimeDefaulted {
			walltime += " (the site's default: the document names none)"
		}
		line("walltime", walltime)
	}
	termLines(s, line)
	line("submitted", clock(s.Submitted))
	if s.Started == 0 && !s.Terminal() {
		line("start estimate now", clock(s.StartEstimateNow))
	}
	line("start estimate at submit", clock(s.StartEstimateAtSubmit))
	line("start estimate at queue", clock(s.StartEstimateAtQueue))
	line("started", clock(s.Started))
	line("finished", clock(s.Finished))
	line("ended", clock(s.Ended))
	line("exit", exitText(s))
	line("used", usedText(s.Used))
	if s.Used != nil {
		line("ran on", strings.Join(s.Used.Nodes, " "))
	}
	if s.CancelRequested && !s.Terminal() {
		line("cancel", "requested, not yet confirmed")
	}
	if s.ContactLostSince != 0 {
		line("contact lost", "last heard at "+clock(s.ContactLostSince))
	}
	line("part of", string(s.PartOf))
	if err := flush(t); err != nil || len(s.Parts) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return printParts(w, s.Parts)
}

// termLines tell when a job may run, what is paid for it, and what is to be altered of it.
func termLines(s *api.Status, line func(name, value string)) {
	line("not before", clock(s.NotBefore))
	line("must end by", clock(s.Deadline))
	if s.Priority != 0 {
		line("priority", strconv.Itoa(s.Priority))
	}
	if s.Fee != 0 {
		line("fee", strconv.FormatInt(s.Fee, 10))
	}
	if s.Held && !s.Terminal() {
		line("held", "until it is released")
	}
	line("to be altered", s.Altered)
}

func flush(t interface{ Flush() error }) error {
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// exitText is how the program of a job ended, "" while that is not known.
func exitText(s *api.Status) string {
	switch {
	case s.Signal != nil:
		return fmt.Sprintf("signal %d", *s.Signal)
	case s.ExitCode != nil:
		return strconv.Itoa(*s.ExitCode)
	}
	return ""
}

// stateText is the state; COMPLETED says only that the program ended by itself, so an exit
// code that is not 0 stands beside it.
func stateText(s *api.Status) string {
	if code := exitText(s); s.State == grid.Completed.String() && code != "" && code != "0" {
		return fmt.Sprintf("%s (exit %s)", s.State, code)
	}
	return s.State
}

// usedText is what a job has used, as in "1.5s of processor time, 2.0 GiB of memory".
func usedText(u *api.Used) string {
	var parts []string
	if u != nil && u.CPUS != nil {
		parts = append(parts, span(*u.CPUS)+" of processor time")
	}
	if u != nil && u.MemoryBytes != nil {
		parts = append(parts, cli.Size(*u.MemoryBytes)+" of memory")
	}
	return strings.Join(parts, ", ")
}

// clock is an instant in the user's time zone (TZ), "-" if not yet.
func clock(t api.Time) string {
	if t == 0 {
		return "-"
	}
	return time.UnixMilli(int64(t)).Format("2006-01-02 15:04:05")
}

// span is a number of seconds for people.
func span(s float64) string {
	if s < 60 {
		return strconv.FormatFloat(s, 'f', -1, 64) + "s"
	}
	text := grid.FromSeconds(s).Duration().String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// printable is text from outside without what could steer a terminal.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return '�'
	}, s)
}

// dash is s made safe to print, "-" if there is nothing in it.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return printable(s)
}
