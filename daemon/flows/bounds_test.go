package flows

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/internal/localfs"
)

// loud counts the lines of a log that are warnings or worse.
type loud struct {
	slog.Handler
	lines atomic.Int32
}

func (l *loud) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *loud) Handle(_ context.Context, _ slog.Record) error    { l.lines.Add(1); return nil }
func (l *loud) WithAttrs(_ []slog.Attr) slog.Handler             { return l }

// Files of which no instance can be made are tried less and less often, and said once; when it can be made, each is seen once.
func TestWatchedFileCannotBeTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		var writes atomic.Int32
		b, log := newBroker(), &loud{}
		all, folder := incoming(t)
		home := t.TempDir()
		k, stop := keeperWith(t, home, b, func(c *Config) {
			c.Watch, c.Log = all, slog.New(log)
			c.Replace = func(path string, text []byte, mode fs.FileMode) error {
				if writes.Add(1); broken.Load() && filepath.Base(path) == "spec.json" {
					return syscall.EIO
				}
				return localfs.Replace(path, text, mode)
			}
		})
		defer stop()
		id := begin(t, k, watching(0))
		broken.Store(true)
		put(t, folder, "one", "1")
		put(t, folder, "two", "2")
		time.Sleep(time.Hour) //house:allow sleep: virtual time
		s, err := k.Flow(t.Context(), bob, id)
		if err != nil || !strings.Contains(s.Periods.Waits, `"one"`) || !strings.Contains(s.Periods.Waits, syscall.EIO.Error()) {
			t.Errorf("it is %+v (%v)", s.Periods, err)
		}
		if n := writes.Load(); n > 120 {
			t.Errorf("%d writes in an hour", n)
		}
		if n := log.lines.Load(); n > 4 {
			t.Errorf("%d warnings in an hour", n)
		}
		broken.Store(false)
		time.Sleep(maxPause + time.Minute) //house:allow sleep: virtual time
		if got := looks(b); len(got) != 2 || got["1"] != 1 || got["2"] != 1 {
			t.Errorf("the files were %v", got)
		}
		if s, err := k.Flow(t.Context(), bob, id); err != nil || s.Periods.Done != 2 || s.Periods.Waits != "" {
			t.Errorf("it is %+v (%v)", s.Periods, err)
		}
	})
}

// A keeper ends though no instance can be made of hundreds of files that are ready.
func TestKeeperEndsWhileFilesCannotBeTaken(t *testing.T) {
	t.Parallel()
	all, folder := incoming(t)
	for i := range 300 {
		put(t, folder, fmt.Sprint("f", i), "x")
	}
	var tried atomic.Int32
	k, stop := keeperWith(t, t.TempDir(), newBroker(), func(c *Config) {
		c.Watch = all
		c.Replace = func(path string, text []byte, mode fs.FileMode) error {
			if filepath.Base(path) == "spec.json" && tried.Add(1) > 1 {
				return syscall.EIO
			}
			return os.WriteFile(path, text, mode)
		}
	})
	begin(t, k, watching(0))
	within(t, 20*time.Second, "the first file", func() {
		for tried.Load() < 2 {
			time.Sleep(10 * time.Millisecond) //house:allow sleep: what a disk does is seen by looking
		}
	})
	within(t, 5*time.Second, "the end", stop)
}

// largeFile is a file that costs whoever makes it nothing.
func largeFile(t *testing.T, folder string, size int64) {
	t.Helper()
	put(t, folder, "large", "")
	if err := os.Truncate(filepath.Join(folder, "large"), size); err != nil {
		t.Fatal(err)
	}
}

// written are the bytes of files beside those of workflows themselves.
func written(t *testing.T, home string) (sum int64) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(home, "*", "in", "picture"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		if info, err := os.Stat(name); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// The disk is nearly full, or becomes so while a file is copied: no more is written, nothing of it stays, and it is told; with room it goes on.
func TestWatchedFileHasNoRoom(t *testing.T) {
	t.Parallel()
	const size = askRoom * 3 / 2
	for _, at := range []int32{1, 3} { // the question to which the answer is no
		synctest.Test(t, func(t *testing.T) {
			var asked, most atomic.Int64
			var full atomic.Bool
			b, home := newBroker(), t.TempDir()
			all, folder := incoming(t)
			k, stop := keeperWith(t, home, b, func(c *Config) {
				c.Watch = all
				c.Free = func() (int64, error) {
					most.Store(max(most.Load(), written(t, home)))
					if full.Load() && asked.Add(1) >= int64(at) {
						return 0, nil
					}
					return 2 * size, nil
				}
			})
			defer stop()
			id := begin(t, k, watching(1))
			full.Store(true)
			largeFile(t, folder, size)
			time.Sleep(20 * time.Second) //house:allow sleep: virtual time
			if s, err := k.Flow(t.Context(), bob, id); err != nil || !strings.Contains(s.Periods.Waits, "MiB") || s.Periods.Begun != 0 {
				t.Errorf("it is %+v (%v)", s.Periods, err)
			}
			if most.Load() > 2*askRoom || written(t, home) != 0 {
				t.Errorf("%d bytes were written, %d are left", most.Load(), written(t, home))
			}
			full.Store(false)
			put(t, folder, "large", "small")
			if s := await(t, k, id); s.Periods.Done != 1 || s.Periods.Waits != "" {
				t.Errorf("it is %+v", s.Periods)
			}
		})
	}
}

// A keeper ends while a large file is copied: the copy ends too, and nothing of it stays.
func TestKeeperEndsWhileFileIsCopied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, home := newBroker(), t.TempDir()
		all, folder := incoming(t)
		var most atomic.Int64
		copying, ended := make(chan struct{}), make(chan struct{})
		k, stop := keeperWith(t, home, b, func(c *Config) {
			c.Watch = all
			c.Free = func() (int64, error) {
				if n := written(t, home); n > 0 && most.Swap(n) == 0 {
					close(copying)
					<-ended
				}
				return 1 << 40, nil
			}
		})
		begin(t, k, watching(1))
		largeFile(t, folder, 4*askRoom)
		<-copying
		stop()
		close(ended)
		synctest.Wait()
		if most.Load() > 2*askRoom || written(t, home) != 0 {
			t.Errorf("%d bytes were written, %d are left", most.Load(), written(t, home))
		}
	})
}

// Without room neither a workflow nor a file of one is taken; with room both are.
func TestNoRoomForWorkflows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Int64
		k, stop := keeperWith(t, t.TempDir(), newBroker(), func(c *Config) { c.Free = func() (int64, error) { return free.Load(), nil } })
		defer stop()
		if _, _, err := k.SubmitFlow(t.Context(), bob, diamond()); !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("it is taken: %v", err)
		}
		free.Store(1 << 20)
		f, _, err := k.SubmitFlow(t.Context(), bob, diamond())
		if err != nil {
			t.Fatal(err)
		}
		free.Store(4)
		if err := k.UploadFlow(t.Context(), bob, f.ID, "text", strings.NewReader("xxxxx")); !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("the file is taken: %v", err)
		}
		free.Store(1 << 20)
		if s := await(t, k, begin(t, k, diamond())); s.States[api.FlowDone] != 4 {
			t.Errorf("the tasks are %v", s.States)
		}
	})
}

// The files of all instances of a user together are within the bound, in however many workflows, also when their sources are gone.
func TestWatchedBytesOfUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, home := newBroker(), t.TempDir()
		b.runs = time.Hour
		all, folder := incoming(t)
		k, stop := keeperWith(t, home, b, func(c *Config) { c.Watch, c.Bytes = all, 1000 })
		defer stop()
		first, second := watching(0), watching(0)
		second.Key = "second"
		ids := []api.FlowID{begin(t, k, first), begin(t, k, second)}
		for i := range 6 {
			put(t, folder, "same", strings.Repeat(fmt.Sprint(i), 400))
			time.Sleep(10 * time.Second) //house:allow sleep: virtual time
			if err := os.Remove(filepath.Join(folder, "same")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) //house:allow sleep: virtual time
		}
		put(t, folder, "same", strings.Repeat("x", 400))
		time.Sleep(10 * time.Second) //house:allow sleep: virtual time
		if n := written(t, home); n != 800 {
			t.Errorf("of 1000 bytes that are allowed there are %d", n)
		}
		for _, id := range ids {
			if s, err := k.Flow(t.Context(), bob, id); err != nil || !strings.Contains(s.Periods.Waits, "1000 are allowed") {
				t.Errorf("it is %+v (%v)", s.Periods, err)
			}
			if _, err := k.CancelFlow(t.Context(), bob, id); err != nil {
				t.Fatal(err)
			}
			await(t, k, id)
		}
	})
}

// A user watches no more folders at a time than are allowed.
func TestWatchesOfUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, _ := incoming(t)
		k, stop := keeperWith(t, t.TempDir(), newBroker(), func(c *Config) { c.Watch = all })
		defer stop()
		s := watching(0)
		var last api.FlowID
		for i := range maxWatches {
			s.Key = fmt.Sprint(i)
			last = begin(t, k, s)
		}
		s.Key = "more"
		if _, _, err := k.SubmitFlow(t.Context(), bob, s); !errors.Is(err, grid.ErrNotYet) {
			t.Errorf("one more is taken: %v", err)
		}
		if _, err := k.CancelFlow(t.Context(), bob, last); err != nil {
			t.Fatal(err)
		}
		await(t, k, last)
		begin(t, k, s)
		if _, err := k.ResumeFlow(t.Context(), bob, last); !errors.Is(err, grid.ErrNotYet) {
			t.Errorf("one more is resumed: %v", err)
		}
	})
}

// A copy that takes its time is told in the status, and in the log only where it takes very long, once.
func TestCopyIsSlow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		takes time.Duration
		logs  int32
	}{{20 * time.Second, 0}, {3 * copyLimit, 1}} {
		synctest.Test(t, func(t *testing.T) {
			all, folder := incoming(t)
			home, log := t.TempDir(), &loud{}
			var slow atomic.Bool
			k, stop := keeperWith(t, home, newBroker(), func(x *Config) {
				x.Watch, x.Log = all, slog.New(log)
				x.Free = func() (int64, error) {
					if list, err := filepath.Glob(filepath.Join(home, "*", "in", "picture")); err == nil && len(list) > 0 && !slow.Swap(true) {
						time.Sleep(c.takes) //house:allow sleep: virtual time
					}
					return 1 << 40, nil
				}
			})
			defer stop()
			s := watching(1)
			s.Periodic.DeadlineS = 0
			id := begin(t, k, s)
			put(t, folder, "large", "text")
			time.Sleep(15 * time.Second) //house:allow sleep: virtual time
			if f, err := k.Flow(t.Context(), bob, id); err != nil || !strings.Contains(f.Periods.Waits, `"large" is being copied since`) {
				t.Errorf("it is %+v (%v)", f.Periods, err)
			}
			if f := await(t, k, id); f.Periods.Done != 1 || f.Periods.Waits != "" || log.lines.Load() != c.logs {
				t.Errorf("a copy of %v: %+v, %d warnings", c.takes, f.Periods, log.lines.Load())
			}
		})
	}
}
