package workflow

import (
	"maps"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gbroker/grid"
	"gbroker/internal/form"
)

// written is the form of a file of ours.
type written struct {
	Workflow int           `yaml:"workflow"`
	Name     string        `yaml:"name"`
	Retries  int           `yaml:"retries"`
	Tasks    []writtenTask `yaml:"tasks"`
	Periodic *struct {
		Rate     int64 `yaml:"rate"`
		Per      span  `yaml:"per"`
		Count    int   `yaml:"count"`
		Deadline span  `yaml:"deadline"`

		Folder string `yaml:"folder"`
		As     string `yaml:"as"`

		Reserve bool `yaml:"reserve"`
	} `yaml:"periodic"`
}

type writtenTask struct {
	Name       string   `yaml:"name"`
	Command    []string `yaml:"command"`
	Script     string   `yaml:"script"`
	JSDL       string   `yaml:"jsdl"`
	Arguments  []string `yaml:"arguments"`
	Inputs     []datum  `yaml:"inputs"`
	Outputs    []datum  `yaml:"outputs"`
	After      []string `yaml:"after"`
	Cores      int      `yaml:"cores"`
	Memory     amount   `yaml:"memory"`
	Runtime    span     `yaml:"runtime"`
	Walltime   span     `yaml:"walltime"`
	Rerunnable bool     `yaml:"rerunnable"`

	Resources      map[string]int64       `yaml:"resources"`
	Configurations []writtenConfiguration `yaml:"configurations"`
}

type writtenConfiguration struct {
	Name      string           `yaml:"name"`
	Cores     int              `yaml:"cores"`
	Memory    amount           `yaml:"memory"`
	Resources map[string]int64 `yaml:"resources"`
	Runtime   span             `yaml:"runtime"`
	Walltime  span             `yaml:"walltime"`
}

func configurations(list []writtenConfiguration) (out []Configuration) {
	for _, c := range list {
		out = append(out, Configuration{
			Name: c.Name, Cores: c.Cores, Memory: int64(c.Memory), Resources: resources(c.Resources), Runtime: time.Duration(c.Runtime), Walltime: time.Duration(c.Walltime),
		})
	}
	return out
}

func resources(of map[string]int64) (out []grid.Resource) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, grid.Resource{Name: name, Amount: of[name]})
	}
	return out
}

// datum is a name, or a mapping of name and size.
type datum Data

// ReadNode reads either.
func (d *datum) ReadNode(r *form.Decoder, n ast.Node, what string) {
	var long struct {
		Name string `yaml:"name"`
		Size amount `yaml:"size"`
	}
	if _, is := n.(ast.MapNode); is {
		r.Read(n, &long, what)
	} else {
		r.Read(n, &long.Name, what)
	}
	d.Name, d.Size = long.Name, int64(long.Size)
}

// amount is a number of bytes, as 10MB or 1GiB.
type amount int64

// UnmarshalText reads a number with a unit.
func (a *amount) UnmarshalText(text []byte) error {
	n, err := grid.ParseSize(string(text))
	*a = amount(n)
	return err
}

// span is a time, as 90s or 1h30m.
type span time.Duration

// UnmarshalText reads a span.
func (s *span) UnmarshalText(text []byte) error {
	d, err := grid.ParseSpan(string(text))
	*s = span(d)
	return err
}

func readYAML(file string, text []byte) (*Workflow, where, error) {
	root, wrong := form.Parse(file, text, 0)
	if wrong != nil {
		return nil, nil, wrong
	}
	at := func(path string) (line, column int) {
		m := form.MistakeAt(file, form.At(root, path), "")
		return m.Line, m.Column
	}
	if root == nil {
		return nil, nil, &form.Mistake{File: file, Line: 1, Column: 1, Text: "the file is empty: write workflow: 1, and tasks"}
	}
	var says written
	if wrong := form.Decode(file, root, &says); len(wrong) > 0 {
		return nil, nil, wrong
	}
	w := &Workflow{Name: says.Name, Retries: says.Retries, file: file, at: at}
	if says.Workflow != 1 {
		return nil, nil, w.Mistake("workflow", "write workflow: 1, which is the form that is read here")
	}
	if says.Retries < 0 || says.Retries > maxRetries {
		return nil, nil, w.Mistake("retries", "retries: %d: write 0 to %d", says.Retries, maxRetries)
	}
	if p := says.Periodic; p != nil {
		w.Every = &Periodic{p.Rate, time.Duration(p.Per), p.Count, time.Duration(p.Deadline), p.Folder, p.As, p.Reserve}
		if err := w.Every.Check(); err != nil {
			return nil, nil, w.Mistake("periodic", "periodic: %v", err)
		}
	}
	for i, t := range says.Tasks {
		if err := t.check(w, i); err != nil {
			return nil, nil, err
		}
		w.Tasks = append(w.Tasks, Task{
			Name: t.Name, Command: t.Command, Script: t.Script, JSDL: t.JSDL, Arguments: t.Arguments, Inputs: data(t.Inputs), Outputs: data(t.Outputs),
			After: t.After, Cores: t.Cores, Memory: int64(t.Memory), Runtime: time.Duration(t.Runtime), Walltime: time.Duration(t.Walltime), Rerunnable: t.Rerunnable,
			Resources: resources(t.Resources), Configurations: configurations(t.Configurations),
		})
	}
	return w, at, nil
}

// check says why a task names no program, or several, or says of one what is of another kind.
func (t *writtenTask) check(w *Workflow, i int) error {
	var has []string
	for _, kind := range []struct {
		name string
		is   bool
	}{{"command", len(t.Command) > 0}, {"script", t.Script != ""}, {"jsdl", t.JSDL != ""}} {
		if kind.is {
			has = append(has, kind.name)
		}
	}
	at := TaskPath(i, "")
	switch {
	case len(has) == 0:
		return w.Mistake(at, "task %q names nothing to run: write command: [PROGRAM, ARGUMENT], script: FILE or jsdl: FILE", t.Name)
	case len(has) > 1:
		return w.Mistake(TaskPath(i, has[1]), "task %q has a %s and a %s: leave one", t.Name, has[0], has[1])
	case t.Arguments != nil && t.Script == "":
		return w.Mistake(TaskPath(i, "arguments"), "task %q has no script: arguments are those of a script; those of a command stand behind its program", t.Name)
	case t.JSDL != "" && len(t.Configurations) > 0:
		at = TaskPath(i, "configurations")
	case t.JSDL != "" && len(t.Resources) > 0:
		at = TaskPath(i, "resources")
	default:
		return nil
	}
	return w.Mistake(at, "task %q has a document, which says what it needs: configurations and resources are of commands and scripts", t.Name)
}

func data(list []datum) (out []Data) {
	for _, d := range list {
		out = append(out, Data(d))
	}
	return out
}
