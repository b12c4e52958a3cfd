package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"gbroker/grid"
	"gbroker/internal/handover"
)

// Folders and files in a job's folder.
const (
	inDir   = "in"
	workDir = "work"
	ctlDir  = "ctl"
	outDir  = "out"
	partDir = "part"
	srcDir  = "src"
	marker  = "prepared"
	tenancy = "account" // under which the program works, if it is not the daemon's own
)

// folder opens a job's folder.
func (s *Stager) folder(id grid.JobID) (*os.Root, error) {
	if _, err := grid.ParseJobID(string(id)); err != nil {
		return nil, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	info, err := s.root.Lstat(string(id))
	if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("the folder of %s: %w", id, unix.ENOTDIR)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: job %s has no files here", grid.ErrNotFound, id)
	}
	if err != nil {
		return nil, fmt.Errorf("the folder of %s: %w", id, err)
	}
	r, err := s.root.OpenRoot(string(id))
	if err != nil {
		return nil, fmt.Errorf("the folder of %s: %w", id, err)
	}
	return r, nil
}

// makeFolder opens a job's folder and makes it, and those in it that all need, if missing.
func (s *Stager) makeFolder(id grid.JobID) (*os.Root, error) {
	if _, err := grid.ParseJobID(string(id)); err != nil {
		return nil, fmt.Errorf("%w: %w", grid.ErrInvalid, err)
	}
	if err := s.root.Mkdir(string(id), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, diskError(fmt.Errorf("make the folder of %s: %w", id, err))
	}
	r, err := s.folder(id)
	if err != nil {
		return nil, err
	}
	if s.cfg.Passable {
		if err := r.Chmod(".", passable); err != nil {
			r.Close()
			return nil, diskError(fmt.Errorf("let accounts pass the folder of %s: %w", id, err))
		}
	}
	for _, d := range []string{inDir, workDir, ctlDir, outDir, partDir} {
		if err := r.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			r.Close()
			return nil, diskError(fmt.Errorf("make the folder %s of %s: %w", d, id, err))
		}
	}
	return r, nil
}

// errIrregular tells that a name is there but no regular file.
var errIrregular = handover.ErrIrregular

// openRegular opens name for reading if it is a regular file. Links are followed
// inside root only, and a pipe does not block.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s %w", name, errIrregular)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// kindOf says which kind of grid a failed access to one file is.
func kindOf(err error) error {
	switch {
	case err == nil:
		return nil
	case absent(err):
		return fmt.Errorf("%w: %w", grid.ErrNotFound, err)
	}
	return diskError(err)
}

// diskError marks err as the disk's, not the request's.
func diskError(err error) error {
	if errors.Is(err, grid.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
}

// readable is the mode a stored file has: its own, and that we can read it.
func readable(mode uint32) fs.FileMode { return fs.FileMode(mode&0o777 | 0o400) }

// isTangle reports that a file stands where a folder should, or the reverse.
func isTangle(err error) bool {
	return errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EISDIR) ||
		errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTEMPTY)
}

// place renames a whole file from part/ to its name, whose folders it makes.
func place(root *os.Root, part, name string) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	return root.Rename(path.Join(partDir, part), name)
}

// writeAtomic replaces the file name of the job's folder, durably.
func writeAtomic(root *os.Root, name string, data []byte) error {
	return writeAs(root, name, name, data)
}

// writeAs replaces the file name, by way of part/.
func writeAs(root *os.Root, part, name string, data []byte) error {
	tmp := path.Join(partDir, part)
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := root.Rename(tmp, name); err != nil {
		return err
	}
	return syncPath(root, path.Dir(name))
}
