package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/internal/cli"
)

// members are the jobs that GROUP[3-10,12] names; is tells of an argument of that form. GROUP is the
// identifier of a group, with or without its .all.
func members(arg string) (list []grid.JobID, is bool, err error) {
	name, rest, is := strings.Cut(arg, "[")
	if !is {
		return nil, false, nil
	}
	group, err := groupArg(name)
	numbers, closed := strings.CutSuffix(rest, "]")
	if err != nil || !closed {
		return nil, true, cli.BadUsage("%.80q: jobs of a group are written as GROUP[3-10,12], GROUP being its identifier", arg)
	}
	for part := range strings.SplitSeq(numbers, ",") {
		first, last, err := numberRange(part)
		if err != nil {
			return nil, true, cli.BadUsage("%.80q: %w", arg, err)
		}
		if len(list)+last-first >= grid.MaxSweep {
			return nil, true, cli.BadUsage("%.80q: more than %d jobs", arg, grid.MaxSweep)
		}
		for n := first; n <= last; n++ {
			list = append(list, group.Job(n))
		}
	}
	return list, true, nil
}

// groupArg is the group of an identifier with or without its .all, as scripts of an array have it in SLURM_ARRAY_JOB_ID.
func groupArg(text string) (grid.GroupID, error) {
	g, err := grid.ParseGroupID(text)
	if err == nil {
		return g, nil
	}
	if g, bad := grid.ParseGroupID(text + ".all"); bad == nil {
		return g, nil
	}
	return "", err
}

// orGroup tries what was not found as a job as a group: its identifier may lack the .all.
func orGroup(id grid.JobID, err error, group func(grid.GroupID) error) error {
	if !errors.Is(err, grid.ErrNotFound) {
		return err
	}
	if g, bad := groupArg(string(id)); bad == nil {
		if as := group(g); !errors.Is(as, grid.ErrNotFound) {
			return as
		}
	}
	return err
}

func numberRange(text string) (first, last int, err error) {
	a, b, two := strings.Cut(text, "-")
	if !two {
		b = a
	}
	first, err = strconv.Atoi(a)
	if err == nil {
		last, err = strconv.Atoi(b)
	}
	if err != nil || first < 1 || last < first || last > grid.MaxSweep {
		return 0, 0, fmt.Errorf("%.40q is no number and no range: write numbers from 1 to %d, as in [3-10,12]", text, grid.MaxSweep)
	}
	return first, last, nil
}

// named are what arguments name: jobs, groups, and jobs of groups by their numbers.
func named(args []string) (ids []string, err error) {
	for _, a := range args {
		list, is, err := members(a)
		switch {
		case err != nil:
			return nil, err
		case is:
			for _, id := range list {
				ids = append(ids, string(id))
			}
			continue
		}
		if _, err := grid.ParseGroupID(a); err != nil {
			if _, err := jobArg(a); err != nil {
				return nil, err
			}
		}
		ids = append(ids, a)
	}
	return ids, nil
}
