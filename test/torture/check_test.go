package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
)

// good is a run of two sites in which everything went well: a job of each kind, and
// one that was killed before its start.
func good() evidence {
	e := evidence{IDs: map[string]grid.JobID{}}
	add := func(w work, state grid.State, exit int, started, ended grid.Tick) {
		w.Home = "s0"
		id := grid.JobID("s0." + w.Name)
		e.Work = append(e.Work, w)
		e.IDs[w.Name] = id
		for _, site := range []string{"s0", "s1"} {
			v := view{Site: site, Job: id, State: state, Owner: "s1", Exit: exit, HasExit: started > 0, Started: started, Ended: ended}
			e.Views = append(e.Views, v)
			e.Kept = append(e.Kept, kept{Site: site, Job: id, State: state, Role: grid.Watching, Started: started})
		}
		e.Told = append(e.Told, e.Views[len(e.Views)-2])
		pid := 100 + len(e.Work)
		if started > 0 {
			e.Lines = append(e.Lines, line{"start", w.Name, pid, started})
		}
		if started > 0 && state == grid.Completed {
			e.Lines = append(e.Lines, line{"end", w.Name, pid, ended})
		}
	}
	add(work{Name: "plain", Kind: plain}, grid.Completed, 0, 10, 20)
	add(work{Name: "failing", Kind: failing}, grid.Completed, failingCode, 10, 20)
	add(work{Name: "files", Kind: withFiles}, grid.Completed, 0, 10, 20)
	add(work{Name: "long", Kind: tooLong}, grid.CancelledWalltime, 143, 10, 20)
	add(work{Name: "never", Kind: neverRuns}, grid.Failed, 0, 0, 20)
	add(work{Name: "early", Kind: cancelled}, grid.Killed, 0, 0, 20)
	add(work{Name: "late", Kind: cancelled}, grid.Killed, 143, 10, 20)
	add(work{Name: "missed", Kind: cancelled}, grid.Completed, 0, 10, 20)
	e.Outputs = []string{"files"}
	return e
}

func TestCheckerIsContent(t *testing.T) {
	t.Parallel()
	if b := check(good()); len(b) > 0 {
		t.Errorf("a good run has breaches:\n%s", strings.Join(b, "\n"))
	}
}

// at finds the first line of a job in the ledger of e.
func at(e *evidence, what, job string) int {
	return slices.IndexFunc(e.Lines, func(l line) bool { return l.What == what && l.Job == job })
}

// change applies f to what every broker says of a job, the home alone first.
func change(e *evidence, job string, f func(*view)) {
	for i := range e.Views {
		if e.Views[i].Job == e.IDs[job] {
			f(&e.Views[i])
		}
	}
	e.Told = nil
}

// Each fault that is planted must be found, by the rule that is there for it.
func TestCheckerFinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plant func(*evidence)
		want  string
	}{
		"a doubled line": {func(e *evidence) { e.Lines = append(e.Lines, e.Lines[at(e, "start", "plain")]) }, "plain * started more than once"},
		"a second start": {func(e *evidence) { e.Lines = append(e.Lines, line{"start", "late", 999, 15}) }, "late * started more than once"},
		"a second start of a job that may be run again": {func(e *evidence) {
			e.Work[0].Rerunnable = true
			e.Lines = append(e.Lines, line{"start", "plain", 999, 15})
		}, "plain * started more than once"},
		"a missing start": {func(e *evidence) {
			e.Lines = slices.Delete(e.Lines, at(e, "start", "long"), at(e, "start", "long")+1)
		}, "long * never started"},
		"a missing end":           {func(e *evidence) { e.Lines = slices.Delete(e.Lines, at(e, "end", "files"), at(e, "end", "files")+1) }, "files * has no end"},
		"a second end":            {func(e *evidence) { e.Lines = append(e.Lines, e.Lines[at(e, "end", "plain")]) }, "plain * ended more than once"},
		"an end of another run":   {func(e *evidence) { e.Lines[at(e, "end", "plain")].PID = 999 }, "plain * has an end that is not of its start"},
		"an end before the start": {func(e *evidence) { e.Lines[at(e, "end", "plain")].At = 9 }, "plain * has an end that is not of its start"},
		"an end without a start":  {func(e *evidence) { e.Lines = append(e.Lines, line{"end", "early", 999, 15}) }, "early * has an end that is not of its start"},
		"a start after KILLED":    {func(e *evidence) { e.Lines = append(e.Lines, line{"start", "early", 999, 21}) }, "early * started after it was KILLED at 20"},
		"a start of a failed job": {func(e *evidence) { e.Lines = append(e.Lines, line{"start", "never", 999, 15}) }, "never * could not be run, and has started"},
		"a line of a stranger":    {func(e *evidence) { e.Lines = append(e.Lines, line{"start", "who", 999, 15}) }, "the ledger has a line of who*"},
		"a left-over process":     {func(e *evidence) { e.Processes = []string{"4711 sleep"} }, "left running: 4711 sleep"},
		"a left-over folder":      {func(e *evidence) { e.Files = []string{"s1 keeps a sandbox"} }, "left lying about: s1 keeps a sandbox"},
		"an unreadable line":      {func(e *evidence) { _, e.Ledger = readLedger("start plain x\n") }, "of the ledger: *"},
		"a daemon that gave up":   {func(e *evidence) { e.Daemons = []string{"s1 ended"} }, "a daemon: s1 ended"},
		"a run without an end":    {func(e *evidence) { e.Unsettled = []string{"x"} }, "not settled: x"},
		"a user without answer":   {func(e *evidence) { e.Findings = []string{"x"} }, "found: x"},
		"a job nobody has":        {func(e *evidence) { delete(e.IDs, "never") }, "never was never accepted"},
		"one job for two keys":    {func(e *evidence) { e.IDs["failing"] = e.IDs["plain"] }, "plain and failing are one job*"},
		"a job of nobody":         {func(e *evidence) { e.Views = append(e.Views, view{Site: "s1", Job: "s0.x", State: grid.Killed}) }, "s1 knows a job s0.x*"},
		"a home that forgot": {func(e *evidence) {
			e.Views = slices.DeleteFunc(e.Views, func(v view) bool { return v.Job == "s0.plain" && v.Site == "s0" })
		}, "plain * is not known at its home s0"},
		"a job that is lost":      {func(e *evidence) { change(e, "plain", func(v *view) { v.State = grid.Lost }) }, "plain * is LOST with 0, not COMPLETED with 0*"},
		"a job that goes on":      {func(e *evidence) { change(e, "late", func(v *view) { v.State = grid.Running }) }, "s1 says that late * is RUNNING"},
		"another exit status":     {func(e *evidence) { change(e, "failing", func(v *view) { v.Exit = 1 }) }, "failing * is COMPLETED with 1, not COMPLETED with 3*"},
		"an end that was unsaid":  {func(e *evidence) { e.Told[0].State = grid.Killed }, "plain * was told to be KILLED with 0 and is COMPLETED with 0"},
		"another state elsewhere": {func(e *evidence) { e.Views[1].State = grid.Killed }, "s1 says that plain * is KILLED with 0 at s1; its home *"},
		"another owner elsewhere": {func(e *evidence) { e.Views[1].Owner = "s0" }, "s1 says that plain * at s0; its home *"},
		"an output that is gone":  {func(e *evidence) { e.Outputs = nil }, "files * has not brought its file home"},
		"an open handoff":         {func(e *evidence) { e.Kept[1].Handoff = grid.Committed }, "the journal of s1 leaves plain *"},
		"a copy that waits":       {func(e *evidence) { e.Kept[1].Role = grid.Prepared }, "the journal of s1 leaves plain *"},
		"a record that runs":      {func(e *evidence) { e.Kept[1].State = grid.Running }, "the journal of s1 leaves plain *"},
		"a tombstone that ran on": {func(e *evidence) { e.Kept[1].State, e.Kept[1].Role = grid.Running, grid.Tombstone }, "the journal of s1 leaves plain *"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := good()
			c.plant(&e)
			breaches := check(e)
			if !slices.ContainsFunc(breaches, func(b string) bool { return matches(c.want, b) }) {
				t.Errorf("no breach %q in\n%s", c.want, strings.Join(breaches, "\n"))
			}
		})
	}
}

// matches compares with a pattern in which * stands for any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	for _, p := range parts[1:] {
		k := strings.Index(text, strings.TrimSpace(p))
		if k < 0 {
			return false
		}
		text = text[k+len(strings.TrimSpace(p)):]
	}
	return len(parts) > 1 || text == pattern
}

// A tombstone of a former owner that never ran the job may keep any state.
func TestCheckerKnowsTombstones(t *testing.T) {
	t.Parallel()
	e := good()
	e.Kept = append(e.Kept, kept{Site: "s0", Job: e.IDs["plain"], State: grid.Moving, Role: grid.Tombstone})
	if b := check(e); len(b) > 0 {
		t.Errorf("a tombstone is a breach: %v", b)
	}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	lines, wrong := readLedger("start a 12 1700000000123\nend a 12 1700000000999\n")
	want := []line{{"start", "a", 12, 1700000000123}, {"end", "a", 12, 1700000000999}}
	if !slices.Equal(lines, want) || len(wrong) > 0 {
		t.Errorf("%v, %v", lines, wrong)
	}
	for _, bad := range []string{"start a 12\n", "begin a 12 13\n", "\n", "start a 12 13x"} {
		if _, wrong := readLedger(bad); len(wrong) != 1 {
			t.Errorf("%q: %s", bad, fmt.Sprint(wrong))
		}
	}
}
