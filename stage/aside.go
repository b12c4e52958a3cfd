package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gbroker/grid"
)

// Folders that nobody knows are put aside, and removed when they have lain there for long: a
// journal that was put back may not know what a folder is needed for, and the right one may yet
// come back.

const (
	asideDir   = "aside"
	asideStamp = "20060102T150405Z"
)

// SetAside moves a job's folder to ROOT/aside/JOB.TIME, where it stays until DropAside, and
// gives its path there. With foreign, one in which nothing has run and of which nothing was
// collected is deleted instead, and "" is given: its files are at the home of the job. What is at
// work with the folder is ended, as by Discard.
func (s *Stager) SetAside(job grid.JobID, foreign bool, now time.Time) (where string, err error) {
	if where, err = s.setAside(job, foreign, now); err != nil {
		return "", fmt.Errorf("put the folder of %s aside: %w", job, err)
	}
	return where, nil
}

func (s *Stager) setAside(job grid.JobID, foreign bool, now time.Time) (string, error) {
	root, err := s.folder(job)
	if errors.Is(err, grid.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer root.Close()
	d, leave := s.hold(job)
	defer leave()
	d.interrupt()
	//house:allow context: it is short and has no caller that could give up
	_, end, err := s.begin(context.Background(), job)
	if err != nil {
		return "", err
	}
	defer end()
	d.forget()
	if err := dropSecrets(root); err != nil {
		return "", err
	}
	if foreign {
		used := false
		for _, trace := range []string{marker, Outputs.ledger()} {
			if _, err := root.Lstat(trace); err == nil {
				used = true
			}
		}
		if control, err := fs.ReadDir(root.FS(), ctlDir); err == nil && len(control) > 0 {
			used = true
		}
		if !used {
			return "", kindOf(removeTree(s.root, string(job)))
		}
	}
	if err := s.root.Mkdir(asideDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", diskError(err)
	}
	name := path.Join(asideDir, string(job)+"."+now.UTC().Format(asideStamp))
	if err := s.root.Rename(string(job), name); err != nil {
		return "", diskError(err)
	}
	return filepath.Join(s.cfg.Root, name), nil
}

// DropAside removes what was put aside before then, and gives how many folders that were.
func (s *Stager) DropAside(then time.Time) (dropped int, err error) {
	list, err := fs.ReadDir(s.root.FS(), asideDir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("list what is put aside: %w", err)
	}
	var errs []error
	for _, e := range list {
		k := strings.LastIndexByte(e.Name(), '.')
		at, err := time.Parse(asideStamp, e.Name()[k+1:])
		if k < 0 || err != nil || !at.Before(then) {
			continue // not of ours, or too young
		}
		if err := removeTree(s.root, path.Join(asideDir, e.Name())); err != nil {
			errs = append(errs, fmt.Errorf("remove %s, which was put aside: %w", e.Name(), err))
			continue
		}
		dropped++
	}
	return dropped, errors.Join(errs...)
}
