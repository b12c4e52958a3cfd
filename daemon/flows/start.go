package flows

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gbroker/api"
)

// load reads all workflows that were handed in whole, and removes what is left of others.
func (k *Keeper) load() error {
	list, err := os.ReadDir(k.config.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the workflows: %w", err)
	}
	var instances, lost []*flow
	for _, e := range list {
		if !k.named(e.Name()) {
			continue // of somebody else, as lost+found of a file system of its own
		}
		f := newFlow(k, nil)
		f.folder, f.found = filepath.Join(k.config.Folder, e.Name()), true
		if _, err := os.Stat(filepath.Join(f.folder, "spec.json")); errors.Is(err, fs.ErrNotExist) {
			k.sweep(f) // it was not answered for, or is being removed
			continue
		}
		if err := read(f.folder, "spec.json", &f.spec); err != nil {
			k.unreadable(f, err)
			continue
		}
		if err := read(f.folder, "state.json", &f.rec); err != nil {
			k.unreadable(f, err)
			lost = append(lost, f)
			continue
		}
		if f.spec.Parent != "" {
			instances = append(instances, f)
			continue
		}
		if f.parts, err = f.spec.Submission.KeptParts(k.config.Walltime); err != nil || len(f.parts) != len(f.rec.Tasks) {
			k.unreadable(f, err)
			continue
		}
		f.identify()
		for i := range f.rec.Tasks {
			k.overheads.saw(&f.rec.Tasks[i])
		}
		k.add(f)
	}
	for _, f := range instances {
		parent := k.flows[f.spec.Parent]
		if parent == nil {
			k.unreadable(f, fmt.Errorf("there is no workflow %s, of which it is an instance", f.spec.Parent))
			continue
		}
		if parent.rec.Periods == nil || !parent.rec.Periods.Open[f.spec.Number] || len(f.rec.Tasks) != len(parent.parts) {
			k.sweep(f) // it was counted, or its making failed
			continue
		}
		f.of(parent)
		f.identify()
		k.add(f)
	}
	for _, f := range lost {
		if parent := k.flows[f.spec.Parent]; parent != nil {
			parent.lost = append(parent.lost, f.spec.Number)
		}
	}
	return nil
}

func (k *Keeper) unreadable(f *flow, err error) {
	k.config.Log.Error("a workflow cannot be read, and is left as it is", "folder", f.folder, "error", err)
}

// sweep removes what is no workflow.
func (k *Keeper) sweep(f *flow) {
	if err := os.RemoveAll(f.folder); err != nil {
		k.config.Log.Error("what is left of a workflow is not removed", "folder", f.folder, "error", err)
	}
}

// differs tells whether a workflow is not the one that was handed in under the same key before, and in what.
func differs(a, b *api.FlowSubmission) (what string, differ bool) {
	for _, c := range []struct {
		what string
		a, b any
	}{
		{"tasks", a.Tasks, b.Tasks}, {"files", a.Files, b.Files}, {"a period", a.Periodic, b.Periodic}, {"a number of retries", a.Retries, b.Retries},
		{"a workflow from which it goes on", a.Resumes, b.Resumes},
	} {
		if !same(c.a, c.b) {
			return c.what, true
		}
	}
	return "", false
}
