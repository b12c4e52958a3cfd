package flows

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
)

// doneLooks is how often jobs called look have ended well with each text.
func doneLooks(b *broker) map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := map[string]int{}
	for id, r := range b.jobs {
		if r.Job.Name == "look" && r.State == grid.Completed {
			n[string(b.files[string(id)+"/in/picture"])]++
		}
	}
	return n
}

// A workflow that watches had its count while files were ready, and is resumed: it goes on with those that have not counted.
func TestWatchedFolderIsResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		all, folder := incoming(t)
		k, stop := keeperWith(t, t.TempDir(), b, func(c *Config) { c.Watch = all })
		defer stop()
		for i := range 4 {
			put(t, folder, fmt.Sprint("f", i), fmt.Sprint(i))
		}
		id := begin(t, k, watching(2))
		await(t, k, id)
		if _, err := k.ResumeFlow(t.Context(), bob, id); err != nil {
			t.Fatal(err)
		}
		if s := await(t, k, id); len(doneLooks(b)) != 4 || len(b.jobs) != 8 || s.Periods.Done != 2 {
			t.Errorf("%d jobs, the files were %v, the instances %+v", len(b.jobs), doneLooks(b), s.Periods)
		}
	})
}

// One that was cancelled while files ran and others waited is resumed: what ran to its end does not run again, all else does.
func TestWatchedFolderIsCancelledAndResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		all, folder := incoming(t)
		k, stop := keeperWith(t, t.TempDir(), b, func(c *Config) { c.Watch = all })
		defer stop()
		put(t, folder, "first", "first")
		id := begin(t, k, watching(0))
		time.Sleep(20 * time.Second) //house:allow sleep: virtual time
		b.mu.Lock()
		b.runs = time.Hour
		b.mu.Unlock()
		for i := range maxOpen + 2 {
			put(t, folder, fmt.Sprint("f", i), fmt.Sprint(i))
		}
		time.Sleep(20 * time.Second) //house:allow sleep: virtual time
		cancel := func() {
			if _, err := k.CancelFlow(t.Context(), bob, id); err != nil {
				t.Fatal(err)
			}
			await(t, k, id)
		}
		cancel()
		b.mu.Lock()
		b.runs = 2 * time.Second
		b.mu.Unlock()
		if _, err := k.ResumeFlow(t.Context(), bob, id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) //house:allow sleep: virtual time
		cancel()
		got := doneLooks(b)
		for text, n := range got {
			if n != 1 {
				t.Errorf("the file %q ran to its end %d times", text, n)
			}
		}
		if len(got) != maxOpen+3 {
			t.Errorf("%d files ran to their end", len(got))
		}
	})
}

// What is named as the folder is a pipe, at the beginning or later: nothing waits for a writer.
func TestWatchedFolderIsAPipe(t *testing.T) {
	t.Parallel()
	all, _ := incoming(t)
	if err := syscall.Mkfifo(filepath.Join(all, "bob", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	k, stop := keeperWith(t, t.TempDir(), newBroker(), func(c *Config) { c.Watch = all })
	defer stop()
	s := watching(1)
	s.Periodic.Folder = "pipe"
	began := time.Now()
	if _, _, err := k.SubmitFlow(t.Context(), bob, s); !errors.Is(err, grid.ErrInvalid) || !errors.Is(err, syscall.ENOTDIR) || time.Since(began) > folderLimit/2 {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// The name of a file is no UTF-8, and looks like what is written for another: each counts once, also after restarts.
func TestWatchedFileOfAnyName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		all, folder := incoming(t)
		home := t.TempDir()
		set := func(c *Config) { c.Watch = all }
		k, stop := keeperWith(t, home, b, set)
		names := []string{"M\xfcller", "M\xfdller", "M\ufffdller", "Müller", `"M\xfcller"`, "<&>\u2028"}
		for i, name := range names {
			put(t, folder, name, fmt.Sprint(i))
		}
		begin(t, k, watching(0))
		for range 3 {
			time.Sleep(20 * time.Second) //house:allow sleep: virtual time
			stop()
			k, stop = keeperWith(t, home, b, set)
		}
		time.Sleep(20 * time.Second) //house:allow sleep: virtual time
		stop()
		got := looks(b)
		for i, name := range names {
			if n := got[fmt.Sprint(i)]; n != 1 {
				t.Errorf("the file %q ran %d times", name, n)
			}
		}
	})
}

// A file has a second name for a moment, or the folder is seen empty, as a mount point is: what has counted does not count again. It
// does when it was away for long.
func TestWatchedFileIsNotSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		all, folder := incoming(t)
		k, stop := keeperWith(t, t.TempDir(), b, func(c *Config) { c.Watch = all })
		defer stop()
		put(t, folder, "one", "1")
		put(t, folder, "two", "2")
		begin(t, k, watching(0))
		time.Sleep(20 * time.Second) //house:allow sleep: virtual time
		away := filepath.Join(all, "away")
		for _, c := range []struct {
			long          time.Duration
			first, second int // how often each has run
		}{{2 * time.Second, 1, 1}, {forgetAfter / 2, 1, 1}, {forgetAfter / 2, 1, 1}, {2 * forgetAfter, 1, 2}} {
			if err := errors.Join(os.Link(filepath.Join(folder, "one"), away), os.Rename(filepath.Join(folder, "two"), away+"2")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.long) //house:allow sleep: virtual time
			if err := errors.Join(os.Remove(away), os.Rename(away+"2", filepath.Join(folder, "two"))); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Second) //house:allow sleep: virtual time
			if got := looks(b); got["1"] != c.first || got["2"] != c.second {
				t.Errorf("after %v out of sight: %v", c.long, got)
			}
		}
	})
}
