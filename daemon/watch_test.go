package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

	"gbroker/grid"
	"gbroker/internal/localfs"
)

// TestWatchNeighbours follows one file through good and bad changes.
func TestWatchNeighbours(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	c := initSite(t)
	core, logs := observer.New(zapcore.InfoLevel)
	applied := make(chan []grid.Member)
	var refuse atomic.Bool
	hangup := make(chan os.Signal)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		watcher, err := watchFolder(filepath.Dir(c.Neighbours))
		if err != nil {
			done <- err
			return
		}
		w := &neighbourWatch{config: c, log: zap.New(core), now: c.Neighbourhood, alarm: new(atomic.Pointer[string]), apply: func(n Neighbourhood) error {
			applied <- n.Members
			if refuse.Load() {
				return errors.New("not these")
			}
			return nil
		}}
		changed := make(chan struct{}, 1)
		go w.watch(ctx, watcher, changed)
		done <- w.follow(ctx, hangup, changed)
	}()
	next := func(what string) []grid.Member {
		select {
		case m := <-applied:
			return m
		case <-time.After(10 * time.Second):
			t.Fatalf("%s was not applied", what)
			return nil
		}
	}
	logged := func(text string) {
		t.Helper()
		end, again := time.After(10*time.Second), time.NewTicker(time.Millisecond)
		defer again.Stop()
		for logs.FilterMessageSnippet(text).Len() == 0 {
			select {
			case <-again.C:
			case <-end:
				t.Fatalf("the log never said %q: %v", text, logs.All())
			}
		}
	}
	set := func(text string) {
		if err := localfs.Replace(c.Neighbours, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	hangup <- os.Interrupt // the first round is over once this is taken
	logged("neighbours unchanged")
	if _, err := AddNeighbour(ctx, c, grid.Member{Name: "b", Peer: peerA, Send: true, DefaultBandwidth: 1}); err != nil {
		t.Fatal(err)
	}
	if m := next("a new member"); len(m) != 1 || m[0].Name != "b" {
		t.Errorf("applied was %v", m)
	}
	set("members: [{name: b, peer: nobody}, {nam: c}]\n")
	logged("neighbours refused, the old ones stay")
	told := logs.FilterMessageSnippet("refused").All()[0].ContextMap()["mistakes"]
	if list, ok := told.([]any); !ok || len(list) != 4 || !strings.Contains(list[0].(string), c.Neighbours+":1:27: peer:") {
		t.Errorf("the log named the mistakes %v", told)
	}
	refuse.Store(true)
	set("members: []\n")
	next("an empty list")
	logged("neighbours refused, the old ones stay")
	hangup <- os.Interrupt // what was refused is tried again on demand
	if m := next("the empty list again"); len(m) != 0 {
		t.Errorf("applied was %v", m)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the watch ended with %v", err)
	}
}

// The folder of the neighbours is replaced as a whole, or is a link that is switched: the file in the new one is taken up, and watched.
func TestTheFolderOfNeighboursIsReplaced(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	folder := filepath.Join(t.TempDir(), "neighbours")
	c.Neighbours = filepath.Join(folder, "neighbours.yaml")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.Mkdir(folder+".new", 0o700)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	applied, done := make(chan int), make(chan error, 1)
	go func() {
		done <- WatchNeighbours(ctx, c, zap.NewNop(), nil, new(atomic.Pointer[string]), func(n Neighbourhood) error {
			applied <- len(n.Members)
			return nil
		})
	}()
	set := func(folder, members string) {
		t.Helper()
		if err := localfs.Replace(filepath.Join(folder, filepath.Base(c.Neighbours)), []byte("members: ["+members+"]\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	next := func(what string, members int) {
		t.Helper()
		select {
		case n := <-applied:
			if n != members {
				t.Errorf("%s: %d members", what, n)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s is not taken up", what)
		}
	}
	one := "{name: b, peer: " + string(peerA) + "}"
	set(folder, one)
	next("a change", 1)
	set(folder+".new", "")
	if err := errors.Join(os.Rename(folder, folder+".old"), os.Rename(folder+".new", folder)); err != nil {
		t.Fatal(err)
	}
	next("the file of a new folder", 0)
	set(folder, one)
	next("a change in the new folder", 1)
	link := filepath.Join(filepath.Dir(folder), "link")
	if err := errors.Join(os.Rename(folder, folder+".1"), os.Symlink(folder+".1", folder)); err != nil {
		t.Fatal(err)
	}
	set(folder, "")
	next("a change behind a link", 0)
	if err := os.Mkdir(folder+".2", 0o700); err != nil {
		t.Fatal(err)
	}
	set(folder+".2", one)
	if err := errors.Join(os.Symlink(folder+".2", link), os.Rename(link, folder)); err != nil {
		t.Fatal(err)
	}
	next("the file where the link leads now", 1)
	set(folder+".2", "")
	next("a change there", 0)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Where no file can be watched the neighbours are looked at: what has changed is taken up, and what has not is not.
func TestNeighboursAreLookedAt(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	synctest.Test(t, func(t *testing.T) {
		applied := 0
		w := &neighbourWatch{config: c, log: zap.NewNop(), now: c.Neighbourhood, alarm: new(atomic.Pointer[string]), apply: func(Neighbourhood) error {
			applied++
			return nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		changed := make(chan struct{}, 1)
		go look(ctx, c.Neighbours, changed)
		go func() { done <- w.follow(ctx, nil, changed) }()
		for n, members := range []string{"", "{name: b, peer: " + string(peerA) + "}", ""} {
			if n > 0 {
				if err := localfs.Replace(c.Neighbours, []byte("members: ["+members+"]\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				time.Sleep(lookAgain + 2*settle)
				synctest.Wait()
				if applied != n {
					t.Errorf("after change %d it was applied %d times", n, applied)
				}
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A file that cannot be watched: the log names the limit that is at fault.
func TestTheLimitOfWatchesIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		full bool
		want string
	}{
		{unix.ENOSPC, false, "fs.inotify.max_user_watches"},
		{unix.EMFILE, false, "fs.inotify.max_user_instances"},
		{unix.EMFILE, true, "ulimit -n"},
		{unix.ENFILE, false, "fs.file-max"},
	} {
		if got := wayOut(errors.Join(c.err, errors.New("more")), c.full); !strings.Contains(got, c.want) {
			t.Errorf("%v, %t: %s", c.err, c.full, got)
		}
	}
	if filesFull() {
		t.Error("this process may open no more files")
	}
}
