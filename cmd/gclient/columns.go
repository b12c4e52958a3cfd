package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
)

// column is one of those that a list of jobs may have.
type column struct {
	name, head string
	text       func(*api.Status) string
	value      func(*api.Status) float64 // by which it is ordered; nil: by the text
}

var columns = []column{
	{name: "id", head: "ID", text: func(s *api.Status) string { return string(s.ID) }},
	{name: "name", head: "NAME", text: func(s *api.Status) string { return dash(s.Name) }},
	{name: "user", head: "USER", text: func(s *api.Status) string { return dash(s.User) }},
	{name: "state", head: "STATE", text: func(s *api.Status) string { return s.State }},
	{name: "site", head: "AT", text: func(s *api.Status) string { return dash(sitesOf(s)) }},
	{name: "home", head: "HOME", text: func(s *api.Status) string { return dash(string(s.Home)) }},
	{name: "processes", head: "PROCESSES", text: func(s *api.Status) string { return strconv.Itoa(s.Processes) }, value: func(s *api.Status) float64 { return float64(s.Processes) }},
	{name: "walltime", head: "WALLTIME", text: func(s *api.Status) string { return span(s.WalltimeS) }, value: func(s *api.Status) float64 { return s.WalltimeS }},
	{name: "queue", head: "QUEUE", text: func(s *api.Status) string { return dash(string(s.Queue)) }},
	at("submitted", "SUBMITTED", func(s *api.Status) api.Time { return s.Submitted }),
	at("start", "START", startOf),
	at("started", "STARTED", func(s *api.Status) api.Time { return s.Started }),
	at("finished", "FINISHED", func(s *api.Status) api.Time { return s.Finished }),
	at("ended", "ENDED", func(s *api.Status) api.Time { return s.Ended }),
	spanColumn("wait", "WAIT", waitOf),
	spanColumn("run", "RUN", runOf),
	{name: "exit", head: "EXIT", text: func(s *api.Status) string { return dash(exitText(s)) }},
	{name: "reason", head: "REASON", text: func(s *api.Status) string { return dash(s.Reason) }},
}

func at(name, head string, of func(*api.Status) api.Time) column {
	return column{name, head, func(s *api.Status) string { return soon(now(), of(s)) }, func(s *api.Status) float64 { return float64(of(s)) }}
}

func spanColumn(name, head string, of func(*api.Status) api.Time) column {
	return column{name, head, func(s *api.Status) string {
		if of(s) < 0 {
			return "-"
		}
		return rough((time.Duration(of(s)) * time.Millisecond).Round(time.Second))
	}, func(s *api.Status) float64 { return float64(of(s)) }}
}

func now() api.Time { return instant(time.Now()) }

// startOf is when a job has started, or is to.
func startOf(s *api.Status) api.Time {
	if s.Started != 0 || s.Terminal() {
		return s.Started
	}
	return s.StartEstimateNow
}

// waitOf is how long a job has waited for its start, in milliseconds; -1 where it never started, and of a sweep, whose jobs
// have each waited for theirs.
func waitOf(s *api.Status) api.Time {
	_, sweep := grid.ParseGroupID(string(s.ID))
	switch {
	case sweep == nil:
		return -1
	case s.Started != 0:
		return max(0, s.Started-s.Submitted)
	case s.Terminal():
		return -1
	}
	return max(0, now()-s.Submitted)
}

// runOf is how long a job has run; -1 where it has not started.
func runOf(s *api.Status) api.Time {
	switch {
	case s.Started == 0:
		return -1
	case s.Finished != 0:
		return max(0, s.Finished-s.Started)
	case s.Terminal():
		return -1
	}
	return max(0, now()-s.Started)
}

func columnNames() (names []string) {
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

// columnOf is the column that has a name, or that as its head.
func columnOf(flag, name string) (column, error) {
	k := slices.IndexFunc(columns, func(c column) bool { return c.name == name || strings.EqualFold(c.head, name) })
	if k < 0 {
		return column{}, cli.BadUsage("%s: there is no column %.40q; there are %s", flag, name, strings.Join(columnNames(), ", "))
	}
	return columns[k], nil
}

// columnsOf are those that were named; none are the usual ones.
func columnsOf(names []string) (list []column, err error) {
	for _, name := range names {
		c, err := columnOf("--columns", strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// usualColumns fit into 80; the users are shown where they are several.
func usualColumns(jobs []api.Status) (list []column) {
	names := []string{"id", "name", "state", "site", "submitted", "exit"}
	if slices.ContainsFunc(jobs, func(s api.Status) bool { return s.User != jobs[0].User }) {
		names = slices.Insert(names, 2, "user")
	}
	list, _ = columnsOf(names)
	return list
}

// orderOf compares jobs by a column; nil leaves them as they come.
func orderOf(name string) (func(a, b api.Status) int, error) {
	if name == "" {
		return nil, nil
	}
	rest, down := strings.CutPrefix(name, "-")
	c, err := columnOf("--sort", rest)
	if err != nil {
		return nil, err
	}
	return func(a, b api.Status) int {
		if down {
			a, b = b, a
		}
		if c.value != nil {
			return cmp.Compare(c.value(&a), c.value(&b))
		}
		return cmp.Compare(c.text(&a), c.text(&b))
	}, nil
}
