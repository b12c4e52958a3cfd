package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// printAllocation tells how a job over several sites was planned, and how far its parts are.
func printAllocation(w io.Writer, a *api.Allocation) error {
	fmt.Fprintf(w, "several sites: %s", a.State)
	if a.Round > 0 {
		fmt.Fprintf(w, ", round %d", a.Round)
	}
	if a.Reason != "" {
		fmt.Fprintf(w, ": %s", printable(a.Reason))
	}
	fmt.Fprintln(w)
	if a.Choice != nil {
		if err := printChoice(w, a.Choice); err != nil {
			return err
		}
	}
	if len(a.Parts) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nparts, from %s to %s", clock(a.Start), clock(a.End))
	for _, when := range []struct {
		what string
		at   api.Time
	}{{"all arrived", a.Go}, {"all begun", a.Begun}} {
		if when.at != 0 {
			fmt.Fprintf(w, ", %s %s", when.what, clock(when.at))
		}
	}
	fmt.Fprintln(w)
	return printParts(w, a.Parts)
}

func printParts(w io.Writer, parts []api.Part) error {
	t := cli.Table(w)
	fmt.Fprintln(t, "\tROUND\tSITE\tJOB\tPROCESSES\tNODES\tRESERVATION\tIT IS")
	for _, p := range parts {
		fmt.Fprintf(t, "\t%d\t%s\t%s\t%d\t%s\t%s\t%s\n", p.Round, printable(string(p.Site)), printable(string(p.Job)), p.Processes,
			nodeNames(p.Nodes), strings.TrimSpace(string(p.Reservation)+" "+p.Reserved), progressOf(p))
	}
	return flush(t)
}

func printChoice(w io.Writer, c *api.SlotChoice) error {
	fmt.Fprintf(w, "\n%s, free nodes that sites offered", clock(c.At))
	if c.End != 0 {
		fmt.Fprintf(w, "; several would run it from %s to %s", clock(c.Start), clock(c.End))
	}
	if c.Best != "" {
		fmt.Fprintf(w, "; %s alone at %s", printable(string(c.Best)), clock(c.BestEnd))
	}
	if c.Why != "" {
		fmt.Fprintf(w, "; not several: %s", printable(c.Why))
	}
	fmt.Fprintln(w)
	t := cli.Table(w)
	fmt.Fprintln(t, "\tSITE\tSLOTS\tTAKEN\t")
	for _, s := range c.Sites {
		mark, why := "", ""
		if len(s.Taken) > 0 {
			mark = "*"
		}
		if s.Refusal != nil {
			why = refusal(s.Refusal)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\n", mark, printable(string(s.Site)), s.Slots, nodeNames(s.Taken), why)
	}
	return flush(t)
}

// sitesOf is where a job is: of one over several sites all of them.
func sitesOf(s *api.Status) string {
	if len(s.Parts) == 0 {
		return string(s.Owner)
	}
	var names []string
	for _, p := range s.Parts {
		names = append(names, string(p.Site))
	}
	return strings.Join(names, "+")
}

// partsOf are the parts of a job over several sites that are made, the first first.
func partsOf(s *api.Status) (ids []grid.JobID) {
	for _, p := range s.Parts {
		if p.Job != "" {
			ids = append(ids, p.Job)
		}
	}
	return ids
}

// fetchJob brings what a job has left into dir: of one over several sites what each part has left into a folder that is
// called as its site.
func fetchJob(cmd *cobra.Command, c *api.Client, s *api.Status, dir string, force bool) error {
	if len(s.Parts) == 0 {
		return fetchAll(cmd, c, s.ID, dir, force)
	}
	var failed error
	for _, p := range s.Parts {
		if p.Job == "" {
			continue
		}
		if err := grid.CheckName(string(p.Site)); err != nil {
			return fmt.Errorf("the broker names a site: %w", err)
		}
		fetchInto(cmd, c, p.Job, filepath.Join(dir, string(p.Site)), force, &failed)
	}
	return failed
}

// together tells that several sites would be chosen: then there is a start.
func together(c *api.SlotChoice) bool { return c != nil && c.Start != 0 }

// printTogether tells of a job that may have several sites which would be chosen, or why they would not.
func printTogether(w io.Writer, now api.Time, c *api.SlotChoice) error {
	t := cli.Table(w)
	fmt.Fprintln(t, "\tTOGETHER\tPROCESSES\tNODES\tSLOTS\t")
	for _, s := range c.Sites {
		mark, why, processes := "", "", "-"
		if len(s.Taken) > 0 {
			mark, processes = "*", strconv.Itoa(s.Processes)
		}
		if s.Refusal != nil {
			why = refusal(s.Refusal)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\n", mark, printable(string(s.Site)), processes, nodeNames(s.Taken), s.Slots, why)
	}
	if err := flush(t); err != nil {
		return err
	}
	if together(c) {
		_, err := fmt.Fprintf(w, "It would lie over several sites, begin at %s, and end %s.\n", soon(now, c.Start), within(now, c.End))
		return err
	}
	_, err := fmt.Fprintf(w, "It would not lie over several sites: %s\n", printable(c.Why))
	return err
}

// progressOf is how far a part is, in one word.
func progressOf(p api.Part) string {
	switch {
	case p.End != "":
		return p.End
	case p.Begun:
		return "begun"
	case p.Arrived:
		return "arrived"
	case p.Job != "":
		return "on its way"
	}
	return "reserved only"
}

// nodeNames are names of nodes, the first few of many.
func nodeNames(nodes []grid.NodeName) string {
	const shown = 6
	var names []string
	for i, n := range nodes {
		if i == shown {
			names = append(names, fmt.Sprintf("… (%d)", len(nodes)))
			break
		}
		names = append(names, printable(string(n)))
	}
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ",")
}
