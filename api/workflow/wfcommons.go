package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gbroker/internal/form"
)

// instance is what is read of a file of WfCommons; the rest of it describes where it once ran. Version 1.4 has tasks with all of
// theirs; 1.5 has what is to be done in specification, and what was measured in execution.
type instance struct {
	Name          string `json:"name"`
	SchemaVersion string `json:"schemaVersion"`
	Workflow      struct {
		Tasks         []task14 `json:"tasks"`
		Specification struct {
			Tasks []task15 `json:"tasks"`
			Files []struct {
				ID   string `json:"id"`
				Size int64  `json:"sizeInBytes"`
			} `json:"files"`
		} `json:"specification"`
		Execution struct {
			Tasks []measured `json:"tasks"`
		} `json:"execution"`
	} `json:"workflow"`
}

type command struct {
	Program   string   `json:"program"`
	Arguments []string `json:"arguments"`
}

type task14 struct {
	Name    string   `json:"name"`
	ID      string   `json:"id"`
	Parents []string `json:"parents"`
	Files   []struct {
		Link string `json:"link"`
		Name string `json:"name"`
		Size int64  `json:"sizeInBytes"`
	} `json:"files"`
	Command command `json:"command"`
	Runtime float64 `json:"runtimeInSeconds"`
	Older   float64 `json:"runtime"`
	Cores   float64 `json:"cores"`
	Memory  int64   `json:"memoryInBytes"`
}

type task15 struct {
	Name    string   `json:"name"`
	ID      string   `json:"id"`
	Parents []string `json:"parents"`
	Inputs  []string `json:"inputFiles"`
	Outputs []string `json:"outputFiles"`
}

type measured struct {
	ID      string  `json:"id"`
	Runtime float64 `json:"runtimeInSeconds"`
	Cores   float64 `json:"coreCount"`
	Memory  int64   `json:"memoryInBytes"`
	Command command `json:"command"`
}

func readWfCommons(file string, text []byte) (*Workflow, where, error) {
	var i instance
	if err := json.Unmarshal(text, &i); err != nil {
		return nil, nil, noJSON(file, text, err)
	}
	w := &Workflow{Name: i.Name}
	switch i.SchemaVersion {
	case "1.4":
		for _, t := range i.Workflow.Tasks {
			w.Tasks = append(w.Tasks, t.task())
		}
	case "1.5":
		w.Tasks = i.tasks15()
	default:
		return nil, nil, &form.Mistake{File: file, Line: 1, Column: 1, Text: fmt.Sprintf("this is read as JSON of WfCommons, and its schemaVersion is %.20q: 1.4 and 1.5 are read", i.SchemaVersion)}
	}
	w.parents()
	return w, func(path string) (int, int) {
		var k int
		if _, err := fmt.Sscanf(path, "tasks.%d", &k); err != nil || k < 0 || k >= len(w.Tasks) {
			return 0, 0
		}
		name, _ := json.Marshal(w.Tasks[k].Name)
		if at := bytes.Index(text, name); at >= 0 {
			return lineOf(text, int64(at+1))
		}
		return 0, 0
	}, nil
}

// noJSON says where a text is no JSON, or another value than this form has.
func noJSON(file string, text []byte, err error) error {
	m := &form.Mistake{File: file, Text: "this is no JSON: " + err.Error()}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		m.Line, m.Column = lineOf(text, syntax.Offset)
	case errors.As(err, &kind):
		m.Line, m.Column = lineOf(text, kind.Offset)
		m.Text = fmt.Sprintf("%s is a %s, which WfCommons has not there", kind.Field, kind.Value)
	}
	return m
}

// parents lets go of those orders that data bring too, and of parents by name where tasks are called by identifiers.
func (w *Workflow) parents() {
	known := map[string]bool{}
	for i := range w.Tasks {
		known[w.Tasks[i].Name] = true
	}
	makers := map[string]map[string]bool{}
	for i := range w.Tasks {
		for _, d := range w.Tasks[i].Outputs {
			if makers[d.Name] == nil {
				makers[d.Name] = map[string]bool{}
			}
			makers[d.Name][w.Tasks[i].Name] = true
		}
	}
	for i := range w.Tasks {
		t := &w.Tasks[i]
		var after []string
		for _, p := range t.After {
			brings := false
			for _, d := range t.Inputs {
				brings = brings || makers[d.Name][p]
			}
			if !brings || !known[p] {
				after = append(after, p)
			}
		}
		t.After = after
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (c command) words() []string {
	if c.Program == "" {
		return nil
	}
	return append([]string{c.Program}, c.Arguments...)
}

func (t *task14) task() Task {
	out := Task{Name: t.ID, Command: t.Command.words(), After: t.Parents, Cores: int(t.Cores), Memory: t.Memory, Runtime: seconds(max(t.Runtime, t.Older)), Rerunnable: true}
	if out.Name == "" {
		out.Name = t.Name
	}
	for _, f := range t.Files {
		if strings.EqualFold(f.Link, "output") {
			out.Outputs = append(out.Outputs, Data{f.Name, f.Size})
		} else {
			out.Inputs = append(out.Inputs, Data{f.Name, f.Size})
		}
	}
	return out
}

func (i *instance) tasks15() (list []Task) {
	size, ran := map[string]int64{}, map[string]measured{}
	for _, f := range i.Workflow.Specification.Files {
		size[f.ID] = f.Size
	}
	for _, m := range i.Workflow.Execution.Tasks {
		ran[m.ID] = m
	}
	for _, t := range i.Workflow.Specification.Tasks {
		m := ran[t.ID]
		out := Task{Name: t.ID, Command: m.Command.words(), After: t.Parents, Cores: int(m.Cores), Memory: m.Memory, Runtime: seconds(m.Runtime), Rerunnable: true}
		for _, f := range t.Inputs {
			out.Inputs = append(out.Inputs, Data{f, size[f]})
		}
		for _, f := range t.Outputs {
			out.Outputs = append(out.Outputs, Data{f, size[f]})
		}
		list = append(list, out)
	}
	return list
}

// lineOf is the line and column of an offset.
func lineOf(text []byte, offset int64) (line, column int) {
	before := text[:min(max(offset-1, 0), int64(len(text)))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
