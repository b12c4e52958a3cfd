package main

import (
	"fmt"
	"slices"
	"strings"

	"gbroker/grid"
)

// line is one of the ledger, written by a job's program.
type line struct {
	What string // start, end
	Job  string // its name
	PID  int
	At   grid.Tick
}

// readLedger reads all lines; one that cannot be read is a finding.
func readLedger(text string) (lines []line, findings []string) {
	for row := range strings.Lines(text) {
		var l line
		n, err := fmt.Sscanf(row, "%s %s %d %d\n", &l.What, &l.Job, &l.PID, (*int64)(&l.At))
		if err != nil || n != 4 || l.What != "start" && l.What != "end" {
			findings = append(findings, fmt.Sprintf("the ledger has a line %q", row))
			continue
		}
		lines = append(lines, l)
	}
	return lines, findings
}

// view is what one broker says of one job.
type view struct {
	Site    string // whose broker it is
	Job     grid.JobID
	State   grid.State
	Owner   string
	Started grid.Tick
	Ended   grid.Tick
	Exit    int // valid if HasExit
	HasExit bool
	Signal  int
	Reason  string
}

// outcome is what a user reads of an end.
func (v view) outcome() string {
	s := v.State.String()
	if v.HasExit {
		s += fmt.Sprintf(" with %d", v.Exit)
	}
	return s
}

// kept is a record of a journal, read after its daemon was stopped.
type kept struct {
	Site    string
	Job     grid.JobID
	State   grid.State
	Role    grid.Role
	Handoff grid.HandoffPhase
	Started grid.Tick
}

// evidence is all that is known at the end of a run.
type evidence struct {
	Work      []work
	IDs       map[string]grid.JobID // by the job's name; those that were accepted
	Lines     []line
	Told      []view   // ends as users read them at the home while the run went on
	Views     []view   // what every broker says at the end
	Kept      []kept   // what every journal holds
	Outputs   []string // names of jobs that brought their file back whole
	Processes []string // that are still there
	Files     []string // that are still there
	Ledger    []string // lines that cannot be read
	Daemons   []string // that ended by themselves
	Unsettled []string // what had not ended, or was not agreed on, when time was up
	Findings  []string // of users and of the script: what was never answered
}

// check holds the evidence against what must be true whatever happened. It gives
// one line for each breach.
func check(e evidence) []string {
	c := &checker{evidence: e, homes: map[grid.JobID]view{}, names: map[grid.JobID]work{}}
	c.jobs()
	for _, w := range e.Work {
		if id, ok := e.IDs[w.Name]; ok {
			c.ends(w, c.homes[id])
			c.starts(w, c.homes[id])
		}
	}
	c.strangers()
	c.told()
	c.agreement()
	c.settled()
	for _, left := range []struct {
		what string
		list []string
	}{
		{"left running", e.Processes}, {"left lying about", e.Files}, {"of the ledger", e.Ledger}, {"a daemon", e.Daemons},
		{"not settled", e.Unsettled}, {"found", e.Findings},
	} {
		for _, l := range left.list {
			c.breach("%s: %s", left.what, l)
		}
	}
	return c.breaches
}

type checker struct {
	evidence
	homes    map[grid.JobID]view // what the home says
	names    map[grid.JobID]work
	breaches []string
}

func (c *checker) breach(format string, args ...any) {
	c.breaches = append(c.breaches, fmt.Sprintf(format, args...))
}

// jobs: each submission was answered, each key made one job of its own, and its
// home knows it.
func (c *checker) jobs() {
	for _, w := range c.Work {
		id, ok := c.IDs[w.Name]
		if !ok {
			c.breach("%s was never accepted", w.Name)
			continue
		}
		if other, twice := c.names[id]; twice {
			c.breach("%s and %s are one job, %s", other.Name, w.Name, id)
		}
		c.names[id] = w
	}
	for _, v := range c.Views {
		w, ours := c.names[v.Job]
		switch {
		case !ours:
			c.breach("%s knows a job %s that nobody was told of", v.Site, v.Job)
		case v.Site == w.Home:
			c.homes[v.Job] = v
		}
	}
	for id, w := range c.names {
		if _, ok := c.homes[id]; !ok {
			c.breach("%s (%s) is not known at its home %s", w.Name, id, w.Home)
		}
	}
}

// may lists how a job of each kind may end.
var may = map[kind][]string{
	plain:     {"COMPLETED with 0"},
	failing:   {fmt.Sprintf("COMPLETED with %d", failingCode)},
	withFiles: {"COMPLETED with 0"},
	tooLong:   {"CANCELLED_WALLTIME"},
	neverRuns: {"FAILED"},
	cancelled: {"KILLED", "COMPLETED with 0"},
}

// ends: the job has ended as it had to.
func (c *checker) ends(w work, v view) {
	outcome := v.outcome()
	if v.State == grid.Killed || v.State == grid.CancelledWalltime {
		outcome = v.State.String() // the exit status is that of the signal
	}
	if !slices.Contains(may[w.Kind], outcome) {
		c.breach("%s (%s, %s) at %s is %s, not %s: %s", w.Name, w.Kind, v.Job, v.Owner, v.outcome(), strings.Join(may[w.Kind], " or "), v.Reason)
	}
	if w.Kind == withFiles && v.State == grid.Completed && !slices.Contains(c.Outputs, w.Name) {
		c.breach("%s (%s) has not brought its file home", w.Name, v.Job)
	}
}

// starts: a job has started once, unless it was ended before or could not, and has
// ended once, unless it was ended.
func (c *checker) starts(w work, v view) {
	var starts, ends []line
	for _, l := range c.Lines {
		switch {
		case l.Job != w.Name:
		case l.What == "start":
			starts = append(starts, l)
		default:
			ends = append(ends, l)
		}
	}
	say := func(what string) {
		c.breach("%s (%s, %s, %s) %s: starts %v, ends %v", w.Name, w.Kind, v.Job, v.outcome(), what, starts, ends)
	}
	ran := v.State == grid.Completed || v.State == grid.CancelledWalltime
	switch {
	case len(starts) > 1:
		say("started more than once")
	case len(starts) == 0 && ran:
		say("never started")
	case len(starts) > 0 && v.State == grid.Failed:
		say("could not be run, and has started")
	}
	switch {
	case len(ends) > 1:
		say("ended more than once")
	case len(ends) == 0 && v.State == grid.Completed:
		say("has no end")
	case len(ends) > 0 && (len(starts) == 0 || ends[0].PID != starts[0].PID || ends[0].At < starts[0].At):
		say("has an end that is not of its start")
	}
	if v.State == grid.Killed && len(starts) > 0 && starts[len(starts)-1].At > v.Ended {
		say(fmt.Sprintf("started after it was KILLED at %d", v.Ended))
	}
}

// strangers: every line is of a job that was accepted.
func (c *checker) strangers() {
	for _, l := range c.Lines {
		if _, ok := c.IDs[l.Job]; !ok {
			c.breach("the ledger has a line of %s, which nobody was told of: %v", l.Job, l)
		}
	}
}

// told: an end that a user has read is not unsaid.
func (c *checker) told() {
	for _, t := range c.Told {
		if v := c.homes[t.Job]; v.outcome() != t.outcome() {
			c.breach("%s (%s) was told to be %s and is %s", c.names[t.Job].Name, t.Job, t.outcome(), v.outcome())
		}
	}
}

// agreement: every broker that knows a job says of it what its home says.
func (c *checker) agreement() {
	for _, v := range c.Views {
		h, ok := c.homes[v.Job]
		if !ok {
			continue
		}
		if !v.State.Terminal() {
			c.breach("%s says that %s (%s) is %s", v.Site, c.names[v.Job].Name, v.Job, v.State)
		}
		if v.outcome() != h.outcome() || v.Owner != h.Owner {
			c.breach("%s says that %s (%s) is %s at %s; its home %s says %s at %s", v.Site, c.names[v.Job].Name, v.Job, v.outcome(), v.Owner, h.Site, h.outcome(), h.Owner)
		}
	}
}

// settled: nothing is under way in any journal.
func (c *checker) settled() {
	for _, k := range c.Kept {
		open := k.Handoff != grid.NoHandoff || k.Role == grid.Prepared
		if k.Role == grid.Owning || k.Role == grid.Watching || k.Started != 0 {
			open = open || !k.State.Terminal()
		}
		if open {
			c.breach("the journal of %s leaves %s (%s) %v as %v, handoff %d", k.Site, c.names[k.Job].Name, k.Job, k.State, k.Role, k.Handoff)
		}
	}
}
