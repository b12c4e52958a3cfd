package flows

import (
	"errors"
	"fmt"
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
