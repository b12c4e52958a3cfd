package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/grid"
	"gbroker/internal/cli"
	"gbroker/internal/form"
	"gbroker/internal/near"
	"gbroker/jsdl"
	"gbroker/jsdl/script"
)

// flowFile is a workflow, and the folder in which its files stand.
type flowFile struct {
	*workflow.Workflow
	name   string // of the file, as the user wrote it
	folder *os.Root
	wrong  form.Mistakes
}

// openWorkflow reads a file; what is wrong in it is told with its place.
func openWorkflow(file string) (*flowFile, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > workflow.MaxFile {
		err = fmt.Errorf("%s has %d bytes: at most %d", file, info.Size(), workflow.MaxFile)
	}
	if err != nil {
		return nil, cli.Exit(cli.No, fmt.Errorf("reading the workflow: %w", err))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.Exit(cli.No, fmt.Errorf("reading the workflow: %w", err))
	}
	w, err := workflow.Read(file, text)
	if err != nil {
		return nil, cli.Exit(cli.No, err)
	}
	folder, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, cli.Exit(cli.No, fmt.Errorf("opening the folder of the workflow: %w", err))
	}
	return &flowFile{Workflow: w, name: file, folder: folder}, nil
}

// note records a mistake at a part of a task.
func (w *flowFile) note(task int, part, format string, args ...any) {
	m := &form.Mistake{}
	if errors.As(w.Mistake(workflow.TaskPath(task, part), "task %s: %s", w.Tasks[task].Name, fmt.Sprintf(format, args...)), &m) {
		w.wrong = append(w.wrong, *m)
	}
}

// blame records what is wrong with a task: at its own place where that is in a file of the user's, else at a part of the task.
func (w *flowFile) blame(task int, part, own string, err error) {
	var all jsdl.Errors
	if !errors.As(err, &all) {
		w.note(task, part, "%v", err)
		return
	}
	for _, e := range all {
		if own != "" && e.File == own {
			w.wrong = append(w.wrong, form.Mistake{File: e.File, Line: e.Line, Column: e.Col, Text: e.Message})
		} else {
			w.note(task, part, "%s", e.Message)
		}
	}
}

// submission makes documents of the tasks, and finds the files beside the workflow; what is wrong is noted.
func (w *flowFile) submission() api.FlowSubmission {
	sub := api.FlowSubmission{Name: w.Name, Retries: w.Retries}
	if e := w.Every; e != nil {
		sub.Periodic = &api.FlowPeriodic{Rate: e.Rate, PerS: e.Per.Seconds(), Count: e.Count, DeadlineS: e.Deadline.Seconds(), Folder: e.Folder, As: e.As, Reserve: e.Reserve}
	}
	made := w.made()
	documents := make([]*jsdl.Document, len(w.Tasks))
	for i := range w.Tasks {
		t := &w.Tasks[i]
		one := api.FlowTask{Name: t.Name, Rerunnable: t.Rerunnable, After: t.After, Sizes: map[string]int64{}}
		for k, way := range t.Ways() {
			d, text := w.document(i, &way)
			if d == nil {
				break
			}
			if k == 0 {
				documents[i] = d
				one.Configuration, one.Document, one.RuntimeS = way.Name, string(text), way.Runtime.Seconds()
			} else {
				one.Others = append(one.Others, api.FlowConfiguration{Name: way.Name, Document: string(text), RuntimeS: way.Runtime.Seconds()})
			}
		}
		for _, d := range t.Outputs {
			if d.Size > 0 {
				one.Sizes[d.Name] = d.Size
			}
		}
		if documents[i] != nil {
			for _, s := range documents[i].Staging {
				made[s.Target] = made[s.Target] || s.Target != ""
			}
		}
		sub.Tasks = append(sub.Tasks, one)
	}
	seen := map[string]bool{}
	for i, d := range documents {
		if d != nil {
			sub.Files = append(sub.Files, w.beside(i, d, made, seen)...)
		}
	}
	w.wrong.Sort()
	return sub
}

// made are the files that tasks leave, and what a watched folder brings.
func (w *flowFile) made() map[string]bool {
	made := map[string]bool{}
	for i := range w.Tasks {
		for _, d := range w.Tasks[i].Outputs {
			made[d.Name] = true
		}
	}
	if w.Every != nil && w.Every.As != "" {
		made[w.Every.As] = true
	}
	return made
}

// beside finds the files that a task needs and no task makes.
func (w *flowFile) beside(i int, d *jsdl.Document, made, seen map[string]bool) (list []api.File) {
	t := &w.Tasks[i]
	before := len(w.wrong)
	for k, x := range t.Inputs {
		if made[x.Name] {
			continue
		}
		if _, err := w.folder.Stat(filepath.FromSlash(x.Name)); errors.Is(err, fs.ErrNotExist) {
			w.note(i, fmt.Sprintf("inputs.%d", k), "no task leaves %q, and it does not stand beside this file%s", x.Name, w.likely(x.Name, made))
		}
	}
	if len(w.wrong) > before {
		return nil
	}
	stat := func(path string) (int64, uint32, error) {
		if made[path] {
			return 0, 0o755, nil
		}
		info, err := w.folder.Stat(filepath.FromSlash(path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return 0, 0, grid.ErrNotFound
		case err != nil:
			return 0, 0, fmt.Errorf("%q cannot be sent: %w", path, cause(err))
		case !info.Mode().IsRegular():
			return 0, 0, fmt.Errorf("%q is a %s: only regular files are sent", path, kindOf(info.Mode()))
		}
		f, err := w.folder.Open(filepath.FromSlash(path))
		if err != nil {
			return 0, 0, fmt.Errorf("%q cannot be read: %w", path, cause(err))
		}
		f.Close()
		mode := uint32(info.Mode().Perm())
		if path == t.Script {
			mode |= 0o500 // as 'gclient submit' takes what may not be executed
		}
		return info.Size(), mode, nil
	}
	uploads, _, err := d.Resolve(stat)
	if err != nil {
		w.blame(i, "", w.path(t.JSDL), err)
		return nil
	}
	for _, u := range uploads {
		if !made[u.From] && !seen[u.From] {
			seen[u.From] = true
			list = append(list, api.File{Path: u.From, Size: u.Size, Mode: u.Mode})
		}
	}
	return list
}

// path is a file beside the workflow, as the user sees it from where he stands; "" of "".
func (w *flowFile) path(name string) string {
	if name == "" {
		return ""
	}
	return filepath.ToSlash(filepath.Join(filepath.Dir(w.name), filepath.FromSlash(name)))
}

// likely is a hint at the file that was meant: one that a task leaves, or that stands in the folder.
func (w *flowFile) likely(name string, made map[string]bool) string {
	var names []string
	for m := range made {
		names = append(names, m)
	}
	if in, err := w.folder.Open(filepath.FromSlash(path.Dir(name))); err == nil {
		defer in.Close()
		found, _ := in.Readdirnames(1000)
		for _, f := range found {
			names = append(names, path.Join(path.Dir(name), f))
		}
	}
	if word := near.Word(name, names...); word != "" {
		return fmt.Sprintf(": did you mean %q?", word)
	}
	return ""
}

// read reads the script or the document of a task; false, which is noted, where it cannot.
func (w *flowFile) read(i int, part, name string) ([]byte, bool) {
	text, err := w.folder.ReadFile(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.note(i, part, "%q does not stand beside this file%s", name, w.likely(name, nil))
	case err != nil:
		w.note(i, part, "%q cannot be read: %v", name, cause(err))
	}
	return text, err == nil
}

// document is a task in one of its configurations as JSDL: its own document, or that of its script or command with what it needs and leaves. It is
// nil where it cannot be made, which is noted.
func (w *flowFile) document(i int, way *workflow.Configuration) (*jsdl.Document, []byte) {
	t := &w.Tasks[i]
	if t.JSDL != "" {
		return w.ownDocument(i)
	}
	o := script.Options{Arguments: t.Arguments, Directives: directivesOf(way), Now: time.Now(), Environ: os.LookupEnv}
	var made *script.Script
	var err error
	part := "command"
	switch {
	case t.Script != "":
		part = "script"
		text, ok := w.read(i, part, t.Script)
		if !ok {
			return nil, nil
		}
		made, err = script.Parse(w.path(t.Script), text, o)
	case len(t.Command) > 0:
		made, err = script.Command(t.Command, true, o)
	default:
		w.note(i, "", "it names no program: it can be planned, not run")
		return nil, nil
	}
	if err != nil {
		w.blame(i, part, w.path(t.Script), err)
		return nil, nil
	}
	d, err := jsdl.Parse(t.Name, made.Document())
	if err != nil {
		w.blame(i, part, "", err)
		return nil, nil
	}
	w.complete(d, t, way)
	text := jsdl.Print(&d.Job, d.Staging)
	if d, err = jsdl.Parse(t.Name, text); err != nil {
		w.blame(i, "", "", err)
		return nil, nil
	}
	return d, text
}

func (w *flowFile) ownDocument(i int) (*jsdl.Document, []byte) {
	name := w.Tasks[i].JSDL
	text, ok := w.read(i, "jsdl", name)
	if !ok {
		return nil, nil
	}
	d, err := jsdl.Parse(w.path(name), text)
	if err != nil {
		w.blame(i, "jsdl", w.path(name), err)
		return nil, nil
	}
	return d, text
}

// complete adds to the document of a script or command what the task says of itself.
func (w *flowFile) complete(d *jsdl.Document, t *workflow.Task, way *workflow.Configuration) {
	d.Job.Name, d.Job.Rerunnable = t.Name, t.Rerunnable
	if way.Name != "" {
		d.Job.Program.Environment = append(d.Job.Program.Environment, grid.Variable{Name: grid.ConfigurationVariable, Value: way.Name})
	}
	for k := range d.Staging { // a script of a folder has its last name in the sandbox
		if s := &d.Staging[k]; t.Script != "" && s.Source == path.Base(t.Script) {
			s.Source = t.Script
		}
	}
	for _, x := range t.Inputs {
		d.Staging = append(d.Staging, jsdl.Staging{Name: x.Name, Path: x.Name, Source: x.Name, CreationFlag: grid.Overwrite})
	}
	for _, x := range t.Outputs {
		d.Staging = append(d.Staging, jsdl.Staging{Name: x.Name, Path: x.Name, Target: x.Name, CreationFlag: grid.Overwrite})
	}
}
