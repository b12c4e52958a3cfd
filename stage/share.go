package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"gbroker/grid"
)

// Share gives a job inputs that lie in the folder of another, as names of the same files: by what they
// contain, as that folder's sealed ledger says. Done again it changes nothing. An error wraps ErrNotFound
// if one is not there.
func (s *Stager) Share(job, from grid.JobID, m grid.Manifest) error {
	if err := s.share(job, from, m); err != nil {
		return fmt.Errorf("sharing the files of %s with %s: %w", from, job, err)
	}
	return nil
}

func (s *Stager) share(job, from grid.JobID, m grid.Manifest) error {
	if err := checkManifest(m, grid.MaxSandbox); err != nil {
		return err
	}
	source, err := s.folder(from)
	if err != nil {
		return err
	}
	defer source.Close()
	l, err := readLedger(source, Inputs)
	if err != nil {
		return err
	}
	have := l.manifest()
	root, err := s.makeFolder(job)
	if err != nil {
		return err
	}
	defer root.Close()
	if l, err := readLedger(root, Inputs); err == nil && l.is(m) {
		return nil
	}
	names := make([]string, 0, len(m))
	for _, f := range m {
		k := slices.IndexFunc(have, func(h grid.File) bool {
			h.Path = f.Path
			return l.whole && sameFile(h, f)
		})
		if k < 0 {
			return fmt.Errorf("%w: nothing there is %q", grid.ErrNotFound, f.Path)
		}
		name := path.Join(inDir, f.Path)
		if err := s.link(root, path.Join(string(from), inDir, have[k].Path), job, name); err != nil {
			return diskError(fmt.Errorf("link %q: %w", f.Path, err))
		}
		names = append(names, name)
	}
	if err := settle(root, names); err != nil {
		return diskError(err)
	}
	return seal(root, Inputs, m)
}

// link gives a file another name, in the folder of a job.
func (s *Stager) link(root *os.Root, old string, job grid.JobID, name string) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	err := s.root.Link(old, path.Join(string(job), name))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
