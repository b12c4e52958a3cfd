package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// sweepLines are the sweeps that a filter passes, each as the line of a list of jobs.
func sweepLines(ctx context.Context, c *api.Client, f api.Filter, after grid.JobID) (lines []api.Status, err error) {
	page, err := c.Groups(ctx)
	if err != nil {
		return nil, err
	}
	for i := range page.Groups {
		if g := &page.Groups[i]; g.Sweep && string(g.ID) > string(after) && passes(f, g) {
			lines = append(lines, lineOf(g))
		}
	}
	return lines, nil
}

// passes tells of a sweep that is meant, or of which some jobs are by their state.
func passes(f api.Filter, g *api.GroupStatus) bool {
	in := func(s grid.State) bool { return g.States[s.String()] > 0 }
	return (len(f.States) == 0 || slices.ContainsFunc(f.States, in)) && g.Submitted >= f.Since && (f.User == "" || f.User == g.User) && fits(f.Name, g.Name)
}

// lineOf is a sweep as a line of a list of jobs.
func lineOf(g *api.GroupStatus) api.Status {
	state := fmt.Sprintf("%d of %d over", g.Over, g.Jobs)
	if g.Ended != 0 {
		state = statesText(g)
		for name, n := range g.States {
			if n == g.Jobs && g.FailedExits == 0 {
				state = name
			}
		}
	}
	return api.Status{ID: grid.JobID(g.ID), Name: g.Name, User: g.User, State: state, Submitted: g.Submitted, Ended: g.Ended}
}

// merged puts lines between the jobs of pages, by their identifiers; at the end of all the rest is given by a page of nil.
func merged(lines []api.Status, give func([]api.Status) error) func([]api.Status) error {
	return func(jobs []api.Status) error {
		k := len(lines)
		if n := len(jobs); n > 0 {
			last := jobs[n-1].ID
			k, _ = slices.BinarySearchFunc(lines, last, func(s api.Status, id grid.JobID) int { return cmp.Compare(s.ID, id) })
		}
		page := append(slices.Clone(lines[:k]), jobs...)
		lines = lines[k:]
		slices.SortStableFunc(page, func(a, b api.Status) int { return cmp.Compare(a.ID, b.ID) })
		return give(page)
	}
}

// eachNamed gives what arguments name: a job, all jobs of a group, or some by their numbers.
func eachNamed(cmd *cobra.Command, c *api.Client, args []string, give func([]api.Status) error) error {
	for _, a := range args {
		some, is, err := members(a)
		if err != nil {
			return err
		}
		if is {
			if err := eachOf(cmd.Context(), c, some, give); err != nil {
				return err
			}
			continue
		}
		r, err := referenceArg(a)
		if err != nil {
			return err
		}
		err = either(&r, func(id grid.JobID) error {
			s, err := c.Job(cmd.Context(), id)
			if err != nil {
				return err
			}
			return give([]api.Status{s})
		}, func(g grid.GroupID) error {
			return eachMember(cmd.Context(), c, g, func(m *api.Status) error { return give([]api.Status{*m}) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachOf gives some jobs of one group, page by page.
func eachOf(ctx context.Context, c *api.Client, ids []grid.JobID, give func([]api.Status) error) error {
	want := map[grid.JobID]bool{}
	first, last := grid.MaxSweep, 0
	for _, id := range ids {
		_, n := id.Group()
		want[id], first, last = true, min(first, n), max(last, n)
	}
	group, _ := ids[0].Group()
	for after := first - 1; after < last; {
		s, err := c.GroupPage(ctx, group, api.Members{After: after, Limit: min(api.MaxPage, last-after)})
		if err != nil {
			return err
		}
		if last > s.Jobs {
			return cli.Exit(cli.No, fmt.Errorf("the group %s has %d jobs: there is no job %d", group, s.Jobs, last))
		}
		if err := give(slices.DeleteFunc(s.Members, func(m api.Status) bool { return !want[m.ID] })); err != nil {
			return err
		}
		if after = s.Next; after == 0 {
			return nil
		}
	}
	return nil
}
