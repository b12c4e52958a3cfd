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
)

// Bounds of a workflow.
const (
	MaxFile  = 64 << 20
	MaxTasks = 100_000
	MaxFiles = 100_000 // of one task
)

// Workflow is what a file says.
type Workflow struct {
	Name    string
	Retries int
	Tasks   []Task
	Every   *Periodic // nil runs once
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

// Mistake is one thing that is wrong in a file. It is an error of the kind grid.ErrInvalid.
type Mistake struct {
	File         string
	Line, Column int // from 1; 0 where it is in no line
	Text         string
}

func (m *Mistake) Error() string {
	if m.Line == 0 {
		return m.File + ": " + m.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Text)
}

// Is makes errors.Is(m, grid.ErrInvalid) hold.
func (m *Mistake) Is(target error) bool { return target == grid.ErrInvalid }

// Read reads a workflow of either form.
func Read(file string, text []byte) (*Workflow, error) {
	if len(text) > MaxFile {
		return nil, &Mistake{File: file, Text: fmt.Sprintf("it has %d bytes: at most %d", len(text), MaxFile)}
	}
	read := readYAML
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		read = readWfCommons
	}
	w, at, err := read(file, text)
	if err != nil {
		return nil, err
	}
	return w, w.check(file, at)
}

// where finds the line and column of a part of a task; of the task itself with "".
type where func(task int, part string) (line, column int)

// check finds the first thing that makes no sense.
func (w *Workflow) check(file string, at where) error {
	wrong := func(task int, part, format string, args ...any) error {
		line, column := at(task, part)
		return &Mistake{file, line, column, fmt.Sprintf(format, args...)}
	}
	if len(w.Tasks) == 0 || len(w.Tasks) > MaxTasks {
		return &Mistake{File: file, Text: fmt.Sprintf("it has %d tasks: 1 to %d", len(w.Tasks), MaxTasks)}
	}
	number := map[string]int{}
	for i := range w.Tasks {
		t := &w.Tasks[i]
		if _, twice := number[t.Name]; twice || t.Name == "" || len(t.Name) > grid.MaxText || strings.ContainsAny(t.Name, "\n\x00") {
			return wrong(i, "name", "the name %.80q is empty, too long or that of another task", t.Name)
		}
		number[t.Name] = i
	}
	for i := range w.Tasks {
		t := &w.Tasks[i]
		for _, name := range t.After {
			if _, known := number[name]; !known || name == t.Name {
				return wrong(i, "after", "task %s comes after %q, which is no other task", t.Name, name)
			}
		}
		for _, d := range slices.Concat(t.Inputs, t.Outputs) {
			if d.Name == "" || d.Size < 0 || len(d.Name) > grid.MaxPath {
				return wrong(i, "inputs", "task %s has a file %.80q of %d bytes: a name, and no negative size", t.Name, d.Name, d.Size)
			}
		}
		if err := t.checkWays(); err != nil {
			return wrong(i, "configurations", "%v", err)
		}
	}
	if err := w.checkResources(); err != nil {
		return &Mistake{File: file, Text: err.Error()}
	}
	if cycle := w.cycle(); cycle >= 0 {
		return wrong(cycle, "", "task %s needs itself, by way of others", w.Tasks[cycle].Name)
	}
	return nil
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

// cycle is a task that is in a cycle or behind one; -1 if there is none.
func (w *Workflow) cycle() int {
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
	return slices.IndexFunc(left, func(n int) bool { return n > 0 })
}
