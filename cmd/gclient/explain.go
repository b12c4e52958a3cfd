package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

func (p *program) explain() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Show why a job is where it is",
		Long: `Show each choice of a place that was made for a job, and what spoke for every site: the
time to deliver its files (size / bandwidth), the wait until it would start there,
and its walltime at that site's speed. The site with the least total is chosen.
WAIT is by the run times that such jobs really had; SAFE is what the wait would be if every
job there ran to its limit, which it will not exceed unless other jobs are put before it
(nothing where the scheduler starts whatever fits, so that later jobs may overtake it).
A site that could not be better by what it told of starts is not asked; its wait is what it told then.
A bandwidth with a "?" was not measured yet: the configured default was believed.

A job that waits in the local queue is searched a place for again and again; the latest
of these searches is shown last, if it left the job where it is.

For a job that may run at several sites at once its home also tells what free nodes every site offered,
which were taken, and how far each part is: reserved, arrived at its site, begun, ended.

Of a workflow (ID.flow) it tells what each task waits for, where it was planned and where it is.`,
		Example:           "  gclient explain ID\n  gclient explain --json ID | jq '.decisions[0].candidates[] | {site, total_s}'",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeJobs,
		RunE: p.orFlow(explainFlow(&asJSON), p.onEither(func(cmd *cobra.Command, c *api.Client, id grid.JobID, _ []string) error {
			e, err := c.Explain(cmd.Context(), id)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), e)
			}
			here := id.Site()
			if self, err := c.Self(cmd.Context()); err == nil {
				here = self.Name
			}
			if err := printExplanation(cmd.OutOrStdout(), e, here); err != nil || e.Reason == "" {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "\nreason: %s\n", printable(e.Reason))
			return err
		}, func(cmd *cobra.Command, c *api.Client, id grid.GroupID, _ []string) error {
			return explainGroup(cmd, c, id, asJSON)
		})),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// printExplanation shows the searches of which the broker of a site has heard. Those for a job of another home it may not have.
func printExplanation(w io.Writer, e api.Explanation, here grid.SiteName) error {
	if e.Allocation != nil {
		if err := printAllocation(w, e.Allocation); err != nil || len(e.Decisions) == 0 {
			return err
		}
		fmt.Fprintln(w)
	}
	if home := e.ID.Site(); len(e.Decisions) == 0 && home != here {
		_, err := fmt.Fprintf(w, "its home, %s, chooses its place, and has not told here why: 'gclient explain %s' at the broker there does\n", printable(string(home)), e.ID)
		return err
	}
	if len(e.Decisions) == 0 {
		_, err := fmt.Fprintln(w, "no place was chosen yet")
		return err
	}
	for i, d := range e.Decisions {
		if i > 0 {
			fmt.Fprintln(w)
		}
		chosen := "no site can run it"
		if d.Chosen != nil {
			chosen = "chosen: " + printable(string(*d.Chosen))
		}
		fmt.Fprintf(w, "%s, epoch %s, %s\n", clock(d.At), d.Epoch, chosen)
		if err := printCandidates(w, d.Candidates); err != nil {
			return err
		}
	}
	if e.Stay == nil {
		return nil
	}
	fmt.Fprintf(w, "\n%s, epoch %s, stays: %s\n", clock(e.Stay.Decision.At), e.Stay.Decision.Epoch, printable(e.Stay.Why))
	return printCandidates(w, e.Stay.Decision.Candidates)
}

func printCandidates(w io.Writer, list []api.Candidate) error {
	t := cli.Table(w)
	fmt.Fprintln(t, "\tSITE\tSIZE\tBANDWIDTH\tDELIVERY\tWAIT\tSAFE\tRUN\tTOTAL\t")
	for _, c := range list {
		mark := ""
		if c.Chosen {
			mark = "*"
		}
		if c.Refusal != nil {
			fmt.Fprintf(t, "%s\t%s\t%s\t-\t-\t%s\t-\t-\t%s\t%s\n", mark, printable(string(c.Site)), cli.Size(c.SizeBytes),
				atLeast(c.WaitLeastS), atLeast(c.TotalLeastS), refusal(c.Refusal))
			continue
		}
		bandwidth := "here"
		if c.Bandwidth != nil {
			bandwidth = rate(*c.Bandwidth, c.Measured)
		}
		why := ""
		if c.UnpreferredS > 0 {
			why = fmt.Sprintf("of which %s as others are preferred", seconds(&c.UnpreferredS))
		}
		if c.CrowdedS > 0 {
			why = strings.TrimPrefix(why+fmt.Sprintf(", of which %s as it is nearly full", seconds(&c.CrowdedS)), ", ")
		}
		if c.Told {
			why = strings.TrimPrefix(why+", not asked: at most that, by what it told", ", ")
		}
		if c.Price > 0 {
			why = strings.TrimPrefix(why+fmt.Sprintf(", %g for a core and hour", c.Price), ", ")
		}
		if c.Doubt != "" {
			why = strings.TrimPrefix(why+", not sure: "+printable(c.Doubt), ", ")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", mark, printable(string(c.Site)), cli.Size(c.SizeBytes), bandwidth,
			seconds(&c.DeliveryS), seconds(c.WaitS), seconds(c.SafeWaitS), seconds(&c.RunS), seconds(c.TotalS), why)
	}
	return flush(t)
}

// atLeast is a time of a site that was not asked.
func atLeast(s *float64) string {
	if s == nil {
		return "-"
	}
	return ">=" + seconds(s)
}

func refusal(r *api.Refusal) string {
	text := r.Reason
	if r.Asked != "" {
		text += fmt.Sprintf(", asked %s", r.Asked)
	}
	if r.Available != "" {
		text += fmt.Sprintf(", available %s", r.Available)
	}
	return printable(text)
}

func seconds(s *float64) string {
	if s == nil {
		return "-"
	}
	return strconv.FormatFloat(*s, 'f', 3, 64) + "s"
}

// rate is a bandwidth for people, in powers of 1000 as networks count.
func rate(r float64, measured bool) string {
	mark := ""
	if !measured {
		mark = "?"
	}
	return fmt.Sprintf("%.2f MB/s%s", r/1e6, mark)
}

func (p *program) history() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "history ID",
		Short:             "Show what happened to a job",
		Long:              "Show each step in the life of a job: when, which state, at which site, and why.",
		Example:           "  gclient history xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeJobs,
		RunE: p.onJob(func(cmd *cobra.Command, c *api.Client, id grid.JobID, _ []string) error {
			h, err := c.History(cmd.Context(), id)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), h)
			}
			t := cli.Table(cmd.OutOrStdout())
			fmt.Fprintln(t, "TIME\tSTATE\tSITE\tEPOCH\tWHY")
			for _, e := range h.Events {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", clock(e.At), e.State, dash(string(e.Site)), e.Epoch, printable(e.Why))
			}
			return flush(t)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) sites() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "sites",
		Short: "List the sites that this broker knows",
		Long: `List this broker's site (marked *) and its neighbours: whether they are alive, the round trip
to them and the bandwidth measured with the largest messages ("?": not measured
yet), their cores and their speed, 1 being the reference. Jobs are sent only to
those with "yes" under SEND. A site that is "drained" takes no grid jobs now. Below: how far the estimates of starts at this site were
off, for the latest jobs that started here.

With --all also the sites of the grid beyond the neighbours are listed, where the brokers share a grid key: what their own
records told when they were last written, and how long ago that was.`,
		Example: "  gclient sites\n  gclient sites --all\n  gclient sites --json | jq '.[] | {name, rtt_s}'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			look := c.Sites
			if all {
				look = c.AllSites
			}
			list, err := look(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), list)
			}
			return printSites(cmd.OutOrStdout(), list)
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&all, "all", false, "also the sites of the grid beyond the neighbours")
	return cmd
}

// freshWord is how old the word of a site beyond the neighbours is at most that writes its record.
const freshWord = 10 * time.Minute

// stateOf is a site's state in words.
func stateOf(s api.Site) string {
	if s.Far && s.AgeS != nil {
		age := (time.Duration(*s.AgeS) * time.Second).Round(time.Second)
		if age > freshWord {
			return fmt.Sprintf("far, silent for %s", age)
		}
		return fmt.Sprintf("far, %s ago", age)
	}
	return api.StateInWords(s.State, s.Contact)
}

func printSites(w io.Writer, list []api.Site) error {
	t := cli.Table(w)
	fmt.Fprintln(t, "\tSITE\tSTATE\tSEND\tCORES\tBUSY\tWAITING\tSPEED\tROUND TRIP\tBANDWIDTH\tVERSION\tPEER")
	for _, s := range list {
		mark, send, trip, bandwidth := "", "no", "-", "-"
		if s.Self {
			mark = "*"
		}
		if s.Send || s.Self {
			send = "yes"
		}
		if s.RTTS != nil {
			trip = strconv.FormatFloat(*s.RTTS*1000, 'f', 2, 64) + "ms"
		}
		if r, ok := largest(s.Bandwidth); ok {
			bandwidth = rate(*r.BytesPerS, r.Measured)
		}
		state := stateOf(s)
		if s.Draining {
			state += ", drained"
		}
		busy, waiting := "-", "-"
		cores, speed := "-", "-" // of a site of which nothing was heard
		if s.Processes > 0 || s.Speed > 0 {
			cores, speed = strconv.Itoa(s.Processes), strconv.FormatFloat(s.Speed, 'g', -1, 64)
		}
		if s.Load != nil {
			busy, waiting = strconv.Itoa(s.Load.Busy), strconv.Itoa(s.Load.Waiting)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", mark, printable(string(s.Name)), state, send,
			cores, busy, waiting, speed, trip, bandwidth, dash(s.Version), printable(string(s.Peer)))
	}
	if err := flush(t); err != nil {
		return err
	}
	for _, s := range list {
		if s.Alarm != "" {
			fmt.Fprintf(w, "\nThis broker needs its administrator: %s\n", printable(s.Alarm))
		}
		if s.Estimates != nil && s.Estimates.Started > 0 {
			fmt.Fprintf(w, "\n%s\n", estimates(s.Estimates))
		}
	}
	return nil
}

// estimates tells how good those of a site were.
func estimates(e *api.Estimates) string {
	switch {
	case e.Waited == 0 && e.Started == 1:
		return "estimates of starts here: the last job did not have to wait"
	case e.Waited == 0:
		return fmt.Sprintf("estimates of starts here: of the last %d jobs none had to wait", e.Started)
	}
	percent := func(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }
	return fmt.Sprintf(`estimates of starts here, by the last %d jobs, of which %d had to wait:
  error      %.1f s in the median, %.1f s at most for 90 %%, %.1f s in the mean
  within     60 s: %s, 600 s: %s
  too early  %s (the job started later than expected)`,
		e.Started, e.Waited, e.Median, e.P90, e.Mean, percent(e.Within60), percent(e.Within600), percent(e.TooEarly))
}

// largest is the rate for the largest messages that were measured; where only small ones were, which tell more of the round trip, for
// the largest.
func largest(list []api.Rate) (last api.Rate, ok bool) {
	for _, r := range list {
		if r.BytesPerS != nil && (r.Measured || !last.Measured || last.SizeBytes < 1<<20) {
			last, ok = r, true
		}
	}
	return last, ok
}
