package flows

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// watching is a workflow of two tasks for each file that appears in a folder.
func watching(count int) api.FlowSubmission {
	return api.FlowSubmission{Key: "w", Name: "watching", Retries: 1, Periodic: &api.FlowPeriodic{Folder: "incoming", As: "picture", Count: count, DeadlineS: 30},
		Tasks: []api.FlowTask{made("look", "picture", "seen"), made("tell", "seen picture", "told")}}
}

// incoming makes the folder of bob that may be watched.
func incoming(t *testing.T) (all, folder string) {
	t.Helper()
	all = t.TempDir()
	folder = filepath.Join(all, "bob", "incoming")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return all, folder
}

func put(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// looks is how often jobs called look have had each text.
func looks(b *broker) map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := map[string]int{}
	for id, r := range b.jobs {
		if r.Job.Name == "look" {
			n[string(b.files[string(id)+"/in/picture"])]++
		}
	}
	return n
}

// Each file that appears begins an instance once it does not grow any more; one that is changed later begins another.
func TestWatchedFolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		all, folder := incoming(t)
		home := t.TempDir()
		k, stop := keeperWith(t, home, b, func(c *Config) { c.Watch = all })
		defer stop()
		put(t, folder, "before", "was there")
		id := begin(t, k, watching(4))
		time.Sleep(5 * time.Second) //house:allow sleep: virtual time
		for n := range 6 {
			put(t, folder, "grows", strings.Repeat("x", n+1))
			time.Sleep(2 * time.Second) //house:allow sleep: virtual time
		}
		time.Sleep(10 * time.Second) //house:allow sleep: virtual time
		put(t, folder, "grows", "another")
		put(t, folder, "last", "the last")
		s := await(t, k, id)
		want := map[string]int{"was there": 1, "xxxxxx": 1, "another": 1, "the last": 1}
		if got := looks(b); s.Periods.Done != 4 || s.Periods.Missed+s.Periods.Failed+s.Periods.Late != 0 || fmt.Sprint(got) != fmt.Sprint(want) || s.Periods.AgeMostS > 4.5 {
			t.Errorf("the files were %v, the instances %+v", got, s.Periods)
		}
		if list, err := os.ReadDir(home); err != nil || len(list) != 1 {
			t.Errorf("%d folders are left (%v)", len(list), err)
		}
	})
}

// What is not under the folder of the user that the site names is watched by nobody, and what is no plain file of his does not count.
func TestWatchedFolderIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		all, folder := incoming(t)
		secret := filepath.Join(all, "alice")
		if err := errors.Join(os.Mkdir(secret, 0o700), os.Symlink(secret, filepath.Join(all, "bob", "out")), os.WriteFile(filepath.Join(secret, "key"), []byte("secret"), 0o600),
			os.Link(filepath.Join(secret, "key"), filepath.Join(folder, "hard")), os.Symlink(filepath.Join(secret, "key"), filepath.Join(folder, "soft")),
			syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600), os.Mkdir(filepath.Join(folder, "dir"), 0o700)); err != nil {
			t.Fatal(err)
		}
		put(t, folder, ".hidden", "hidden")
		put(t, folder, "large", strings.Repeat("x", 101))
		none, stopNone := keeper(t, t.TempDir(), b)
		if _, _, err := none.SubmitFlow(t.Context(), bob, watching(1)); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "files.watch") {
			t.Errorf("where none may be watched: %v", err)
		}
		stopNone()
		k, stop := keeperWith(t, t.TempDir(), b, func(c *Config) { c.Watch, c.Bytes = all, 100 })
		defer stop()
		for _, path := range []string{"out", "../alice", "/etc", "none", "incoming/../../alice"} {
			s := watching(1)
			s.Periodic.Folder = path
			if _, _, err := k.SubmitFlow(t.Context(), bob, s); !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("the folder %s is watched: %v", path, err)
			}
		}
		for _, name := range []string{"..", "bob/incoming", ".", ""} {
			if _, _, err := k.SubmitFlow(t.Context(), api.Identity{Name: name}, watching(1)); err == nil {
				t.Errorf("the user %q watches", name)
			}
		}
		id := begin(t, k, watching(2))
		time.Sleep(30 * time.Second) //house:allow sleep: virtual time
		put(t, folder, "plain", "plain")
		time.Sleep(30 * time.Second) //house:allow sleep: virtual time
		if got := looks(b); len(got) != 1 || got["plain"] != 1 {
			t.Errorf("the files were %v", got)
		}
		for i := range maxWatched {
			put(t, folder, fmt.Sprint("more", i), "")
		}
		time.Sleep(10 * time.Second) //house:allow sleep: virtual time
		if s, err := k.Flow(t.Context(), bob, id); err != nil || !strings.Contains(s.Periods.Waits, "more than 2000 files") || s.Periods.Missed != 1 || s.Periods.Begun != 1 {
			t.Errorf("%+v (%v)", s.Periods, err)
		}
		if _, err := k.CancelFlow(t.Context(), bob, id); err != nil {
			t.Fatal(err)
		}
		await(t, k, id)
	})
}
