package flows

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gbroker/api"
	"gbroker/api/workflow"
	"gbroker/grid"
	"gbroker/stage"
)

// A workflow that watches a folder has an instance for each file that appears there: a regular file of one link, whose name begins with no dot,
// and whose size and time of change were the same for [stable]. The instance has a copy of its own. A file counts once; one that was
// changed, or removed and put there again, counts once more. The folder is below that of its user, and no link leads out of that.

const (
	lookAtFolder = time.Second
	stable       = 3 * time.Second
	// maxWatched is how many files may lie in a folder that is watched.
	maxWatched = 2000
)

// stamp tells a file from what it was before.
type stamp struct{ Size, Modified int64 }

// taken is a file for which there is or was an instance.
type taken struct {
	stamp
	Number int
}

// appeared is a file in the folder.
type appeared struct {
	name string
	stamp
}

// came is the file that began an instance, as its tasks know it.
type came struct {
	As, Name, Contents string
	Size               int64
}

func (c *came) is(name string) bool { return c != nil && c.As == name }

// folderSeen is what a process has seen of a folder that is watched; of the run.
type folderSeen struct {
	looked time.Time
	known  map[string]seen
	ready  []appeared
}

type seen struct {
	stamp
	at time.Time
}

// openFolder opens a folder of a user that may be watched.
func (k *Keeper) openFolder(user, folder string) (*os.Root, error) {
	if k.config.Watch == "" {
		return nil, errors.New("this site lets no folders be watched: its operator names one as files.watch in the configuration")
	}
	if !filepath.IsLocal(user) || user == "." || strings.ContainsRune(user, filepath.Separator) {
		return nil, fmt.Errorf("%q is no name of a folder", user)
	}
	all, err := os.OpenRoot(k.config.Watch)
	if err != nil {
		return nil, fmt.Errorf("watching folders: %w", err)
	}
	defer all.Close()
	own, err := all.OpenRoot(user)
	if err != nil {
		return nil, fmt.Errorf("the folder %s, below which %s may watch others: %w", filepath.Join(k.config.Watch, user), user, err)
	}
	defer own.Close()
	root, err := own.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("the folder %s of %s: %w", folder, own.Name(), err)
	}
	return root, nil
}

// present are the files in a folder that may count, the oldest first.
func (k *Keeper) present(user, folder string) (list []appeared, err error) {
	root, err := k.openFolder(user, folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxWatched + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the folder %s: %w", folder, err)
	}
	if len(entries) > maxWatched {
		return nil, fmt.Errorf("the folder %s has more than %d files: remove those that are done with", folder, maxWatched)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && mayCount(info) {
			list = append(list, appeared{e.Name(), stampOf(info)})
		}
	}
	slices.SortFunc(list, func(a, b appeared) int {
		return cmp.Or(cmp.Compare(a.Modified, b.Modified), cmp.Compare(a.name, b.name))
	})
	return list, nil
}

// mayCount: a name for a file that somebody else keeps would let the daemon read it for whoever made the link.
func mayCount(info os.FileInfo) bool {
	s, is := info.Sys().(*syscall.Stat_t)
	return info.Mode().IsRegular() && is && s.Nlink == 1 && !strings.HasPrefix(info.Name(), ".")
}

func stampOf(info os.FileInfo) stamp { return stamp{info.Size(), info.ModTime().UnixNano()} }

// appears is how long until the folder is looked at again, 0 if a file is ready; more tells that there may be another instance.
func (f *flow) appears(every *workflow.Periodic) (wait time.Duration, more bool) {
	f.mu.Lock()
	p := f.rec.Periods
	more = !f.rec.Cancelled && (every.Count == 0 || p.Next < every.Count)
	f.mu.Unlock()
	if !more {
		return maxWait, false
	}
	if wait := lookAtFolder - time.Since(f.looked); wait > 0 && len(f.ready) == 0 {
		return wait, true
	}
	if len(f.ready) == 0 {
		f.looked = time.Now()
		list, err := f.keeper.present(f.spec.User, every.Folder)
		if err != nil {
			f.waits(err.Error())
			return lookAtFolder, true
		}
		f.look(list)
	}
	if len(f.ready) == 0 {
		f.waits("")
		return lookAtFolder, true
	}
	if why := f.noRoom(); why != "" {
		f.waits(why)
		return lookAtFolder, true
	}
	f.waits("")
	return 0, true
}

// look finds the files that are new and have not changed for a while.
func (f *flow) look(list []appeared) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, p := f.known, f.rec.Periods
	was := p.Taken
	f.known, p.Taken = map[string]seen{}, map[string]taken{}
	for _, x := range list {
		if t, is := was[x.name]; is {
			if p.Taken[x.name] = t; t.stamp == x.stamp {
				continue
			}
		}
		s, is := before[x.name]
		if !is || s.stamp != x.stamp {
			s = seen{x.stamp, f.looked}
		}
		if f.known[x.name] = s; f.looked.Sub(s.at) >= stable {
			f.ready = append(f.ready, x)
		}
	}
}

// noRoom tells why the next file has to wait. One that is too large for any is given up.
func (f *flow) noRoom() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, most, x := f.rec.Periods, f.keeper.config.Bytes, f.ready[0]
	if len(p.Open) >= maxOpen {
		return fmt.Sprintf("%d instances are under way", len(p.Open))
	}
	held := x.Size
	for _, t := range p.Taken {
		if p.Open[t.Number] {
			held += t.Size
		}
	}
	if most > 0 && held > most && held > x.Size {
		return fmt.Sprintf("the files of the instances that are under way have %d bytes with the next, of which %d are allowed", held, most)
	}
	if most > 0 && held > most {
		f.ready = f.ready[1:]
		p.Taken[x.name] = taken{x.stamp, -1}
		p.Missed++
		f.keep()
		return fmt.Sprintf("the file %s has %d bytes, of which %d are allowed, and is left out", x.name, x.Size, most)
	}
	return ""
}

// waits notes why nothing begins.
func (f *flow) waits(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.rec.Periods; p.Waits != why {
		p.Waits = why
		if why != "" {
			f.keeper.config.Log.Warn("files that appear begin no instance", "workflow", f.spec.ID, "error", why)
		}
	}
}

// pick takes the file that is ready for an instance; nil where no folder is watched. f.mu is held.
func (f *flow) pick(n int) *appeared {
	if len(f.ready) == 0 {
		return nil
	}
	x := f.ready[0]
	f.ready = f.ready[1:]
	f.rec.Periods.Taken[x.name] = taken{x.stamp, n}
	return &x
}

// putBack undoes pick, where no instance could be made: the file is looked at again.
func (f *flow) putBack(x *appeared, n int, why error) {
	f.waits(fmt.Sprintf("the file %s: %v", x.name, why))
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.rec.Periods.Open, n)
	f.again(n)
	f.keep()
}

// again has a file counted again whose instance was noted and not made; false if there is none. It was the last one. f.mu is held.
func (f *flow) again(n int) bool {
	p := f.rec.Periods
	for name, t := range p.Taken {
		if t.Number == n {
			delete(p.Taken, name)
			p.Next = n
			return true
		}
	}
	return false
}

// bring copies a file into the folder of an instance, if it is still what it was.
func (f *flow) bring(x *appeared, every *workflow.Periodic) (*came, error) {
	root, err := f.keeper.openFolder(f.spec.User, every.Folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	from, err := root.OpenFile(x.name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	same := func() error {
		if info, err := from.Stat(); err != nil || !mayCount(info) || stampOf(info) != x.stamp {
			return fmt.Errorf("%w: it changes", grid.ErrNotYet)
		}
		return nil
	}
	if err := same(); err != nil {
		return nil, err
	}
	name := filepath.Join(f.folder, "in", every.As)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	to, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	sums, n, err := stage.Hash(io.TeeReader(io.LimitReader(from, x.Size+1), to))
	if err = errors.Join(err, to.Sync(), to.Close(), same()); err == nil && n != x.Size {
		err = fmt.Errorf("%w: it changes", grid.ErrNotYet)
	}
	return &came{As: every.As, Name: x.name, Size: n, Contents: contents(&grid.File{Size: n, Ranges: sums})}, err
}

// likeOne plans all instances as if each ran alone.
func (f *flow) likeOne(places []workflow.Place) [][]string {
	w := api.Workflow(f.spec.Submission.Name, f.parts, func(i int, name string) int64 { return f.leaves[i][name] })
	planned, err := w.Plan(places, nil, workflow.Quick)
	if err != nil {
		f.keeper.config.Log.Info("a workflow that watches a folder has no plan, and goes on without one", "workflow", f.spec.ID, "error", err)
		return nil
	}
	row := make([]string, len(planned.Tasks))
	for i := range row {
		row[i] = planned.Tasks[i].Site
	}
	return [][]string{row}
}
