package flows

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// hanging opens folders of a file system that answers until it hangs; thaw lets it go on.
type hanging struct {
	hangs atomic.Bool
	thaw  chan struct{}
	asked atomic.Int32 // that have not come back
	calls atomic.Int32
	at    int32 // the call that hangs, if not 0
}

func (h *hanging) open(name string) (*os.Root, error) {
	h.asked.Add(1)
	defer h.asked.Add(-1)
	if n := h.calls.Add(1); n == h.at || h.hangs.Load() {
		<-h.thaw
	}
	return os.OpenRoot(name)
}

// keeperOnHanging is a keeper whose users' folders lie on such a file system.
func keeperOnHanging(t *testing.T, home, all string, b *broker) (*hanging, *Keeper, func()) {
	h := &hanging{thaw: make(chan struct{})}
	k, stop := keeperWith(t, home, b, func(c *Config) { c.Watch, c.OpenRoot = all, h.open })
	return h, k, stop
}

// within fails a test in which something does not return in its (virtual) time.
func within(t *testing.T, limit time.Duration, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Errorf("%s has not come back for %s", what, limit)
	}
}

// The file system of a folder that is watched hangs: its workflow says so, and can be cancelled; other users' workflows are taken, run and
// removed; who hands in another for that file system is refused; and the broker ends.
func TestWatchedFolderHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, folder := incoming(t)
		h, k, stop := keeperOnHanging(t, t.TempDir(), all, newBroker())
		first, second := watching(0), watching(0)
		second.Key = "second"
		one, two := begin(t, k, first), begin(t, k, second)
		put(t, folder, "file", "text")
		time.Sleep(10 * time.Second) //house:allow sleep: virtual time
		h.hangs.Store(true)
		time.Sleep(time.Minute) //house:allow sleep: virtual time
		if f, err := k.Flow(t.Context(), bob, one); err != nil || f.Periods.Waits == "" || f.Periods.Done != 1 {
			t.Errorf("it is %+v (%v)", f.Periods, err)
		}
		within(t, time.Minute, "a workflow for the file system that hangs", func() {
			for _, key := range []string{"third", "fourth"} {
				third := watching(0)
				third.Key = key
				if _, _, err := k.SubmitFlow(t.Context(), bob, third); !errors.Is(err, grid.ErrUnavailable) {
					t.Errorf("it is taken: %v", err)
				}
			}
		})
		within(t, time.Minute, "another workflow", func() {
			other, _, err := k.SubmitFlow(t.Context(), api.Identity{Name: "alice"}, alone())
			if err != nil {
				t.Error(err)
				return
			}
			if f, err := k.WaitFlow(t.Context(), api.Identity{Name: "alice"}, other.ID); err != nil || f.States[api.FlowDone] != 1 {
				t.Errorf("it is %v (%v)", f.States, err)
			}
			k.removeOld()
		})
		within(t, time.Minute, "a cancel", func() {
			ctx, done := context.WithTimeout(t.Context(), time.Minute)
			defer done()
			if _, err := k.CancelFlow(ctx, bob, one); err != nil {
				t.Error(err)
			}
			if f, err := k.WaitFlow(ctx, bob, one); err != nil || f.State != ended {
				t.Errorf("it is %s (%v)", f.State, err)
			}
		})
		if n := h.asked.Load(); n > 3 {
			t.Errorf("%d are stuck in the file system", n)
		}
		within(t, time.Minute, "the broker's end", stop)
		close(h.thaw)
		synctest.Wait()
		_ = two
	})
}

// A file system that hangs at any of the looks or at the copy, and goes on: the file is seen once, and nothing of the copy stays.
func TestWatchedFolderHangsAndGoesOn(t *testing.T) {
	t.Parallel()
	for at := range int32(8) {
		synctest.Test(t, func(t *testing.T) {
			all, folder := incoming(t)
			b, home := newBroker(), t.TempDir()
			h, k, stop := keeperOnHanging(t, home, all, b)
			defer stop()
			h.at = at + 2
			id := begin(t, k, watching(1))
			put(t, folder, "file", "text")
			time.Sleep(20 * time.Second) //house:allow sleep: virtual time
			f, err := k.Flow(t.Context(), bob, id)
			if hung := h.asked.Load() > 0; err != nil || hung != (f.Periods.Waits != "") || hung != (f.State == running) {
				t.Errorf("look %d hangs: it is %+v (%v)", h.at, f.Periods, err)
			}
			close(h.thaw)
			f = await(t, k, id)
			if got := looks(b); f.Periods.Done != 1 || f.Periods.Waits != "" || got["text"] != 1 || len(got) != 1 {
				t.Errorf("look %d hung: the files were %v, the instances %+v", h.at, got, f.Periods)
			}
			if list, err := os.ReadDir(home); err != nil || len(list) != 1 {
				t.Errorf("look %d hung: %d folders are left (%v)", h.at, len(list), err)
			}
		})
	}
}
