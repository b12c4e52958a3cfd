package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// listing is what the flags of list say.
type listing struct {
	selection
	json, groups, jobs, parts bool
	after, sort               string
	columns                   []string
	limit                     int
}

func (p *program) list() *cobra.Command {
	var l listing
	cmd := &cobra.Command{
		Use:   "list [ID...]",
		Short: "List jobs",
		Long: `List the jobs that were handed to this broker and are yours, the oldest first; an
administrator sees those of all users. Flags choose jobs by how they are; those that are given
must all fit. A sweep is one line, unless --jobs, --site, --group or --json is given; 'list ID' lists its jobs, and
'list ID[3-10,12]' some of them (between quotes where your shell has a meaning for [). In JSON a sweep is its jobs. A job over several
sites is one line, with all of its sites under AT; --parts lists its parts too, and --site S the part at that site.

The columns: ` + strings.Join(columnNames(), ", ") + `.
On a terminal that is too narrow names are cut; what is piped is whole.`,
		Example: `  gclient list --state live --since 3d
  gclient list --name 'mesh-*' --columns id,state,wait,reason --sort -wait
  gclient list --json | jq -r '.[] | select(.state=="RUNNING") | .id'
  gclient list xeon80.01JD3V0QX2M6W8T9Z4C5A7B1EF.all[3-10]
  gclient list --limit 50 --after ID`,
		ValidArgsFunction: p.completeAllJobs,
		RunE:              func(cmd *cobra.Command, args []string) error { return p.runList(cmd, args, &l) },
	}
	jsonFlag(cmd, &l.json)
	p.selectionFlags(cmd, &l.selection)
	cmd.Flags().BoolVar(&l.groups, "groups", false, "list the groups of jobs instead, by the states of their jobs, and the workflows")
	cmd.Flags().BoolVar(&l.jobs, "jobs", false, "list the jobs of sweeps too, instead of a line for each sweep")
	cmd.Flags().BoolVar(&l.parts, "parts", false, "list the parts of jobs over several sites too")
	cmd.Flags().StringVar(&l.after, "after", "", "only jobs after the job `ID`")
	cli.CountVar(cmd, &l.limit, "limit", 0, 0, math.MaxInt32, "at most `N` jobs; 0 lists all")
	cmd.Flags().StringSliceVar(&l.columns, "columns", nil, "show these `COLUMNS`, in this order")
	cmd.Flags().StringVar(&l.sort, "sort", "", "order by this `COLUMN`, with a - before it the greatest first")
	p.complete(cmd, "columns", completeWords(columnNames()))
	p.complete(cmd, "sort", completeWords(columnNames()))
	return cmd
}

func (p *program) runList(cmd *cobra.Command, args []string, l *listing) error {
	if len(args) > 0 && (l.chosen() || l.groups || l.after != "") {
		return cli.BadUsage("name jobs, or choose them by flags: not both; --group ID chooses among those of a group")
	}
	var from grid.JobID
	if l.after != "" {
		r, err := referenceArg(l.after)
		if err != nil {
			return err
		}
		if from = r.Job; from == "" {
			from = r.Group.Job(grid.MaxSweep - 1)
		}
	}
	f, err := l.filter()
	if err != nil {
		return err
	}
	f.Folded = f.Folded && !l.parts
	shown, err := columnsOf(l.columns)
	if err != nil {
		return err
	}
	order, err := orderOf(l.sort)
	if err != nil {
		return err
	}
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	if l.groups {
		return listGroups(cmd, c, l.json)
	}
	out := &jobPrinter{w: cmd.OutOrStdout(), columns: shown}
	give := out.table
	if l.json {
		give = out.json
		defer out.endJSON()
	}
	see := func(limit int, give func([]api.Status) error) error {
		return l.each(cmd, c, args, f, from, limit, give)
	}
	if order == nil && l.limit == 0 {
		return see(0, give)
	}
	var all []api.Status // to order them all are needed
	most := l.limit
	if order != nil {
		most = 0
	}
	err = see(most, func(jobs []api.Status) error {
		all = append(all, jobs...)
		return nil
	})
	if err != nil {
		return err
	}
	if order != nil {
		slices.SortStableFunc(all, order)
	}
	if l.limit > 0 {
		all = all[:min(l.limit, len(all))]
	}
	return give(all)
}

// each gives the lines of the list: at least limit of them if there are so many, and all if it is 0.
func (l *listing) each(cmd *cobra.Command, c *api.Client, args []string, f api.Filter, from grid.JobID, limit int, give func([]api.Status) error) error {
	if len(args) > 0 {
		return inPages(give, func(give func([]api.Status) error) error { return eachNamed(cmd, c, args, give) })
	}
	if l.json || l.jobs || l.site != "" || l.group != "" {
		return pages(cmd.Context(), c, f, from, limit, give)
	}
	sweeps, err := sweepLines(cmd.Context(), c, f, from)
	if err != nil {
		return err
	}
	f.Unswept = true
	return inPages(give, func(give func([]api.Status) error) error {
		give = merged(sweeps, give)
		if err := pages(cmd.Context(), c, f, from, limit, give); err != nil {
			return err
		}
		return give(nil)
	})
}

// inPages gives in pages what see gives one by one: the lines of a page are alike.
func inPages(give func([]api.Status) error, see func(func([]api.Status) error) error) error {
	var page []api.Status
	failed := see(func(jobs []api.Status) error {
		if page = append(page, jobs...); len(page) < api.MaxPage {
			return nil
		}
		full := page
		page = nil
		return give(full)
	})
	return errors.Join(give(page), failed)
}

func listGroups(cmd *cobra.Command, c *api.Client, asJSON bool) error {
	page, err := c.Groups(cmd.Context())
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), page.Groups)
	}
	if err := printGroups(cmd.OutOrStdout(), page.Groups); err != nil {
		return err
	}
	flows, err := c.Flows(cmd.Context())
	if err != nil && !errors.Is(err, grid.ErrNotFound) { // an older broker has none
		return err
	}
	if len(page.Groups) > 0 && len(flows) > 0 {
		cmd.Println()
	}
	return printFlows(cmd.OutOrStdout(), flows)
}

// jobPrinter prints jobs page by page.
type jobPrinter struct {
	w       io.Writer
	columns []column
	begun   bool
}

func (p *jobPrinter) table(jobs []api.Status) error {
	if len(jobs) == 0 {
		return nil
	}
	shown := p.columns
	if len(shown) == 0 {
		shown = usualColumns(jobs)
	}
	t := cli.Fitted(p.w, slices.IndexFunc(shown, func(c column) bool { return c.name == "name" }))
	coloured := cli.Coloured(p.w)
	if !p.begun {
		for i, c := range shown {
			fmt.Fprint(t, c.head, between(i, len(shown)))
		}
	}
	p.begun, p.columns = true, shown // all pages alike
	for i := range jobs {
		for k, c := range shown {
			text := c.text(&jobs[i])
			if c.name == "state" && coloured {
				text = cli.Paint(text, colourOf(jobs[i].State, exitText(&jobs[i])))
			}
			fmt.Fprint(t, text, between(k, len(shown)))
		}
	}
	return flush(t)
}

// between is what stands behind a cell.
func between(i, n int) string {
	if i == n-1 {
		return "\n"
	}
	return "\t"
}

// json prints a list of which not all is in memory.
func (p *jobPrinter) json(jobs []api.Status) error {
	for i := range jobs {
		open := ",\n  "
		if !p.begun {
			open = "[\n  "
		}
		p.begun = true
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("  ", "  ")
		if err := e.Encode(&jobs[i]); err != nil {
			return fmt.Errorf("printing the answer as JSON: %w", err)
		}
		if _, err := io.WriteString(p.w, open+strings.TrimSuffix(b.String(), "\n")); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return nil
}

func (p *jobPrinter) endJSON() {
	end := "\n]\n"
	if !p.begun {
		end = "[]\n"
	}
	_, _ = io.WriteString(p.w, end)
}

func printJobs(w io.Writer, jobs []api.Status) error {
	return (&jobPrinter{w: w}).table(jobs)
}

// colourOf is the colour of a state.
func colourOf(state, exit string) cli.Colour {
	switch state {
	case grid.Running.String():
		return cli.Busy
	case grid.Completed.String():
		if exit != "" && exit != "0" {
			return cli.Warn
		}
		return cli.Good
	case grid.Failed.String(), grid.Killed.String(), grid.CancelledWalltime.String(), grid.CancelledDeadline.String(), grid.Lost.String():
		return cli.Bad
	}
	return cli.Plain
}
