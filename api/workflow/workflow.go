// Package workflow reads files of workflows: YAML of our own, and the JSON of WfCommons, versions 1.4 and 1.5, as it is.
//
// A workflow of ours:
//
//	workflow: 1                    # the version of this form
//	name: words
//	retries: 2                     # of a rerunnable task that has failed; 0 if it is not said
//	periodic: {rate: 2, per: 1s, count: 240, deadline: 3s}   # again and again; per, count, deadline and reserve may be left out
//	                               # or {folder: incoming, as: text.txt}: for each file that appears in a folder at the home
//	tasks:
//	  - name: split
//	    command: [sh, -c, "split -n 2 text.txt part."]
//	    inputs: [text.txt]         # beside this file, or outputs of other tasks
//	    outputs: [part.aa, part.ab]
//	    runtime: 20s               # about, on a machine of speed 1
//	  - name: count
//	    script: count.sh           # with #SBATCH or #PBS lines, or without
//	    arguments: [part.aa]
//	    inputs: [part.aa]
//	    outputs: [{name: counts, size: 10MB}]   # about, for the plan
//	    cores: 2
//	    memory: 1GB
//	    walltime: 10m
//	    rerunnable: true
//	    configurations:              # of which the plan takes one; what one does not say is as the task says it
//	      - {name: cpu, cores: 8}
//	      - {name: gpu, cores: 1, resources: {gpu: 1}, runtime: 1m}
//	  - name: report
//	    jsdl: report.jsdl          # its Sources are inputs, its Targets outputs
//	    after: [count]             # an order without data
//
// Each task has one of command, script and jsdl. A file that two tasks leave may be the input of none.
// Whatever is not known is a mistake; each is told by line and column.
package workflow

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/internal/form"
	"gbroker/internal/near"
)

// Bounds of a workflow.
const (
	MaxFile  = 64 << 20
	maxTasks = 100_000
	// maxRetries is how often a task may be tried again.
	maxRetries = 100
)

// Workflow is what a file says.
type Workflow struct {
	Name    string
	Retries int
	Tasks   []Task
	Every   *Periodic // nil runs once

	file string
	at   where // nil: it was read from no file
}

// Task is one of a workflow.
type Task struct {
	Name       string
	Command    []string // or
	Script     string   // with Arguments, or
	JSDL       string
	Arguments  []string
	Inputs     []Data
	Outputs    []Data
	After      []string
	Cores      int   // 0 is not said
	Memory     int64 // bytes
	Resources  []grid.Resource
	Runtime    time.Duration // about, at speed 1
	Walltime   time.Duration
	Rerunnable bool
	// Configurations are the ways to run it, of which the plan takes one; none is that there is one, as said here.
	Configurations []Configuration
}

// Data is a file that a task needs or leaves.
type Data struct {
	Name string
	Size int64 // bytes, about; 0 is not known
}

// Read reads a workflow of either form.
func Read(file string, text []byte) (*Workflow, error) {
	if len(text) > MaxFile {
		return nil, &form.Mistake{File: file, Text: fmt.Sprintf("it has %d bytes: at most %d", len(text), MaxFile)}
	}
	read := readYAML
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		read = readWfCommons
	}
	w, at, err := read(file, text)
	if err != nil {
		return nil, err
	}
	w.file, w.at = file, at
	return w, w.check()
}

// where finds the line and column of a part of a file by its path, as tasks.3.name; of what holds it where that is not there.
type where func(path string) (line, column int)

// TaskPath is the path of a part of a task in the file; of the task itself with "".
func TaskPath(task int, part string) string {
	return strings.TrimSuffix(fmt.Sprintf("tasks.%d.%s", task, part), ".")
}

// Mistake is one at a path of the file that the workflow was read from.
func (w *Workflow) Mistake(path, format string, args ...any) error {
	m := &form.Mistake{File: w.file, Text: fmt.Sprintf(format, args...)}
	if w.at != nil {
		m.Line, m.Column = w.at(path)
	}
	return m
}

// check finds the first thing that makes no sense.
func (w *Workflow) check() error {
	if len(w.Tasks) == 0 || len(w.Tasks) > maxTasks {
		return w.Mistake("tasks", "it has %d tasks: write 1 to %d", len(w.Tasks), maxTasks)
	}
	number, err := w.numbers()
	if err != nil {
		return err
	}
	for i := range w.Tasks {
		if err := w.checkTask(i, number); err != nil {
			return err
		}
	}
	if err := w.checkResources(); err != nil {
		return w.Mistake("tasks", "%v", err)
	}
	if cycle := w.cycle(); len(cycle) > 0 {
		names := make([]string, len(cycle))
		for k, i := range cycle {
			names[k] = w.Tasks[i].Name
		}
		return w.Mistake(TaskPath(cycle[0], ""), "task %s needs itself: %s, each needs the one before", names[0], strings.Join(append(names, names[0]), ", "))
	}
	return nil
}

// numbers are the tasks by their names, which differ.
func (w *Workflow) numbers() (map[string]int, error) {
	number := map[string]int{}
	for i := range w.Tasks {
		name := w.Tasks[i].Name
		at := TaskPath(i, "name")
		switch first, twice := number[name]; {
		case name == "":
			return nil, w.Mistake(at, "the task has no name: write name: NAME")
		case len(name) > grid.MaxText || strings.ContainsAny(name, "\n\x00"):
			return nil, w.Mistake(at, "the name %.80q has several lines, or more than %d bytes", name, grid.MaxText)
		case twice:
			return nil, w.Mistake(at, "the name %.80q is that of task %d already: names differ", name, first+1)
		}
		number[name] = i
	}
	return number, nil
}

func (w *Workflow) checkTask(i int, number map[string]int) error {
	t := &w.Tasks[i]
	for k, name := range t.After {
		at := TaskPath(i, fmt.Sprintf("after.%d", k))
		if name == t.Name {
			return w.Mistake(at, "task %s comes after itself", t.Name)
		}
		if _, known := number[name]; !known {
			return w.Mistake(at, "task %s comes after %q, which is no other task%s", t.Name, name, w.meant(name))
		}
	}
	for part, list := range map[string][]Data{"inputs": t.Inputs, "outputs": t.Outputs} {
		for k, d := range list {
			if d.Name == "" || d.Size < 0 || len(d.Name) > grid.MaxPath {
				return w.Mistake(TaskPath(i, fmt.Sprintf("%s.%d", part, k)), "task %s has a file %.80q of %d bytes: a name, and no negative size", t.Name, d.Name, d.Size)
			}
		}
	}
	if err := t.checkWays(); err != nil {
		return w.Mistake(TaskPath(i, "configurations"), "%v", err)
	}
	return nil
}

// meant is a hint at the task that somebody meant who wrote another name.
func (w *Workflow) meant(name string) string {
	if len(w.Tasks) > 1000 {
		return ""
	}
	var names []string
	for i := range w.Tasks {
		names = append(names, w.Tasks[i].Name)
	}
	if word := near.Word(name, names...); word != "" {
		return fmt.Sprintf(": did you mean %q?", word)
	}
	return ""
}

// Edge is that a task needs another, with the amount of data.
type Edge struct {
	From, To int
	Size     int64
}

// Edges are those by files and those without data.
func (w *Workflow) Edges() (list []Edge) {
	maker, number := map[string]int{}, map[string]int{}
	size := map[string]int64{}
	for i := range w.Tasks {
		number[w.Tasks[i].Name] = i
		for _, d := range w.Tasks[i].Outputs {
			maker[d.Name] = i
			size[d.Name] = d.Size
		}
	}
	for i := range w.Tasks {
		from := map[int]int64{}
		for _, d := range w.Tasks[i].Inputs {
			if k, made := maker[d.Name]; made && k != i {
				from[k] += max(d.Size, size[d.Name], 1)
			}
		}
		for _, name := range w.Tasks[i].After {
			from[number[name]] += 0
		}
		for _, k := range slices.Sorted(maps.Keys(from)) {
			list = append(list, Edge{k, i, from[k]})
		}
	}
	return list
}

// cycle is tasks of which each needs the one before, and the first the last; none if there is no cycle.
func (w *Workflow) cycle() []int {
	left := make([]int, len(w.Tasks))
	next := make([][]int, len(w.Tasks))
	for _, e := range w.Edges() {
		left[e.To]++
		next[e.From] = append(next[e.From], e.To)
	}
	var ready []int
	for i, n := range left {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	for ; len(ready) > 0; ready = ready[1:] {
		for _, k := range next[ready[0]] {
			if left[k]--; left[k] == 0 {
				ready = append(ready, k)
			}
		}
	}
	return around(left, next)
}

// around is a cycle among tasks that wait for others of them: going back from one to what it waits for ends in a cycle.
func around(left []int, next [][]int) []int {
	needs := make([]int, len(left))
	at := -1
	for i := range left {
		if left[i] == 0 {
			continue
		}
		for _, k := range next[i] {
			if left[k] > 0 {
				needs[k], at = i, k
			}
		}
	}
	if at < 0 {
		return nil
	}
	for range left { // into the cycle
		at = needs[at]
	}
	cycle := []int{at}
	for k := needs[at]; k != at; k = needs[k] {
		cycle = append(cycle, k)
	}
	slices.Reverse(cycle[1:])
	return cycle
}
