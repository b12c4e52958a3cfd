package main

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
)

// noneFits is said of flags that choose nothing: a name may be misspelt.
const noneFits = "gclient: no job fits the flags"

// targets are what arguments and flags name, each once, in their order.
type targets struct {
	ids  []grid.Reference
	jobs int // how many jobs that is; of a sweep those that have not ended
	seen map[string]bool
}

func (t *targets) add(r grid.Reference, jobs int) {
	whole := grid.Reference{}
	whole.Group, _ = r.Job.Group()
	if t.seen[r.String()] || whole.Group != "" && t.seen[whole.String()] {
		return
	}
	t.seen[r.String()] = true
	t.ids, t.jobs = append(t.ids, r), t.jobs+jobs
}

// targets are the jobs and groups that arguments and flags name.
func (s *selection) targets(cmd *cobra.Command, c *api.Client, args []string, f api.Filter) (targets, error) {
	t := targets{seen: map[string]bool{}}
	all, err := named(args)
	if err != nil {
		return t, err
	}
	for _, a := range all {
		t.add(a, 1)
	}
	if !s.chosen() {
		return t, nil
	}
	return t, t.choose(cmd.Context(), c, f)
}

// choose adds what a filter passes. The jobs of a sweep whose turn has not come are in no list but that of their group, and
// stand at no site: a sweep of which all that is live is meant is one target, and goes on after none of its jobs alone.
func (t *targets) choose(ctx context.Context, c *api.Client, f api.Filter) error {
	if f.Site == "" && f.Group == "" {
		if err := t.chooseSweeps(ctx, c, f); err != nil {
			return err
		}
	}
	return t.chooseJobs(ctx, c, f)
}

func (t *targets) chooseJobs(ctx context.Context, c *api.Client, f api.Filter) error {
	return pages(ctx, c, f, "", 0, func(jobs []api.Status) error {
		for i := range jobs {
			t.add(grid.Reference{Job: jobs[i].ID}, 1)
		}
		return nil
	})
}

func (t *targets) chooseSweeps(ctx context.Context, c *api.Client, f api.Filter) error {
	page, err := c.Groups(ctx)
	if err != nil {
		return err
	}
	for i := range page.Groups {
		g := &page.Groups[i]
		if !g.Sweep || !passes(f, g) {
			continue
		}
		whole := allLive(f.States)
		if whole && f.Name != "" {
			if whole, err = alike(ctx, c, g.ID, f.Name); err != nil {
				return err
			}
		}
		if whole {
			t.add(grid.Reference{Group: g.ID}, g.Jobs-g.Over)
			continue
		}
		of := f
		of.Group = g.ID
		if err := t.chooseJobs(ctx, c, of); err != nil {
			return err
		}
	}
	return nil
}

// allLive tells of states that all which have not ended are among them; none are all.
func allLive(states []grid.State) bool {
	return len(states) == 0 || !slices.ContainsFunc(allStates(), func(s grid.State) bool { return !s.Terminal() && !slices.Contains(states, s) })
}

// alike tells of a sweep that its jobs have names which fit: a document may give each its own.
func alike(ctx context.Context, c *api.Client, id grid.GroupID, pattern string) (bool, error) {
	all := true
	err := eachMember(ctx, c, id, func(m *api.Status) error {
		all = all && fits(pattern, m.Name)
		return nil
	})
	return all, err
}

// fits tells of a name that a pattern means it; a slash is a letter like any other.
func fits(pattern, name string) bool {
	is, err := path.Match(pattern, strings.ReplaceAll(name, "/", "\x00"))
	return pattern == "" || err == nil && is
}
