package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/jsdl"
	"gbroker/jsdl/sweep"
	"gbroker/pool"
)

// Variables of a part of a range: its first number, and its last.
const (
	firstVariable = "RANGE_FIRST"
	lastVariable  = "RANGE_LAST"
)

// divided is the rule by which a range is cut. Pools tell what like computers have on average, of which a part may find less: a third more work would be in time.
var divided = pool.Rule{Margin: 1.0 / 3}

// mostParts bounds the jobs of a range: their document is one.
const mostParts = 5_000

// numbers are a range of work that can be divided anywhere.
type numbers struct{ first, last int64 }

func (n numbers) count() int64   { return n.last - n.first + 1 }
func (n numbers) String() string { return fmt.Sprintf("%d-%d", n.first, n.last) }

func parseNumbers(text string) (n numbers, err error) {
	first, last, _ := strings.Cut(text, "-")
	if n.first, err = strconv.ParseInt(first, 10, 64); err == nil {
		n.last, err = strconv.ParseInt(last, 10, 64)
	}
	if err != nil || n.last < n.first || n.last >= 1<<53 {
		return n, cli.BadUsage("--range %s: write the first number and the last, as 1-100000", text)
	}
	return n, nil
}

// divide makes the job of a document a sweep of the parts of a range, which all would end by its deadline on the computers that pools tell of.
func (d *document) divide(ctx context.Context, c *api.Client, text, file string) (told string, err error) {
	n, err := parseNumbers(text)
	if err != nil {
		return "", err
	}
	job := &d.parsed.Job
	switch {
	case d.sweep != nil:
		return "", cli.BadUsage("--range makes a sweep of one job, and %s is a sweep already", file)
	case job.Coallocation != nil:
		return "", cli.BadUsage("--range makes jobs that run at one site each: leave --sites-at-most and Coallocation out")
	case job.Walltime == 0 || job.Terms.Deadline == 0:
		return "", cli.BadUsage("--range cuts what must end in time: %s has to say its deadline, and as its walltime how long the whole range takes on one computer", file)
	}
	sites, err := c.Sites(ctx)
	if err != nil {
		return "", err
	}
	now := grid.InstantOf(time.Now())
	computers := foretold(now, sites, job)
	parts, err := n.cut(now, computers, job)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s in %d parts, by what pools foresee of %d places for such jobs", n, len(parts), len(computers)), d.become(parts, file)
}

// foretold is what pools tell of computers for a job.
func foretold(now grid.Tick, sites []api.Site, job *grid.Job) (computers []pool.Computer) {
	for _, s := range sites {
		var list []grid.Cohort
		for _, g := range s.Groups {
			list = append(list, grid.Cohort(g))
		}
		computers = append(computers, pool.OfCohorts(now, list, &job.Demand)...)
	}
	return computers
}

// share is a part of a range, and its walltime.
type share struct {
	numbers
	walltime int64 // seconds
}

// cut divides a range; the error says how much of it would be done in time.
func (n numbers) cut(now grid.Tick, computers []pool.Computer, job *grid.Job) (parts []share, err error) {
	if len(computers) == 0 {
		return nil, fmt.Errorf("%w: no pool tells of computers that could run it, and by these a range is cut: gclient sites --json shows the groups of each pool", grid.ErrInvalid)
	}
	work := job.Walltime.Seconds()
	of := pool.Range{Work: work, Units: int(n.count()), MostParts: mostParts}
	made, ok := divided.Cut(now, computers, &pool.Job{Deadline: job.Terms.Deadline}, of)
	if !ok {
		most := divided.Most(now, computers, &pool.Job{Deadline: job.Terms.Deadline}, of)
		return nil, fmt.Errorf("%w: %s cannot be done by %s: the computers of which pools tell (%d places for such a job) would do %d of its %d numbers; give it more time, or fewer",
			grid.ErrInvalid, n, job.Terms.Deadline.Time().Local().Format("2006-01-02 15:04:05"), len(computers), most, n.count())
	}
	slices.SortFunc(made, func(a, b pool.Part) int { return cmp.Compare(a.First, b.First) })
	for _, p := range made {
		units := int64(p.Last - p.First + 1)
		parts = append(parts, share{numbers{n.first + int64(p.First), n.first + int64(p.Last)}, int64(math.Ceil(work * float64(units) / float64(n.count())))})
	}
	return parts, nil
}

// become makes the document a sweep of the parts of its job.
func (d *document) become(parts []share, file string) (err error) {
	job := &d.parsed.Job
	p := &job.Program
	p.Environment = replaced(p.Environment, firstVariable, lastVariable)
	job.Walltime = grid.Tick(parts[0].walltime) * grid.Second
	const end = "</JobDefinition>"
	head, _, _ := strings.Cut(string(jsdl.Print(job, d.parsed.Staging)), end)
	d.text = []byte(head + sweepOf(parts) + end + "\n")
	d.sweep, err = sweep.Read(file, d.text, 0)
	return err
}

// replaced are variables, with some that have a value for each part.
func replaced(list []grid.Variable, names ...string) (out []grid.Variable) {
	for _, v := range list {
		if v.Name != names[0] && v.Name != names[1] {
			out = append(out, v)
		}
	}
	for _, name := range names {
		out = append(out, grid.Variable{Name: name, Value: "0"})
	}
	return out
}

// sweepOf is the Sweep of some parts.
func sweepOf(parts []share) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  <sweep:Sweep xmlns:sweep=%q xmlns:functions=%q>\n", sweep.Namespace, sweep.Functions)
	assign := func(path string, value func(share) int64) {
		fmt.Fprintf(&b, "    <sweep:Assignment>\n      <sweep:DocumentNode>\n        <sweep:NamespaceBinding prefix=\"posix\" ns=%q/>\n        <sweep:Match>//posix:%s</sweep:Match>\n      </sweep:DocumentNode>\n      <functions:Values>\n", jsdl.POSIX, path)
		for _, p := range parts {
			fmt.Fprintf(&b, "        <functions:Value>%d</functions:Value>\n", value(p))
		}
		b.WriteString("      </functions:Values>\n    </sweep:Assignment>\n")
	}
	assign("Environment[@name='"+firstVariable+"']", func(p share) int64 { return p.first })
	assign("Environment[@name='"+lastVariable+"']", func(p share) int64 { return p.last })
	assign("WallTimeLimit", func(p share) int64 { return p.walltime })
	b.WriteString("  </sweep:Sweep>\n")
	return b.String()
}
