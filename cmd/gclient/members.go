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

// groupArg is the group that an argument names.
func groupArg(text string) (grid.GroupID, error) {
	r, err := grid.ParseReference(text)
	if err == nil && r.Group == "" {
		err = fmt.Errorf("%.80q is a job of a group, and no group", text)
	}
	return r.Group, err
}

// either does what is to be done with what an argument names, and notes in it which of the two that is. What may be both is
// tried as a job first; what the broker knows as neither is told as a job.
func either(r *grid.Reference, job func(grid.JobID) error, group func(grid.GroupID) error) error {
	if r.Job == "" {
		return group(r.Group)
	}
	err := job(r.Job)
	if r.Group == "" || !errors.Is(err, grid.ErrNotFound) {
		r.Group = ""
		return err
	}
	if as := group(r.Group); !errors.Is(as, grid.ErrNotFound) {
		r.Job = ""
		return as
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
func named(args []string) (all []grid.Reference, err error) {
	for _, a := range args {
		list, is, err := members(a)
		if err != nil {
			return nil, err
		}
		for _, id := range list {
			all = append(all, grid.Reference{Job: id})
		}
		if !is {
			r, err := referenceArg(a)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
	}
	return all, nil
}
