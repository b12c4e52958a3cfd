package stage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/internal/handover"
)

// Outputs whose names nobody knew beforehand (grid.Bring) are looked for once, when the job has ended, before
// anything is taken from work/. What was found stands in the job's folder, in the file found, so
// that a Collect that is repeated collects the same. Of the files that match these are left out:
//
//	those that the document names as outputs, which come anyway
//	inputs that are as they came: as long, and not written since the working tree was prepared
//	those that belong to somebody else, as all outputs
//	those whose name no file of a manifest may have, or that would stand where another comes back
//	those that are beyond the bytes of their pattern, or beyond grid.MaxFiles, in the order of their paths
type found struct {
	Paths []string             // relative to the working directory
	Left  []grid.MissingOutput // patterns, and why not all came
}

// foundList is the file that has them.
const foundList = "found"

// readFound is what was found for a job; nil if nothing was looked for yet.
func readFound(root *os.Root) (*found, error) {
	text, err := root.ReadFile(foundList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diskError(err)
	}
	f := new(found)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%w: the list of what was found: %w", grid.ErrUnavailable, err)
	}
	return f, nil
}

// lookFor adds to the outputs of a job what its patterns bring.
func (s *Stager) lookFor(ctx context.Context, root *os.Root, job *grid.Job, t tenant) error {
	if len(job.Bring) == 0 {
		return nil
	}
	f, err := readFound(root)
	if err == nil && f == nil {
		if f, err = s.look(ctx, root, *job, t); err != nil {
			return fmt.Errorf("look for what it made: %w", err)
		}
		text, _ := json.Marshal(f) // texts alone
		err = kindOf(writeAtomic(root, foundList, text))
	}
	if err != nil {
		return err
	}
	job.Outputs = slices.Clone(job.Outputs)
	for _, p := range f.Paths {
		job.Outputs = append(job.Outputs, grid.Output{Path: path.Join(job.Program.Directory, p), Target: p})
	}
	return nil
}

// look walks the working directory.
func (s *Stager) look(ctx context.Context, root *os.Root, job grid.Job, t tenant) (*found, error) {
	l := &looking{job: job, inputs: map[string]int64{}, taken: map[string]bool{}}
	if info, err := root.Lstat(marker); err == nil {
		l.prepared = info.ModTime()
	}
	for _, in := range job.Inputs {
		l.inputs[in.Path] = in.Size
	}
	for _, src := range job.Sources {
		l.inputs[src.Path] = -1
	}
	for _, o := range job.Outputs {
		l.taken[o.Path] = true
	}
	see := func(f handover.Found) error {
		if f.Info == nil || t.mayHave(f.Info) == nil {
			l.see(f)
		}
		return ctx.Err()
	}
	err := s.walk(ctx, root, job, t, see)
	tooMany := errors.Is(err, handover.ErrTooMany) || errors.Is(err, handover.ErrHandedOver)
	if err != nil && !tooMany {
		return nil, kindOf(err)
	}
	f := l.choose(s.cfg.MaxBytes)
	if tooMany {
		f.Left = append(f.Left, grid.MissingOutput{Path: job.Bring[0].Pattern, Why: err.Error() + ": not all were looked at"})
	}
	return f, nil
}

// walk sees all files of the working directory, in the name of the account where that is needed.
func (s *Stager) walk(ctx context.Context, root *os.Root, job grid.Job, t tenant, see func(handover.Found) error) error {
	if !t.apart {
		top, err := root.OpenRoot(path.Join(workDir, job.Program.Directory))
		if absent(err) {
			return nil
		}
		if err != nil {
			return err
		}
		defer top.Close()
		return handover.Walk(top, see)
	}
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := s.act(ctx, t, clearLimit, nil, w, "list", filepath.Join(s.cfg.Root, string(job.ID), workDir, job.Program.Directory))
		w.CloseWithError(err) // nil is an end of file
		ended <- err
	}()
	from, err := handover.NewReceiver(r)
	if err == nil {
		err = from.Listed(see)
	}
	r.CloseWithError(io.ErrClosedPipe)
	if bad := <-ended; err == nil {
		err = bad
	}
	return err
}

// looking is one look under way.
type looking struct {
	job      grid.Job
	prepared time.Time
	inputs   map[string]int64 // by path in the sandbox, their sizes; -1 is not known
	taken    map[string]bool  // paths of other outputs
	match    []handover.Found
}

// see takes a file if a pattern asks for it, and it is the job's own work.
func (l *looking) see(f handover.Found) {
	in := path.Join(l.job.Program.Directory, f.Path)
	size, input := l.inputs[in]
	untouched := input && (size < 0 || size == f.Size) && !f.Changed.After(l.prepared)
	if l.taken[in] || untouched || CheckPath(f.Path) != nil || !l.stands(f.Path) {
		return
	}
	if slices.ContainsFunc(l.job.Bring, func(b grid.Bring) bool { return b.Matches(f.Path) }) {
		l.match = append(l.match, f)
	}
}

// stands tells whether a file may come back under a name, beside the other outputs.
func (l *looking) stands(name string) bool {
	if strings.HasPrefix(name, grid.ElsewhereDir+"/") {
		return false
	}
	return !slices.ContainsFunc(l.job.Outputs, func(o grid.Output) bool {
		at := o.Stored()
		return at == name || strings.HasPrefix(at, name+"/") || strings.HasPrefix(name, at+"/")
	})
}

// choose takes what fits, in the order of the paths.
func (l *looking) choose(most int64) *found {
	slices.SortFunc(l.match, func(a, b handover.Found) int { return cmp.Compare(a.Path, b.Path) })
	type count struct{ files, bytes, behind, behindBytes int64 }
	of := make([]count, len(l.job.Bring))
	f := &found{Paths: []string{}}
	room := grid.MaxFiles - len(l.job.Outputs)
	for _, m := range l.match {
		first, into := -1, -1
		for i, b := range l.job.Bring {
			if !b.Matches(m.Path) {
				continue
			}
			if first < 0 {
				first = i
			}
			if len(f.Paths) < room && m.Size <= most && of[i].bytes+m.Size <= b.Most() {
				into = i
				break
			}
		}
		if into < 0 {
			of[first].behind++
			of[first].behindBytes += m.Size
			continue
		}
		of[into].files++
		of[into].bytes += m.Size
		most -= m.Size
		f.Paths = append(f.Paths, m.Path)
	}
	for i, b := range l.job.Bring {
		switch c := of[i]; {
		case c.behind > 0:
			f.Left = append(f.Left, grid.MissingOutput{Path: b.Pattern, Why: fmt.Sprintf(
				"%d files of %d bytes stayed behind, as no more than %d bytes and %d files are brought by it: name those that you need", c.behind, c.behindBytes, min(b.Most(), most+c.bytes), grid.MaxFiles)})
		case c.files == 0 && b.Pattern != grid.Everything.Pattern && !l.elsewhere(b):
			f.Left = append(f.Left, grid.MissingOutput{Path: b.Pattern, Why: "nothing that it made or changed is called so"})
		}
	}
	return f
}

// elsewhere tells that what a pattern asks for came by another, or is an output by its name.
func (l *looking) elsewhere(b grid.Bring) bool {
	for name := range l.taken {
		if rest, err := filepath.Rel(path.Clean(l.job.Program.Directory), name); err == nil && b.Matches(rest) {
			return true
		}
	}
	return slices.ContainsFunc(l.match, func(m handover.Found) bool { return b.Matches(m.Path) })
}
