package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// Prepare makes work/ from in/ before the program starts: the inputs with their
// modes, the working directory, and the folders of standard output and error. With
// keep the inputs are copied and stay (at the home, until the end), else they are
// moved, and work/ is from then on where Fetch and Serve find them.
//
// It may be called again at any time before the program starts: once done, it is
// done until the machine restarts, which the file "prepared" tells by holding the
// kernel's boot identifier (copies are not synced, and a crash of the machine may
// tear them); then copies are made afresh. Discard(job, Work) undoes it.
//
// Errors wrap ErrNotFound (an input is missing), ErrInvalid (a path) or
// ErrUnavailable (space, disk).
func (s *Stager) Prepare(ctx context.Context, job grid.Job, keep bool) error {
	if err := s.prepare(ctx, job, keep); err != nil {
		return fmt.Errorf("prepare the working tree of %s: %w", job.ID, err)
	}
	return nil
}

func (s *Stager) prepare(ctx context.Context, job grid.Job, keep bool) error {
	if err := checkManifest(job.Inputs, s.cfg.MaxBytes); err != nil {
		return err
	}
	ctx, root, end, err := s.beginIn(ctx, job.ID)
	if err != nil {
		return err
	}
	defer end()
	boot := bootID()
	if mark, err := root.ReadFile(marker); err == nil && string(mark) == boot {
		return nil
	}
	if keep {
		err = s.copyInputs(ctx, root, job)
	} else {
		err = s.moveInputs(root, job.Inputs)
	}
	if err != nil {
		return err
	}
	if err := s.placeSources(ctx, root, job); err != nil {
		return err
	}
	if err := makeDirectories(root, job.Program); err != nil {
		return err
	}
	if err := root.WriteFile(path.Join(partDir, marker), []byte(boot), 0o600); err != nil {
		return diskError(err)
	}
	if err := root.Rename(path.Join(partDir, marker), marker); err != nil {
		return diskError(err)
	}
	if !keep {
		return kindOf(root.RemoveAll(srcDir)) // they are in work/, and fetched again if that is lost
	}
	return nil
}

// MakeFolder makes the folder of a job that was never prepared, if it is not there:
// so that the start token of an attempt whose launch did not come that far can be
// taken. Of one that was prepared nothing is made: a control directory that is gone
// took its tokens with it.
func (s *Stager) MakeFolder(job grid.JobID) error {
	root, err := s.folder(job)
	if err == nil {
		_, err = root.Lstat(marker)
		root.Close()
		if err == nil {
			return nil
		}
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, grid.ErrNotFound) {
		return err
	}
	root, err = s.makeFolder(job)
	if err != nil {
		return err
	}
	return root.Close()
}

// bootID tells one run of the kernel from another; "none" where it cannot be told.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "none"
	}
	return strings.TrimSpace(string(b))
}

// copyInputs makes work/ afresh with copies of all inputs.
func (s *Stager) copyInputs(ctx context.Context, root *os.Root, job grid.Job) error {
	m := job.Inputs
	if err := s.removeLent(ctx, root, job.ID, workDir); err != nil {
		return diskError(fmt.Errorf("clear it: %w", err))
	}
	if err := root.Mkdir(workDir, 0o700); err != nil {
		return diskError(err)
	}
	space, err := s.claim(m.Size())
	if err != nil {
		return err
	}
	defer space.release()
	for _, f := range m {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyInput(root, f); err != nil {
			return kindOf(fmt.Errorf("copy the input %q: %w", f.Path, err))
		}
		space.use(f.Size)
	}
	return nil
}

func copyInput(root *os.Root, f grid.File) error {
	from, info, err := openRegular(root, path.Join(inDir, f.Path))
	if err != nil {
		return err
	}
	defer from.Close()
	if info.Size() != f.Size {
		return fmt.Errorf("it has %d bytes instead of %d", info.Size(), f.Size)
	}
	name := path.Join(workDir, f.Path)
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	to, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(copyFile(to, from), to.Chmod(fs.FileMode(f.Mode)), to.Close())
}

// copyFile shares the blocks where the file system can; else the kernel copies.
func copyFile(to, from *os.File) error {
	if unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) == nil {
		return nil
	}
	_, err := io.Copy(to, from) // copy_file_range
	return err
}

// moveInputs renames all inputs that are not yet moved.
func (s *Stager) moveInputs(root *os.Root, m grid.Manifest) error {
	for _, f := range m {
		from, to := path.Join(inDir, f.Path), path.Join(workDir, f.Path)
		info, err := root.Lstat(from)
		moved := errors.Is(err, fs.ErrNotExist)
		if moved {
			info, err = root.Lstat(to) // by an earlier call
		}
		if err != nil {
			return kindOf(fmt.Errorf("find the input %q: %w", f.Path, err))
		}
		if !info.Mode().IsRegular() || info.Size() != f.Size {
			return fmt.Errorf("%w: the input %q has %d bytes instead of %d", grid.ErrNotFound, f.Path, info.Size(), f.Size)
		}
		switch {
		case moved:
		case links(info) > 1: // the cache has it too
			err = s.copyBeside(root, f)
		default:
			if err = root.MkdirAll(path.Dir(to), 0o700); err == nil {
				err = root.Rename(from, to)
			}
		}
		if err == nil {
			err = setMode(root, to, fs.FileMode(f.Mode))
		}
		if err != nil {
			return diskError(fmt.Errorf("move the input %q: %w", f.Path, err))
		}
	}
	return nil
}

// copyBeside copies an input that stays in in/ because it is in the cache too.
func (s *Stager) copyBeside(root *os.Root, f grid.File) error {
	space, err := s.claim(f.Size)
	if err != nil {
		return err
	}
	defer space.release()
	if err := root.RemoveAll(path.Join(workDir, f.Path)); err != nil {
		return err
	}
	return copyInput(root, f)
}

// setMode gives a file of work/ its mode, if it is ours alone: an account that was let in before
// may have put another in its place.
func setMode(root *os.Root, name string, mode fs.FileMode) error {
	f, info, err := openRegular(root, name)
	if errors.Is(err, fs.ErrPermission) {
		return root.Chmod(name, mode) // closed to us, its owner
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if owner(info) != uint32(os.Geteuid()) || links(info) > 1 {
		return nil
	}
	return f.Chmod(mode)
}

// makeDirectories makes the working directory and the folders that standard output
// and error are written to.
func makeDirectories(root *os.Root, p grid.Program) error {
	work, err := root.OpenRoot(workDir)
	if err != nil {
		return diskError(err)
	}
	defer work.Close()
	dirs := []string{path.Clean(p.Directory)}
	for _, f := range []string{p.Output, p.Error} {
		if f != "" {
			dirs = append(dirs, path.Join(p.Directory, path.Dir(f)))
		}
	}
	for _, d := range dirs {
		if d == "." {
			continue
		}
		if err := CheckPath(d); err != nil {
			return fmt.Errorf("the working directory: %w", err)
		}
		if err := work.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("%w: make the folder %q of the working tree: %w", grid.ErrInvalid, d, err)
		}
	}
	return nil
}
