package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"syscall"

	"golang.org/x/sys/unix"

	"gbroker/grid"
	"gbroker/internal/handover"
)

// Collect moves what an ended job left from work/ to out/, under the names the user
// gets, and hashes it; it is durable on return. What it brings by patterns is looked for then, see found.go. Only regular files are taken, also
// behind a symbolic link that stays inside work/ (then a copy). missing are the
// required outputs that are not there or no regular files, with what stands there instead. Once done it is done:
// called again, also after a crash at any point, it gives the same answer.
// Errors wrap ErrInvalid (the job's outputs) or ErrUnavailable (disk).
func (s *Stager) Collect(ctx context.Context, job grid.Job) (_ grid.Manifest, missing []grid.MissingOutput, err error) {
	m, err := s.collect(ctx, job)
	if err != nil {
		return nil, nil, fmt.Errorf("collect the outputs of %s: %w", job.ID, err)
	}
	missing = s.missing(job, m)
	if root, err := s.folder(job.ID); err == nil && len(job.Bring) > 0 {
		defer root.Close()
		if f, err := readFound(root); err == nil && f != nil {
			missing = append(missing, f.Left...)
		}
	}
	return m, missing, nil
}

func (s *Stager) collect(ctx context.Context, job grid.Job) (grid.Manifest, error) {
	job.Outputs = stored(job.Outputs)
	if err := checkOutputs(job.Outputs); err != nil {
		return nil, err
	}
	ctx, root, end, err := s.beginIn(ctx, job.ID)
	if err != nil {
		return nil, err
	}
	defer end()
	l, err := readLedger(root, Outputs)
	if err != nil {
		return nil, err
	}
	if l.whole {
		return l.manifest(), nil
	}
	t, err := s.tenant(root)
	if err != nil {
		return nil, err
	}
	if err := s.lookFor(ctx, root, &job, t); err != nil {
		return nil, err
	}
	var failed error
	if t.apart {
		failed = s.takeOver(ctx, root, job, t)
	}
	wanted := s.wanted(root, job.Outputs)
	m := grid.Manifest{}
	var names []string
	for _, o := range job.Outputs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := s.gather(ctx, root, o, t, wanted)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%q: %w", o.Path, err))
		}
		if f != nil {
			m = append(m, *f)
			names = append(names, path.Join(outDir, f.Path))
		}
	}
	if failed != nil {
		return nil, diskError(failed)
	}
	sort.Slice(m, func(i, k int) bool { return m[i].Path < m[k].Path })
	if err := settle(root, names); err != nil {
		return nil, diskError(err)
	}
	if err := seal(root, Outputs, m); err != nil {
		return m, err
	}
	if job.Sharing.Keep {
		s.remember(job.ID, Outputs, job.User, m)
	}
	return m, nil
}

// stored are the outputs without those that are the same file for another place.
func stored(outputs []grid.Output) []grid.Output {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(outputs), func(o grid.Output) bool {
		twice := o.URI != "" && seen[o.Stored()]
		seen[o.Stored()] = true
		return twice
	})
}

// checkOutputs checks both names of each output, and that the targets can stand side by side.
func checkOutputs(outputs []grid.Output) error {
	targets := make(grid.Manifest, len(outputs))
	for i, o := range outputs {
		if err := CheckPath(o.Path); err != nil {
			return fmt.Errorf("the output %q: %w", o.Path, err)
		}
		targets[i].Path = o.Stored()
	}
	sort.Slice(targets, func(i, k int) bool { return targets[i].Path < targets[k].Path })
	if err := checkManifest(targets, 0); err != nil {
		return fmt.Errorf("the targets of the outputs: %w", err)
	}
	return nil
}

// fileID is a file whatever it is called.
type fileID struct{ device, inode uint64 }

func idOf(info fs.FileInfo) fileID {
	st := info.Sys().(*syscall.Stat_t)
	return fileID{uint64(st.Dev), st.Ino}
}

// wanted counts how many outputs each file of work/ is, by whatever names and links: only the
// last of them may take it away.
func (s *Stager) wanted(root *os.Root, outputs []grid.Output) map[fileID]int {
	list := map[fileID]int{}
	work, err := root.OpenRoot(workDir)
	if err != nil {
		return list // which is told when the first is brought
	}
	defer work.Close()
	for _, o := range outputs {
		if _, err := root.Lstat(path.Join(outDir, o.Stored())); err == nil {
			continue
		}
		if info, err := work.Stat(o.Path); err == nil {
			list[idOf(info)]++
		}
	}
	return list
}

// gather brings one output into out/ and hashes it; nil if there is none. What an
// earlier call brought there is taken as it is.
func (s *Stager) gather(ctx context.Context, root *os.Root, o grid.Output, t tenant, wanted map[fileID]int) (*grid.File, error) {
	target := path.Join(outDir, o.Stored())
	if there, err := brought(root, target); err != nil {
		return nil, err
	} else if !there {
		if t.apart {
			return nil, nil // it was not there for the account either, or could not be taken over
		}
		found, err := s.bring(root, o.Path, target, t, wanted)
		if err != nil || !found {
			return nil, err
		}
	}
	f, info, err := handover.Open(root, target)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := &grid.File{Path: o.Stored(), Size: info.Size(), Mode: uint32(info.Mode().Perm())}
	out.Ranges, err = s.hashFile(ctx, f, out.Size)
	return out, err
}

// brought tells whether an output is in out/ already. What is no regular file came there in
// the place of one, and goes.
func brought(root *os.Root, target string) (bool, error) {
	info, err := root.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || info.Mode().IsRegular() {
		return err == nil, err
	}
	return false, root.RemoveAll(target)
}

// bring moves the file at name in work/ to target, or copies it where it has other names:
// behind a link, by a hard link, or as another output. Until it stands at target, nothing of it
// is taken away from work/.
func (s *Stager) bring(root *os.Root, name, target string, t tenant, wanted map[fileID]int) (found bool, err error) {
	work, err := root.OpenRoot(workDir)
	if err != nil {
		return false, err
	}
	defer work.Close()
	f, info, err := handover.Open(work, name)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := t.mayHave(info); err != nil {
		return false, err
	}
	at, err := work.Lstat(name)
	if err != nil {
		return false, err
	}
	id := idOf(info)
	wanted[id]--
	if wanted[id] > 0 || !at.Mode().IsRegular() || links(info) > 1 {
		if err := s.copyOut(root, f, info, target); err != nil {
			wanted[id]++ // so that nothing it may be behind is taken away
			return true, err
		}
		return true, nil
	}
	err = s.moveOut(root, work, f, info, name, target)
	if errors.Is(err, unix.EXDEV) { // something is mounted in work/
		err = s.copyOut(root, f, info, target)
	}
	return true, err
}

// absent reports an error that means: there is no such output for us.
func absent(err error) bool { return handover.Absent(err) }

// moveOut renames name of work, which f is, to target, and makes it ours. Whatever fails, it
// stands in one of both places.
func (s *Stager) moveOut(root, work *os.Root, f *os.File, info fs.FileInfo, name, target string) error {
	const onlyFolder = os.O_RDONLY | syscall.O_DIRECTORY | syscall.O_NONBLOCK
	from, err := work.OpenFile(path.Dir(name), onlyFolder, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := root.MkdirAll(path.Dir(target), 0o700); err != nil {
		return err
	}
	to, err := root.OpenFile(path.Dir(target), onlyFolder, 0)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := own(f, info); err != nil {
		return err
	}
	if err := unix.Renameat(int(from.Fd()), path.Base(name), int(to.Fd()), path.Base(target)); err != nil {
		return err
	}
	if got, err := root.Lstat(target); err != nil || !os.SameFile(got, info) {
		back := unix.Renameat2(int(to.Fd()), path.Base(target), int(from.Fd()), path.Base(name), unix.RENAME_NOREPLACE)
		return fmt.Errorf("%w: it was exchanged while it was collected: %w", grid.ErrUnavailable, errors.Join(err, back))
	}
	return nil
}

// own makes an open file ours, where it is not, and readable.
func own(f *os.File, info fs.FileInfo) error {
	if uid := os.Geteuid(); uid == 0 && owner(info) != 0 {
		if err := f.Chown(0, 0); err != nil {
			return err
		}
	}
	if mode := info.Mode().Perm(); readable(uint32(mode)) != mode || info.Mode() != mode {
		return f.Chmod(readable(uint32(mode)))
	}
	return nil
}

// copyOut copies an open file to target, where it appears whole, and on the disk: work/ may
// hold the only other copy.
func (s *Stager) copyOut(root *os.Root, from *os.File, info fs.FileInfo, target string) error {
	space, err := s.claim(info.Size())
	if err != nil {
		return err
	}
	defer space.release()
	return s.appear(root, target, readable(uint32(info.Mode().Perm())), func(to *os.File) error { return copyFile(to, from) })
}

// appear makes a file, whole and on the disk, by way of part/.
func (s *Stager) appear(root *os.Root, target string, mode fs.FileMode, fill func(*os.File) error) error {
	part := fmt.Sprintf("take-%d", s.serial.Add(1))
	name := path.Join(partDir, part)
	to, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = fill(to)
	if err == nil {
		err = errors.Join(to.Chmod(mode), to.Sync())
	}
	if err = errors.Join(err, to.Close()); err == nil {
		err = place(root, part, target)
	}
	if err != nil {
		return errors.Join(err, root.Remove(name)) // a copy: what it is of is untouched
	}
	return nil
}
