package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// selection is what the flags say that choose jobs by how they are.
type selection struct {
	states            []string
	site, name, group string
	since, user       string
}

// selectionFlags adds them.
func (p *program) selectionFlags(cmd *cobra.Command, s *selection) {
	f := cmd.Flags()
	f.StringSliceVar(&s.states, "state", nil, "only jobs in one of these `STATES`, as RUNNING,READY; live is all that have not ended, ended the others")
	f.StringVar(&s.site, "site", "", "only jobs that are at this `SITE`")
	f.StringVar(&s.name, "name", "", "only jobs whose name fits this `PATTERN`, as 'mesh-*'")
	f.StringVar(&s.since, "since", "", "only jobs handed in since this `TIME`: 2h, 3d, 14:00, 2026-11-22 or '2026-11-22 14:00'")
	f.StringVar(&s.group, "group", "", "only jobs of the group `ID`")
	f.StringVar(&s.user, "user", "", "only jobs of this `USER`, for administrators")
	p.complete(cmd, "state", completeStates)
	p.complete(cmd, "site", p.completeSites)
}

// chosen reports that one of the flags was given.
func (s *selection) chosen() bool {
	return len(s.states) > 0 || s.site != "" || s.name != "" || s.group != "" || s.since != "" || s.user != ""
}

func (s *selection) filter() (f api.Filter, err error) {
	if f.States, err = parseStates(s.states); err != nil {
		return f, err
	}
	if f.Since, err = parseSince("--since", s.since); err != nil {
		return f, err
	}
	if s.group != "" {
		if f.Group, err = groupArg(s.group); err != nil {
			return f, cli.BadUsage("--group: %v", err)
		}
	}
	f.Site, f.Name, f.User = grid.SiteName(s.site), s.name, s.user
	f.Folded = s.site == "" // of a job over several sites a part is at each
	return f, nil
}

// allStates are the states of jobs, in their order.
func allStates() (list []grid.State) {
	for s := grid.State(1); s <= grid.Lost; s++ {
		list = append(list, s)
	}
	return list
}

func parseStates(words []string) (list []grid.State, err error) {
	add := func(ended bool) {
		for _, s := range allStates() {
			if s.Terminal() == ended {
				list = append(list, s)
			}
		}
	}
	for _, w := range words {
		switch w = strings.ToUpper(strings.TrimSpace(w)); w {
		case "LIVE":
			add(false)
		case "ENDED":
			add(true)
		default:
			s, err := grid.ParseState(w)
			if err != nil {
				return nil, cli.BadUsage("--state: %v; 'gclient status --help' lists them", err)
			}
			list = append(list, s)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// parseSince reads a time, or a span before now, of the user's zone; "" is 0.
func parseSince(flag, text string) (api.Time, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := time.ParseDuration(days + "h"); err == nil && n >= 0 {
			return instant(time.Now().Add(-24 * n)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return instant(time.Now().Add(-d)), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02", "2006-01"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return instant(at), nil
		}
	}
	if at, is := lastClock(text, time.Now()); is {
		return instant(at), nil
	}
	return 0, cli.BadUsage("%s %.40q is no time: write it like 2h, 3d, 14:00, 2026-11-22 or '2026-11-22 14:00'", flag, text)
}

// lastClock reads a time of the day, which is the last such before now.
func lastClock(text string, now time.Time) (at time.Time, is bool) {
	for _, layout := range []string{"15:04:05", "15:04"} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		at = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		if at.After(now) {
			at = time.Date(now.Year(), now.Month(), now.Day()-1, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		}
		return at, true
	}
	return now, false
}

func instant(t time.Time) api.Time { return api.Time(grid.InstantOf(t)) }

// pages gives the jobs that a filter passes page by page, up to limit jobs if that is not 0.
func pages(ctx context.Context, c *api.Client, f api.Filter, after grid.JobID, limit int, give func([]api.Status) error) error {
	for done := 0; ; {
		n := api.MaxPage
		if limit > 0 {
			n = min(n, limit-done)
		}
		page, err := c.List(ctx, f, after, n)
		if err != nil {
			return err
		}
		if err := give(page.Jobs); err != nil {
			return err
		}
		done += len(page.Jobs)
		if page.Next == nil || limit > 0 && done >= limit || *page.Next == after {
			return nil
		}
		after = *page.Next
	}
}

// idsOrFlags is the rule for arguments of commands that take identifiers, or flags that choose jobs.
func idsOrFlags(s *selection) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && !s.chosen() {
			return fmt.Errorf("no job is named: give identifiers, or choose jobs by flags as --state READY")
		}
		return nil
	}
}
