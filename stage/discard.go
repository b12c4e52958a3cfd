package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"gbroker/grid"
)

// Discard deletes sets of a job's files, or with none named all that is kept of it.
// A Fetch, Prepare or Collect of the job that is under way is ended first, and
// returns an error. What is not there is discarded already.
func (s *Stager) Discard(job grid.JobID, sets ...Set) error {
	if err := s.discard(job, sets); err != nil {
		return fmt.Errorf("discard files of %s: %w", job, err)
	}
	return nil
}

func (s *Stager) discard(job grid.JobID, sets []Set) error {
	root, err := s.folder(job)
	if errors.Is(err, grid.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	d, leave := s.hold(job)
	defer leave()
	d.interrupt()
	//house:allow context: a discard is short and has no caller that could give up
	ctx, end, err := s.begin(context.Background(), job)
	if err != nil {
		return err
	}
	defer end()
	if len(sets) == 0 {
		d.forget()
		for _, dir := range []string{workDir, ctlDir} {
			if err := s.removeLent(ctx, root, job, dir); err != nil {
				return diskError(err)
			}
		}
		return kindOf(removeTree(s.root, string(job)))
	}
	for _, set := range sets {
		if set < Inputs || set > Work {
			return fmt.Errorf("%w: no such set of files: %d", grid.ErrInvalid, set)
		}
		if set == Inputs {
			d.forget()
		}
		book := set.ledger()
		if set == Work {
			book = marker
		}
		if set != Inputs {
			if err := root.Remove(foundList); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return diskError(err)
			}
		}
		if err := root.Remove(book); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return diskError(err)
		}
		if err := s.removeLent(ctx, root, job, set.dir()); err != nil {
			return diskError(err)
		}
	}
	return nil
}

// forget drops what is known of uploads.
func (d *desk) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.uploads = nil
}

// removeTree removes name and all below it, also folders that a program closed to us.
func removeTree(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for range 64 { // each pass opens one level more at least
		opened := false
		walk := func(p string, e fs.DirEntry, werr error) error {
			if e == nil || !e.IsDir() {
				return nil
			}
			if info, err := e.Info(); err == nil && info.Mode().Perm()&0o700 != 0o700 && root.Chmod(p, 0o700) == nil {
				opened = true
			}
			if werr != nil {
				return fs.SkipDir
			}
			return nil
		}
		if err := fs.WalkDir(root.FS(), name, walk); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !opened {
			break
		}
	}
	return root.RemoveAll(name)
}
