package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// settle is how long a change must be over before the file is read: an editor
// writes in several steps.
const settle = 100 * time.Millisecond

// lookAgain is how often a file is looked at that cannot be watched, and whether a folder that is watched is still the one at its path.
const lookAgain = 2 * time.Second

// WatchNeighbours takes up changes of the file of neighbours until ctx is done: when
// the file changes, or is seen to have changed where this machine has no more watches to give,
// and at a word of again, which is SIGHUP (and serves where the file is a link into another folder). All of the file is verified first; then apply gets what it says,
// if that differs from what it had. A file with mistakes, or members that apply
// refuses, change nothing and are logged, and alarm says so as long as that holds.
func WatchNeighbours(ctx context.Context, c Config, log *zap.Logger, again <-chan os.Signal, alarm *atomic.Pointer[string], apply func(Neighbourhood) error) error {
	w := &neighbourWatch{config: c, log: log, apply: apply, now: c.Neighbourhood, alarm: alarm}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	changed := make(chan struct{}, 1)
	// The folder, not the file: an editor replaces the file by another.
	watcher, err := watchFolder(filepath.Dir(c.Neighbours))
	if err != nil {
		log.Warn("the neighbours' file cannot be watched, and is looked at every few seconds", zap.String("way_out", wayOut(err, filesFull())), zap.Error(err))
		watching.Go(func() { look(ctx, c.Neighbours, changed) })
	} else {
		watching.Go(func() { w.watch(ctx, watcher, changed) })
	}
	return w.follow(ctx, again, changed)
}

// folderWatch watches the folder at a path.
type folderWatch struct {
	*fsnotify.Watcher
	folder string
	is     os.FileInfo // what was there before it was watched
}

func watchFolder(folder string) (*folderWatch, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	f := &folderWatch{Watcher: watcher, folder: folder}
	if err := f.begin(); err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	return f, nil
}

func (f *folderWatch) begin() error {
	is, err := os.Stat(f.folder)
	if err == nil {
		err = f.Add(f.folder)
	}
	if err == nil {
		f.is = is
	}
	return err
}

// another tells that the path leads to another folder by now: nobody tells of a link that was switched.
func (f *folderWatch) another() bool {
	is, err := os.Stat(f.folder)
	return err == nil && !os.SameFile(is, f.is)
}

// again watches the folder that is, or will be, in the place of one that is gone: a watch goes with its folder.
func (f *folderWatch) again(ctx context.Context) {
	f.Remove(f.folder) // an error tells that the watch is gone already
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for f.begin() != nil {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}

// filesFull tells that this process may open no more files.
func filesFull() bool {
	f, err := os.Open(os.DevNull)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, unix.EMFILE)
}

// wayOut says which limit, on Linux, has left nothing to watch a file with; full is that this process may open no more files.
func wayOut(err error, full bool) string {
	switch {
	case errors.Is(err, unix.ENOSPC):
		return "raise sysctl fs.inotify.max_user_watches, how many files a user may watch"
	case errors.Is(err, unix.EMFILE) && full:
		return "raise the limit of open files of this process: ulimit -n, or LimitNOFILE of its unit"
	case errors.Is(err, unix.EMFILE):
		return "raise sysctl fs.inotify.max_user_instances, how many watches a user may have"
	case errors.Is(err, unix.ENFILE):
		return "raise sysctl fs.file-max, how many files this machine may have open"
	case errors.Is(err, unix.ENOMEM):
		return "the kernel has no memory left for it"
	}
	return "see the error"
}

// tell says that the file may have changed, unless that is said already.
func tell(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}

// look tells when the file's time or size has changed, and at once, for what changed before it looked.
func look(ctx context.Context, file string, changed chan<- struct{}) {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	seen := stampOf(file)
	tell(changed)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if now := stampOf(file); now != seen {
				seen = now
				tell(changed)
			}
		}
	}
}

// stamp is what tells that a file is another, or was written.
type stamp struct {
	at   time.Time
	size int64
}

func stampOf(file string) stamp {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

// watch tells when the folder's watch speaks of the file, and ends the watch.
func (w *neighbourWatch) watch(ctx context.Context, watcher *folderWatch, changed chan<- struct{}) {
	defer watcher.Close()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-watcher.Events:
			if !ok {
				w.log.Warn("the watch of the neighbours' file has ended; it is looked at every few seconds")
				look(ctx, w.config.Neighbours, changed)
				return
			}
			switch {
			case e.Name == watcher.folder && e.Op.Has(fsnotify.Remove|fsnotify.Rename):
				watcher.again(ctx)
				tell(changed)
			case filepath.Base(e.Name) == filepath.Base(w.config.Neighbours) && e.Op != fsnotify.Chmod:
				tell(changed)
			}
		case <-ticker.C:
			if watcher.another() {
				watcher.again(ctx)
				tell(changed)
			}
		case err := <-watcher.Errors:
			w.log.Warn("watching the neighbours missed something; reading them again", zap.Error(err))
			tell(changed)
		}
	}
}

// follow takes the file when it may have changed, and at each word of again.
func (w *neighbourWatch) follow(ctx context.Context, again <-chan os.Signal, changed <-chan struct{}) error {
	w.take(false) // what changed between Load and now
	quiet := time.NewTimer(settle)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			quiet.Reset(settle)
		case <-quiet.C:
			w.take(false)
		case <-again:
			w.take(true)
		}
	}
}

// neighbourWatch holds what apply last took.
type neighbourWatch struct {
	config Config
	log    *zap.Logger
	apply  func(Neighbourhood) error
	now    Neighbourhood
	alarm  *atomic.Pointer[string] // that the file is not taken up
}

// take reads the file and applies it; asked tells that a person wants an answer in the log.
func (w *neighbourWatch) take(asked bool) {
	n, err := LoadNeighbours(w.config)
	var wrong Mistakes
	switch {
	case errors.As(err, &wrong):
		texts := make([]string, len(wrong))
		for i, m := range wrong {
			texts[i] = m.String()
		}
		w.log.Error("neighbours refused, the old ones stay", zap.Strings("mistakes", texts))
		w.refused("are refused")
		return
	case err != nil:
		w.log.Error("neighbours not read, the old ones stay", zap.Error(err))
		w.refused("cannot be read")
		return
	case n.same(w.now):
		w.alarm.Store(nil)
		if asked {
			w.log.Info("neighbours unchanged", zap.Int("members", len(n.Members)))
		}
		return
	}
	if err := w.apply(n); err != nil {
		w.log.Error("neighbours refused, the old ones stay", zap.Error(err))
		w.refused("are refused")
		return
	}
	w.alarm.Store(nil)
	w.now = n
	w.log.Info("neighbours taken up", zap.Int("members", len(n.Members)))
}

// refused raises the alarm that the file is not taken up.
func (w *neighbourWatch) refused(why string) {
	text := fmt.Sprintf("the neighbours in %s %s, and the old ones stay: 'gbroker check --config %s' says why", w.config.Neighbours, why, w.config.File)
	w.alarm.Store(&text)
}
