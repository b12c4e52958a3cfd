package script

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

var update = flag.Bool("update", false, "write the golden files, and the tables of docs/jobs.md, anew")

// noon is when all scripts of the tests are handed in, by a user two hours east of Greenwich.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.FixedZone("", 7200))

// beside is what stands beside them.
func options() Options {
	return Options{Now: noon, User: "alice", Environ: func(name string) (string, bool) {
		value, set := map[string]string{"HOSTTYPE": "x86_64", "MODE": "fast"}[name]
		return value, set
	}}
}

// told is a job as its golden file has it: a line for all that is not zero.
func told(s *Script) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		if text := strings.TrimSpace(fmt.Sprintf(format, args...)); text != "" {
			fmt.Fprintf(&b, "%-9s %s\n", name, text)
		}
	}
	when := func(name string, t grid.Tick) {
		if t != 0 {
			line(name, "%s", t.Time().UTC().Format(time.RFC3339))
		}
	}
	j := &s.Job
	p := &j.Program
	line("dialect", "%s", p.Dialect)
	line("name", "%s", j.Name)
	line("program", "%s", strings.Join(append([]string{p.Executable}, p.Arguments...), " "))
	line("in", "%s", p.Directory)
	line("output", "%s", p.Output)
	line("error", "%s", p.Error)
	for _, c := range j.Demand.Chunks {
		line("pieces", "%d x %d processes on %d cores", c.Count, c.Processes, c.Cores)
		if c.Memory > 0 {
			line("", "  with %d MiB", c.Memory>>20)
		}
		for _, r := range c.Resources {
			line("", "  with %d %s", r.Amount, r.Name)
		}
	}
	if j.Demand.DistinctNodes {
		line("nodes", "distinct")
	}
	if j.Demand.Exclusive {
		line("nodes", "exclusive")
	}
	line("having", "%s", strings.Join(j.Demand.Properties, " "))
	if j.Demand.Disk > 0 {
		line("disk", "%d MiB", j.Demand.Disk>>20)
	}
	if j.Walltime > 0 {
		line("walltime", "%s", j.Walltime.Duration())
	}
	for _, l := range p.Limits {
		line("limit", "%s %d", l.Name, l.Value)
	}
	line("queue", "%s", j.Queue)
	line("account", "%s", j.Account)
	line("notes", "%s", strings.Join(j.About.Annotations, "; "))
	if j.Rerunnable {
		line("again", "yes")
	}
	when("from", j.Terms.NotBefore)
	when("by", j.Terms.Deadline)
	if j.Terms.Held {
		line("held", "yes")
	}
	if j.Terms.Priority != 0 {
		line("priority", "%d", j.Terms.Priority)
	}
	for _, d := range j.Terms.After {
		line("after", "%s %s", d.Kind, d.On)
	}
	for _, n := range j.Terms.Notify {
		line("notify", "%s %s", n.When, n.To)
	}
	if w := j.Warning; w.Signal != 0 {
		line("signal", "%d %s before, the shell alone %t", w.Signal, w.Before.Duration(), w.Leader)
	}
	if s.Array != nil {
		line("array", "%v at once %d", s.Array.Indexes, s.Array.Throttle)
	}
	for _, v := range p.Environment {
		line("set", "%s=%s", v.Name, v.Value)
	}
	for _, w := range s.Warnings {
		line("warning", "%d:%d: %s", w.Line, w.Col, w.Message)
	}
	return b.String()
}

// Each script of testdata is the job, or has the mistakes, that its golden file says.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.sh")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if s, err := Parse(filepath.Base(file), text, options()); err != nil {
			got = err.Error() + "\n"
		} else {
			got = told(s)
		}
		golden := strings.TrimSuffix(file, ".sh") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); string(want) != got {
			t.Errorf("%s is\n%s\nnot\n%s(%v)", file, got, want, err)
		}
	}
}
