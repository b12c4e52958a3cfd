package flows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/localfs"
)

// life is one of a home, which ends at one of its writes: what was on disk then is in next, and nothing that it does later is seen by anybody.
type life struct {
	*broker
	t    *testing.T
	full *atomic.Bool
	home string
	next string
	late bool          // it ends after that write, not before
	cut  chan struct{} // closed at its end

	mu   sync.Mutex
	left int // writes
}

func (l *life) dead() error {
	select {
	case <-l.cut:
		return fmt.Errorf("%w: the process is dead", grid.ErrUnavailable)
	default:
		return nil
	}
}

func (l *life) Submit(ctx context.Context, who api.Identity, n api.NewJob) (grid.Record, bool, error) {
	if err := l.dead(); err != nil {
		return grid.Record{}, false, err
	}
	return l.broker.Submit(ctx, who, n)
}

func (l *life) Upload(ctx context.Context, who api.Identity, id grid.JobID, path string, offset int64, body io.Reader) error {
	if err := l.dead(); err != nil {
		return err
	}
	return l.broker.Upload(ctx, who, id, path, offset, body)
}

func (l *life) Uploaded(ctx context.Context, who api.Identity, id grid.JobID) (grid.Record, error) {
	if err := l.dead(); err != nil {
		return grid.Record{}, err
	}
	return l.broker.Uploaded(ctx, who, id)
}

// replace is a write of this life.
func (l *life) replace(path string, text []byte, mode fs.FileMode) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.dead(); err != nil {
		return err
	}
	l.left--
	if l.left == 0 && !l.late {
		return l.end()
	}
	if err = syscall.ENOSPC; !l.full.Load() {
		err = localfs.Replace(path, text, mode)
	}
	if l.left == 0 {
		return l.end()
	}
	return err
}

// end has all that is on disk copied; what is being removed meanwhile may be there or not.
func (l *life) end() error {
	defer close(l.cut)
	for {
		l.next = l.t.TempDir()
		switch err := os.CopyFS(l.next, os.DirFS(l.home)); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			l.t.Error(err)
			return err
		default:
			return syscall.EIO
		}
	}
}

// live is a keeper that ends at its write of that number.
func (l *life) live(all string) (k *Keeper, stop func()) {
	return keeperWith(l.t, l.home, l, func(c *Config) { c.Watch, c.Replace = all, l.replace })
}

// The home is killed at any of its writes, before or after it, and its disk is full now and then: each file is seen once, by an instance that
// ends well, and nothing of others stays.
func TestWatchedFolderThroughFaults(t *testing.T) { watchedThroughFaults(t, *histories/3+1) }

func TestLargeWatchedFolderThroughFaults(t *testing.T) { watchedThroughFaults(t, many/3+1) }

func watchedThroughFaults(t *testing.T, histories int) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	for n := range uint64(histories) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, n))
			b := newBroker()
			all, folder := incoming(t)
			var full atomic.Bool
			next := func(home string) *life {
				return &life{broker: b, t: t, full: &full, home: home, late: r.IntN(2) == 0, cut: make(chan struct{}), left: 1 + r.IntN(20)}
			}
			l := next(t.TempDir())
			l.left = 1 << 30
			k, stop := l.live(all)
			id := begin(t, k, watching(8))
			l.mu.Lock()
			l.left = 1 + r.IntN(20)
			l.mu.Unlock()
			for i := range 8 {
				put(t, folder, fmt.Sprint("f", i), fmt.Sprint("text ", i))
				full.Store(r.IntN(4) == 0)
				select {
				case <-time.After(time.Duration(r.IntN(6000)) * time.Millisecond):
				case <-l.cut:
					stop()
					l = next(l.next)
					k, stop = l.live(all)
				}
			}
			full.Store(false)
			for lives := 0; ; lives++ {
				ctx, done := context.WithTimeout(t.Context(), time.Hour)
				go func() { defer done(); _, _ = k.WaitFlow(ctx, bob, id) }()
				select {
				case <-ctx.Done():
				case <-l.cut:
				}
				done()
				over := l.dead() == nil
				stop()
				if over {
					break
				}
				if l = next(l.next); lives > 10 {
					l.left = 1 << 30
				}
				k, stop = l.live(all)
			}
			got, s := looks(b), k.flows[id].status()
			for i := range 8 {
				if got[fmt.Sprint("text ", i)] != 1 || len(got) != 8 || s.Periods.Done != 8 {
					t.Errorf("seed %d, %d: %v, the instances %+v", seed, n, got, s.Periods)
					break
				}
			}
			if list, err := filepath.Glob(filepath.Join(l.home, "*")); err != nil || len(list) != 1 {
				t.Errorf("seed %d, %d: %d folders are left (%v)", seed, n, len(list), err)
			}
		})
	}
}
