package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// settle is how long a change must be over before the file is read: an editor
// writes in several steps.
const settle = 100 * time.Millisecond

// lookAgain is how often a file is looked at that cannot be watched.
const lookAgain = 2 * time.Second

// WatchNeighbours takes up changes of the file of neighbours until ctx is done: when
// the file changes, or is seen to have changed where this machine has no more watches to give,
// and at SIGHUP (which serves where the file is a link into another folder). All of the file is verified first; then apply gets what it says,
// if that differs from what it had. A file with mistakes, or members that apply
// refuses, change nothing and are logged, and alarm says so as long as that holds.
func WatchNeighbours(ctx context.Context, c Config, log *zap.Logger, alarm *atomic.Pointer[string], apply func(Neighbourhood) error) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, unix.SIGHUP)
	defer signal.Stop(hangup)
	w := &neighbourWatch{config: c, log: log, apply: apply, now: c.Neighbourhood, alarm: alarm}
	// The folder, not the file: an editor replaces the file by another.
	watcher, err := watchFolder(filepath.Dir(c.Neighbours))
	if err != nil {
		log.Warn("the neighbours' file cannot be watched, and is looked at every few seconds: on Linux, sysctl fs.inotify.max_user_instances is how many watches a user may have", zap.Error(err))
		return w.look(ctx, hangup)
	}
	defer watcher.Close()
	return w.follow(ctx, hangup, watcher)
}

func watchFolder(folder string) (*fsnotify.Watcher, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := watcher.Add(folder); err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	return watcher, nil
}

// look takes the file when its time or size has changed.
func (w *neighbourWatch) look(ctx context.Context, again <-chan os.Signal) error {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	seen := stampOf(w.config.Neighbours)
	w.take(false)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			w.take(true)
		case <-ticker.C:
			if now := stampOf(w.config.Neighbours); now != seen {
				seen = now
				w.take(false)
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

// follow takes the file when the folder's watch tells of it.
func (w *neighbourWatch) follow(ctx context.Context, again <-chan os.Signal, watcher *fsnotify.Watcher) error {
	file := w.config.Neighbours
	w.take(false) // what changed between Load and the watch
	quiet := time.NewTimer(settle)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-watcher.Events:
			if !ok {
				return fmt.Errorf("watching %s: the watch ended", file)
			}
			if filepath.Base(e.Name) == filepath.Base(file) && e.Op != fsnotify.Chmod {
				quiet.Reset(settle)
			}
		case err := <-watcher.Errors:
			w.log.Warn("watching the neighbours missed something; reading them again", zap.Error(err))
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
		w.refused("")
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
	w.refused("")
	w.now = n
	w.log.Info("neighbours taken up", zap.Int("members", len(n.Members)))
}

// refused raises the alarm that the file is not taken up; "" ends it.
func (w *neighbourWatch) refused(why string) {
	if why == "" {
		w.alarm.Store(nil)
		return
	}
	text := fmt.Sprintf("the neighbours in %s %s, and the old ones stay: 'gbroker check --config %s' says why", w.config.Neighbours, why, w.config.File)
	w.alarm.Store(&text)
}
