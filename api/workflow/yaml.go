package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"gbroker/grid"
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

// UnmarshalYAML reads either.
func (d *datum) UnmarshalYAML(read func(any) error) error {
	if read(&d.Name) == nil {
		return nil
	}
	var long struct {
		Name string `yaml:"name"`
		Size amount `yaml:"size"`
	}
	if err := read(&long); err != nil {
		return err
	}
	d.Name, d.Size = long.Name, int64(long.Size)
	return nil
}

// amount is a number of bytes, as 10MB or 1GiB.
type amount int64

// UnmarshalYAML reads a number with a unit.
func (a *amount) UnmarshalYAML(read func(any) error) error {
	var text string
	if err := read(&text); err != nil {
		return err
	}
	n, err := grid.ParseSize(text)
	*a = amount(n)
	return err
}

// span is a time, as 90s or 1h30m.
type span time.Duration

// UnmarshalYAML reads a span.
func (s *span) UnmarshalYAML(read func(any) error) error {
	var text string
	if err := read(&text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%.40q is no span of time: write 90s or 1h30m", text)
	}
	*s = span(d)
	return nil
}

func readYAML(file string, text []byte) (*Workflow, where, error) {
	var form written
	d := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := d.Decode(&form); err != nil {
		return nil, nil, mistakeOf(file, err)
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, nil, mistakeOf(file, err)
	}
	at := func(task int, part string) (line, column int) { return position(tree, task, part) }
	if form.Workflow != 1 {
		return nil, nil, &Mistake{File: file, Line: 1, Column: 1, Text: "it does not say workflow: 1, which is the form that is read here"}
	}
	if form.Retries < 0 || form.Retries > 100 {
		return nil, nil, &Mistake{File: file, Text: fmt.Sprintf("retries: %d: 0 to 100", form.Retries)}
	}
	w := &Workflow{Name: form.Name, Retries: form.Retries}
	if p := form.Periodic; p != nil {
		w.Every = &Periodic{p.Rate, time.Duration(p.Per), p.Count, time.Duration(p.Deadline), p.Folder, p.As, p.Reserve}
		if err := w.Every.Check(); err != nil {
			return nil, nil, &Mistake{File: file, Text: "periodic: " + err.Error()}
		}
	}
	for i, t := range form.Tasks {
		n := 0
		for _, is := range []bool{len(t.Command) > 0, t.Script != "", t.JSDL != ""} {
			if is {
				n++
			}
		}
		if n != 1 || t.Arguments != nil && t.Script == "" {
			line, column := at(i, "")
			return nil, nil, &Mistake{file, line, column, fmt.Sprintf("task %q has one of command, script and jsdl; arguments are those of a script", t.Name)}
		}
		if t.JSDL != "" && len(t.Configurations)+len(t.Resources) > 0 {
			line, column := at(i, "jsdl")
			return nil, nil, &Mistake{file, line, column, fmt.Sprintf("task %q has a document, which says what it needs: configurations and resources are of commands and scripts", t.Name)}
		}
		w.Tasks = append(w.Tasks, Task{
			Name: t.Name, Command: t.Command, Script: t.Script, JSDL: t.JSDL, Arguments: t.Arguments, Inputs: data(t.Inputs), Outputs: data(t.Outputs),
			After: t.After, Cores: t.Cores, Memory: int64(t.Memory), Runtime: time.Duration(t.Runtime), Walltime: time.Duration(t.Walltime), Rerunnable: t.Rerunnable,
			Resources: resources(t.Resources), Configurations: configurations(t.Configurations),
		})
	}
	return w, at, nil
}

func data(list []datum) (out []Data) {
	for _, d := range list {
		out = append(out, Data(d))
	}
	return out
}

// position is where a part of a task stands, or the task itself.
func position(tree *ast.File, task int, part string) (line, column int) {
	for _, text := range []string{fmt.Sprintf("$.tasks[%d].%s", task, part), fmt.Sprintf("$.tasks[%d]", task)} {
		if strings.HasSuffix(text, ".") {
			continue
		}
		path, err := yaml.PathString(text)
		if err != nil {
			continue
		}
		if node, err := path.FilterFile(tree); err == nil && node != nil && node.GetToken() != nil {
			if m, is := node.(*ast.MappingNode); is && len(m.Values) > 0 {
				node = m.Values[0].Key
			}
			p := node.GetToken().Position
			return p.Line, p.Column
		}
	}
	return 0, 0
}

// mistakeOf is an error of the YAML library with its place.
func mistakeOf(file string, err error) error {
	var placed yaml.Error
	if !errors.As(err, &placed) || placed.GetToken() == nil {
		return &Mistake{File: file, Text: err.Error()}
	}
	p := placed.GetToken().Position
	return &Mistake{file, p.Line, p.Column, placed.GetMessage()}
}
