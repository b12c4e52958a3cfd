package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"syscall"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// Collect moves what an ended job left from work/ to out/, under the names the user
// gets, and hashes it; it is durable on return. Only regular files are taken, also
// behind a symbolic link that stays inside work/ (then a copy). missing are the paths
// of required outputs that are not there or no regular files. Once done it is done:
// called again, also after a crash at any point, it gives the same answer.
// Errors wrap ErrInvalid (the job's outputs) or ErrUnavailable (disk).
func (s *Stager) Collect(ctx context.Context, job grid.Job) (_ grid.Manifest, missing []string, err error) {
	m, err := s.collect(ctx, job)
	if err != nil {
		return nil, nil, fmt.Errorf("collect the outputs of %s: %w", job.ID, err)
	}
	for _, o := range job.Outputs {
		if _, ok := lookup(m, o.Target); o.Required && !ok {
			missing = append(missing, o.Path)
		}
	}
	return m, missing, nil
}

func (s *Stager) collect(ctx context.Context, job grid.Job) (grid.Manifest, error) {
	if err := checkOutputs(job.Outputs); err != nil {
		return nil, err
	}
	ctx, end, err := s.begin(ctx, job.ID)
	if err != nil {
		return nil, err
	}
	defer end()
	root, err := s.makeFolder(job.ID)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	l, err := readLedger(root, Outputs)
	if err != nil || l.whole {
		return l.manifestOrNil(), err
	}
	m := grid.Manifest{}
	var names []string
	for i, o := range job.Outputs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := s.gather(ctx, root, o, usedAgain(job.Outputs[i+1:], o.Path))
		if err != nil {
			return nil, diskError(fmt.Errorf("%q: %w", o.Path, err))
		}
		if f != nil {
			m = append(m, *f)
			names = append(names, path.Join(outDir, f.Path))
		}
	}
	sort.Slice(m, func(i, k int) bool { return m[i].Path < m[k].Path })
	if err := settle(root, names); err != nil {
		return nil, diskError(err)
	}
	return m, seal(root, Outputs, m)
}

// manifestOrNil is the manifest of a ledger that could be read.
func (l *ledger) manifestOrNil() grid.Manifest {
	if l == nil {
		return nil
	}
	return l.manifest()
}

// checkOutputs checks both names of each output, and that the targets can stand side by side.
func checkOutputs(outputs []grid.Output) error {
	targets := make(grid.Manifest, len(outputs))
	for i, o := range outputs {
		if err := CheckPath(o.Path); err != nil {
			return fmt.Errorf("the output %q: %w", o.Path, err)
		}
		targets[i].Path = o.Target
	}
	sort.Slice(targets, func(i, k int) bool { return targets[i].Path < targets[k].Path })
	if err := CheckManifest(targets, 0); err != nil {
		return fmt.Errorf("the targets of the outputs: %w", err)
	}
	return nil
}

func usedAgain(outputs []grid.Output, p string) bool {
	for _, o := range outputs {
		if o.Path == p {
			return true
		}
	}
	return false
}

// gather brings one output into out/ and hashes it; nil if there is none. What an
// earlier call brought there is taken as it is.
func (s *Stager) gather(ctx context.Context, root *os.Root, o grid.Output, again bool) (*grid.File, error) {
	target := path.Join(outDir, o.Target)
	if _, err := root.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		found, err := s.bring(root, o.Path, target, again)
		if err != nil || !found {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	f, info, err := openRegular(root, target)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := &grid.File{Path: o.Target, Size: info.Size(), Mode: uint32(info.Mode().Perm())}
	out.Ranges, err = s.hashFile(ctx, f, out.Size)
	return out, err
}

// bring moves the file at name in work/ to target, by way of part/, where it is
// looked at once more out of the program's reach; or copies it, if it is behind a
// link or wanted again.
func (s *Stager) bring(root *os.Root, name, target string, again bool) (found bool, err error) {
	work, err := root.OpenRoot(workDir)
	if err != nil {
		return false, err
	}
	defer work.Close()
	info, err := work.Lstat(name)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	part := fmt.Sprintf("take-%d", s.serial.Add(1))
	defer root.RemoveAll(path.Join(partDir, part)) // gone already if all went well
	switch {
	case again || info.Mode()&fs.ModeSymlink != 0:
		found, err = s.copyOut(root, work, name, part)
	case info.Mode().IsRegular():
		found, err = moveOut(root, work, name, part)
	}
	if err != nil || !found {
		return false, err
	}
	return true, place(root, part, target)
}

// absent reports an error that means: there is no such output for us.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) ||
		errors.Is(err, errIrregular) || err != nil && escapes(err)
}

// escapes reports that os.Root refused a path that leaves it.
func escapes(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) && pe.Err != nil && pe.Err.Error() == "path escapes from parent"
}

// moveOut renames name of work to part/, and checks that what it got is a regular file.
func moveOut(root, work *os.Root, name, part string) (bool, error) {
	const onlyFolder = os.O_RDONLY | syscall.O_DIRECTORY | syscall.O_NONBLOCK
	from, err := work.OpenFile(path.Dir(name), onlyFolder, 0)
	if err != nil {
		return false, err
	}
	defer from.Close()
	to, err := root.OpenFile(partDir, onlyFolder, 0)
	if err != nil {
		return false, err
	}
	defer to.Close()
	err = unix.Renameat(int(from.Fd()), path.Base(name), int(to.Fd()), part)
	if errors.Is(err, unix.EXDEV) { // something is mounted in work/
		return false, fmt.Errorf("it lies on another file system: %w", err)
	}
	if err != nil {
		return false, err
	}
	name = path.Join(partDir, part)
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	return true, root.Chmod(name, readable(uint32(info.Mode().Perm())))
}

// copyOut copies what name of work leads to.
func (s *Stager) copyOut(root, work *os.Root, name, part string) (bool, error) {
	from, info, err := openRegular(work, name)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer from.Close()
	space, err := s.claim(info.Size())
	if err != nil {
		return false, err
	}
	defer space.release()
	to, err := root.OpenFile(path.Join(partDir, part), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return false, err
	}
	return true, errors.Join(copyFile(to, from), to.Chmod(readable(uint32(info.Mode().Perm()))), to.Close())
}
