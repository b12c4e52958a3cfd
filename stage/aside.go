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

// Aside gives the control folders of what lies there, with their jobs.
func (s *Stager) Aside() (controls map[string]grid.JobID, err error) {
	list, err := s.listAside()
	if err != nil {
		return nil, err
	}
	controls = make(map[string]grid.JobID, len(list))
	for _, f := range list {
		controls[filepath.Join(s.cfg.Root, f.name, ctlDir)] = f.job
	}
	return controls, nil
}

// PutBack moves the folder with this control folder, one that [Stager.Aside] has told, back to where its job has it, unless there is one.
func (s *Stager) PutBack(control string, job grid.JobID) (moved bool, err error) {
	_, leave := s.hold(job)
	defer leave()
	name := path.Join(asideDir, filepath.Base(filepath.Dir(control)))
	switch _, err := s.root.Lstat(string(job)); {
	case err == nil:
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("put the folder of %s back from %s: %w", job, name, diskError(err))
	}
	if err := s.root.Rename(name, string(job)); err != nil {
		return false, fmt.Errorf("put the folder of %s back from %s: %w", job, name, diskError(err))
	}
	return true, nil
}

// DropAside removes what was put aside before then, and gives how many folders that were.
func (s *Stager) DropAside(then time.Time) (dropped int, err error) {
	list, err := s.listAside()
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, f := range list {
		if !f.since.Before(then) {
			continue
		}
		if err := removeTree(s.root, f.name); err != nil {
			errs = append(errs, fmt.Errorf("remove %s, which was put aside: %w", path.Base(f.name), err))
			continue
		}
		dropped++
	}
	return dropped, errors.Join(errs...)
}

// aside is a folder that was put aside.
type aside struct {
	name  string // in ROOT
	job   grid.JobID
	since time.Time
}

// listAside leaves out what others have put there.
func (s *Stager) listAside() (list []aside, err error) {
	entries, err := fs.ReadDir(s.root.FS(), asideDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list what is put aside: %w", err)
	}
	for _, e := range entries {
		k := max(strings.LastIndexByte(e.Name(), '.'), 0)
		job, notJob := grid.ParseJobID(e.Name()[:k])
		since, notTime := time.Parse(asideStamp, e.Name()[k+1:])
		if notJob == nil && notTime == nil {
			list = append(list, aside{path.Join(asideDir, e.Name()), job, since})
		}
	}
	return list, nil
}
