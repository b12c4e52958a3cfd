package main

import (
	"fmt"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/internal/cli"
)

// understood is what `validate --json` prints of a job besides what it asks for.
type understood struct {
	Executable  string            `json:"executable"`
	Arguments   []string          `json:"arguments,omitempty"`
	Input       string            `json:"input,omitempty"`
	Output      string            `json:"output,omitempty"`
	Error       string            `json:"error,omitempty"`
	Directory   string            `json:"directory,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	Parallel    string            `json:"parallel,omitempty"`
	Limits      []grid.Limit      `json:"limits,omitempty"` // in bytes, seconds or counts
	Account     string            `json:"account,omitempty"`
	Rerunnable  bool              `json:"rerunnable,omitempty"`
	Only        []grid.SiteName   `json:"only,omitempty"`
	Not         []grid.SiteName   `json:"not,omitempty"`
	Prefer      []grid.SiteName   `json:"prefer,omitempty"`
	NotBefore   *time.Time        `json:"not_before,omitempty"`
	Deadline    *time.Time        `json:"deadline,omitempty"`
	Priority    int               `json:"priority,omitempty"`
	Held        bool              `json:"held,omitempty"`
	After       []string          `json:"after,omitempty"` // as in afterok:ID
	Fee         int64             `json:"fee,omitempty"`
	Notify      []string          `json:"notify,omitempty"` // as in end:mailto:NAME@HOST
	Signal      int               `json:"signal,omitempty"`
	BeforeS     float64           `json:"signal_before_s,omitempty"`
	Sources     []source          `json:"sources,omitempty"`
	Bring       []bringing        `json:"bring,omitempty"`
	Description string            `json:"description,omitempty"`
	Application string            `json:"application,omitempty"`
	Version     string            `json:"version,omitempty"`
	Annotations []string          `json:"annotations,omitempty"`
	Projects    []string          `json:"projects,omitempty"`
}

// source is a file that the site fetches.
type source struct {
	Path string `json:"path"`
	URI  string `json:"uri"`
	Flag string `json:"creation_flag"`
}

// bringing is a pattern of files that come back.
type bringing struct {
	Pattern string `json:"pattern"`
	Bytes   int64  `json:"bytes"`
}

func understand(j *grid.Job) *understood {
	p, t := &j.Program, &j.Terms
	u := &understood{
		Executable: p.Executable, Arguments: p.Arguments, Input: p.Input, Output: p.Output, Error: p.Error, Directory: p.Directory,
		Parallel: p.Parallel, Limits: p.Limits, Account: j.Account, Rerunnable: j.Rerunnable,
		Only: j.Sites.Only, Not: j.Sites.Not, Prefer: j.Sites.Prefer,
		NotBefore: moment(t.NotBefore), Deadline: moment(t.Deadline), Priority: t.Priority, Held: t.Held, Fee: t.Fee,
		Signal: j.Warning.Signal, BeforeS: j.Warning.Before.Seconds(),
		Description: j.About.Description, Application: j.About.Application, Version: j.About.Version,
		Annotations: j.About.Annotations, Projects: j.About.Projects,
	}
	if len(p.Environment) > 0 {
		u.Environment = make(map[string]string, len(p.Environment))
	}
	for _, v := range p.Environment {
		u.Environment[v.Name] = v.Value
	}
	for _, d := range t.After {
		u.After = append(u.After, strings.TrimSuffix(string(d.Kind)+":"+d.On, ":"))
	}
	for _, n := range t.Notify {
		u.Notify = append(u.Notify, string(n.When)+":"+n.To)
	}
	for _, s := range j.Sources {
		u.Sources = append(u.Sources, source{s.Path, s.URI, s.Flag.String()})
	}
	for _, b := range j.Bring {
		u.Bring = append(u.Bring, bringing{b.Pattern, b.Most()})
	}
	return u
}

func moment(at grid.Tick) *time.Time {
	if at == 0 {
		return nil
	}
	t := at.Time()
	return &t
}

// limitText is the value of a limit in its unit.
func limitText(l grid.Limit) string {
	switch l.Name {
	case grid.LimitCPU:
		return span(float64(l.Value))
	case grid.LimitFiles, grid.LimitThreads:
		return fmt.Sprint(l.Value)
	}
	return grid.FormatSize(l.Value)
}

// lines tells it in words, one line each, but for the program.
func (u *understood) lines(line func(name, value string)) {
	names := func(name string, list []grid.SiteName) {
		words := make([]string, len(list))
		for i, s := range list {
			words[i] = string(s)
		}
		line(name, strings.Join(words, ", "))
	}
	for _, l := range u.Limits {
		line("limit", string(l.Name)+" "+limitText(l))
	}
	line("account", u.Account)
	names("only at", u.Only)
	names("not at", u.Not)
	names("rather at", u.Prefer)
	when := func(name string, at *time.Time) {
		if at != nil {
			line(name, at.Local().Format("2006-01-02 15:04:05 MST"))
		}
	}
	when("not before", u.NotBefore)
	when("must end by", u.Deadline)
	if u.Priority != 0 {
		line("priority", fmt.Sprint(u.Priority))
	}
	if u.Fee != 0 {
		line("fee", fmt.Sprint(u.Fee))
	}
	if u.Held {
		line("held", "until it is released")
	}
	line("waits", strings.Join(u.After, ", "))
	line("tells", strings.Join(u.Notify, ", "))
	if u.Signal != 0 {
		line("signal", fmt.Sprintf("%d, %s before the limit", u.Signal, span(u.BeforeS)))
	}
	for _, s := range u.Sources {
		line("fetched", s.Path+" from "+s.URI)
	}
	for _, b := range u.Bring {
		called := " and is called like " + b.Pattern
		if b.Pattern == grid.Everything.Pattern {
			called = ""
		}
		line("comes back", fmt.Sprintf("what it makes or changes%s, up to %s", called, cli.Size(b.Bytes)))
	}
	line("application", strings.TrimSpace(u.Application+" "+u.Version))
	line("description", u.Description)
	line("annotations", strings.Join(u.Annotations, ", "))
	line("projects", strings.Join(u.Projects, ", "))
}
