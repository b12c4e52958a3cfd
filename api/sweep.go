package api

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/jsdl/sweep"
)

// readSweep makes the template of a submission whose document stands for many jobs. Of these some are looked at, and
// all where they bring different files: what is wrong with another one is found when its turn comes.
func (s *Server) readSweep(sub *Submission) (n NewGroup, err error) {
	w, err := sweep.Read(sub.Name, []byte(sub.Document), 0)
	switch {
	case err != nil:
		return n, err
	case w == nil:
		return n, fmt.Errorf("%s has no Sweep, and is one job: hand it in as a job: %w", sub.Name, grid.ErrInvalid)
	}
	t := &grid.Template{
		Name: sub.Name, Document: sub.Document, Rerunnable: sub.Rerunnable, Lenient: sub.Lenient, Anyway: sub.QueueAnyway, Walltime: s.config.DefaultWalltime,
	}
	brings := map[string]bool{}
	beside := besideOf(sub.Files)
	for i, k := range w.Checked() {
		job, uploads, err := jobOf(sub.Name, w.Document(k), beside, t.Rerunnable, t.Walltime, modes(t.Lenient)...)
		if err == nil {
			_, err = include(uploads, sub.Include, job.Outputs)
		}
		if err != nil {
			return n, fmt.Errorf("job %d of the sweep: %w", k, err)
		}
		if i == 0 {
			n.First, n.Name = job, job.Name
		}
		for _, u := range uploads {
			if !brings[u.From] {
				brings[u.From] = true
				t.Inputs = append(t.Inputs, grid.File{Path: u.From, Size: u.Size, Mode: u.Mode})
			}
		}
		if len(t.Inputs) > grid.MaxFiles {
			return n, fmt.Errorf("the jobs of the sweep bring more than %d different files: %w", grid.MaxFiles, grid.ErrInvalid)
		}
	}
	for _, f := range sub.Include {
		if brings[f.Path] {
			return n, fmt.Errorf("the file %q cannot be included: the document brings a file of that name: %w", f.Path, grid.ErrInvalid)
		}
		t.Inputs, t.Included = append(t.Inputs, grid.File{Path: f.Path, Size: f.Size, Mode: f.Mode}), append(t.Included, f.Path)
	}
	if len(t.Inputs) > grid.MaxFiles {
		return n, fmt.Errorf("the jobs of the sweep bring more than %d different files: %w", grid.MaxFiles, grid.ErrInvalid)
	}
	slices.SortFunc(t.Inputs, func(a, b grid.File) int { return cmp.Compare(a.Path, b.Path) })
	n.Credentials = []byte(sub.Credentials)
	n.Template, n.Count, n.AtOnce = t, w.Jobs(), w.AtOnce()
	n.Digest = sha256.Sum256(fmt.Appendf(nil, "%t %t %t %q %s", t.Rerunnable, t.Anyway, t.Lenient, t.Included, t.Document))
	return n, nil
}

// Expand reads a template, and gives what makes its jobs by their numbers, from 1 on.
func Expand(t grid.Template) (func(n int) (grid.Job, error), error) {
	w, err := sweep.Read(t.Name, []byte(t.Document), 0)
	if err == nil && w == nil {
		err = fmt.Errorf("%w: %s has no Sweep", grid.ErrInvalid, t.Name)
	}
	if err != nil {
		return nil, err
	}
	files := make([]File, len(t.Inputs))
	at := make(map[string]*grid.File, len(t.Inputs))
	for i := range t.Inputs {
		f := &t.Inputs[i]
		files[i], at[f.Path] = File{Path: f.Path, Size: f.Size, Mode: f.Mode}, f
	}
	beside := besideOf(files)
	return func(n int) (grid.Job, error) {
		job, uploads, err := jobOf(t.Name, w.Document(n), beside, t.Rerunnable, t.Walltime, modes(t.Lenient)...)
		for _, u := range uploads {
			job.Inputs = append(job.Inputs, grid.File{Path: u.Path, Size: u.Size, Mode: u.Mode, Ranges: at[u.From].Ranges})
		}
		for _, path := range t.Included {
			job.Inputs = append(job.Inputs, *at[path])
		}
		slices.SortFunc(job.Inputs, func(a, b grid.File) int { return cmp.Compare(a.Path, b.Path) })
		return job, err
	}, nil
}
