package flows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// A folder that is watched may lie in a file system that hangs, where a system call may never come back. So nobody who has anything else
// to do waits for one: a run asks a goroutine, one at a time, and goes on; a user who hands a workflow in is answered within
// [folderLimit]. Nothing can end a goroutine that is stuck, and nobody waits for it; one that comes back too late removes what it has made.

// folderLimit is how long a folder has for its answer before it counts as one that hangs.
const folderLimit = 5 * time.Second

// copyLimit is how long the copy of a file takes before the log tells of it.
const copyLimit = 10 * time.Minute

func errHangs(folder string) error {
	return fmt.Errorf("%w: the folder %s has not answered for %s: its file system hangs, or is very slow", grid.ErrUnavailable, folder, folderLimit)
}

// openFolder opens a folder of a user that may be watched.
func (k *Keeper) openFolder(user, folder string) (*os.Root, error) {
	if k.config.Watch == "" {
		return nil, errors.New("this site lets no folders be watched: its operator names one as files.watch in the configuration")
	}
	if !filepath.IsLocal(user) || user == "." || strings.ContainsRune(user, filepath.Separator) {
		return nil, fmt.Errorf("%q is no name of a folder", user)
	}
	all, err := k.config.OpenRoot(k.config.Watch)
	if err != nil {
		return nil, fmt.Errorf("watching folders: %w", err)
	}
	defer all.Close()
	own, err := all.OpenRoot(folderOnly(user))
	if err != nil {
		return nil, fmt.Errorf("the folder %s, below which %s may watch others: %w", filepath.Join(k.config.Watch, user), user, err)
	}
	defer own.Close()
	root, err := own.OpenRoot(folderOnly(folder))
	if err != nil {
		return nil, fmt.Errorf("the folder %s of %s: %w", folder, filepath.Join(k.config.Watch, user), err)
	}
	return root, nil
}

// folderOnly is the name of a folder which nothing else has: a pipe that is opened waits for its writer.
func folderOnly(name string) string { return name + "/." }

// present is what lies in a folder, the oldest first.
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
		x := appeared{name: e.Name()}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && mayCount(info) {
			x.stamp, x.put, x.may = stampOf(info), info.Sys().(*syscall.Stat_t).Ctim.Nano(), true
		}
		list = append(list, x)
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

// mayWatch says why a user's folder cannot be watched. One question of a user is under way at a time, so that those that are stuck do not
// become more.
func (k *Keeper) mayWatch(user, folder string) error {
	limit := time.After(folderLimit)
	turn := k.turn(user)
	select {
	case turn <- struct{}{}:
	case <-limit:
		return errHangs(folder)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := k.present(user, folder)
		<-turn
		answer <- err
	}()
	select {
	case err := <-answer:
		if err != nil {
			return fmt.Errorf("%w: %w", grid.ErrInvalid, err)
		}
		return nil
	case <-limit:
		return errHangs(folder)
	}
}

// turn is a channel of one place, of a user.
func (k *Keeper) turn(user string) chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.turns[user] == nil {
		k.turns[user] = make(chan struct{}, 1)
	}
	return k.turns[user]
}

// answer is what a folder was asked for: what was found, or a file that was copied.
type answer struct {
	list []appeared
	file *appeared // nil: the folder was looked at
	copy *copied
	err  error
}

// copied is a file that appeared, in the folder of an instance that is to be.
type copied struct {
	file   appeared
	came   *came
	id     api.FlowID
	folder string
	at     grid.Tick // when it was found
}

// discard removes a copy of which there is to be no instance.
func (c *copied) discard() error {
	if c == nil {
		return nil
	}
	return os.RemoveAll(c.folder)
}

// ask has the folder asked; slow is what to say where that takes long. Once ctx is done nobody hears the answer.
func (w *watcher) ask(ctx context.Context, slow string, do func() answer) {
	w.asked, w.askedAt, w.slow = make(chan answer), time.Now(), slow
	asked := w.asked
	go func() {
		a := do()
		select {
		case asked <- a:
		case <-ctx.Done():
			if err := a.copy.discard(); err != nil {
				w.f.keeper.config.Log.Error("the copy of a file that appeared is not removed", "workflow", w.f.spec.ID, "error", err)
			}
		}
	}()
}

// fetch copies a file into a folder for an instance.
func (w *watcher) fetch(ctx context.Context, x appeared) answer {
	k := w.f.keeper
	ulid, err := k.config.NewID()
	if err != nil {
		return answer{file: &x, err: err}
	}
	c := &copied{file: x, id: api.NewFlowID(k.config.Site, ulid), at: k.config.Now()}
	c.folder = k.folder(c.id)
	if c.came, err = w.bring(ctx, &x, c.folder); err != nil {
		return answer{file: &x, err: errors.Join(err, c.discard())}
	}
	return answer{file: &x, copy: c}
}

// bring copies a file into a folder for an instance, if it is still what it was.
func (w *watcher) bring(ctx context.Context, x *appeared, folder string) (*came, error) {
	root, err := w.f.keeper.openFolder(w.f.spec.User, w.every.Folder)
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
	name := filepath.Join("in", w.every.As)
	if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o700); err != nil {
		return nil, err
	}
	to, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	n, is, err := w.f.keeper.store(ctx, to, from, x.Size)
	if err = errors.Join(err, same()); err == nil && n != x.Size {
		err = fmt.Errorf("%w: it changes", grid.ErrNotYet)
	}
	if err == nil {
		err = w.f.keeper.settle(folder, name)
	}
	return &came{As: w.every.As, Name: x.key(), Size: n, Contents: is}, err
}
