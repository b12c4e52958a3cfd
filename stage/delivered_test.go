package stage

import (
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/grid"
)

// Who serves files learns how long it took until the peer had them, all streams together; not of small ones, which tell nothing of the
// way. While files move both ends say so.
func TestDelivered(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	type told struct {
		to    grid.PeerID
		bytes int64
		took  time.Duration
	}
	var mu sync.Mutex
	var all []told
	moved := map[string]bool{}
	var server, client *Stager
	server = n.site("a", func(c *Config) {
		c.Delivered = func(to grid.PeerID, set Set, bytes int64, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, told{to, bytes, took})
		}
		authorize := c.Authorize
		c.Authorize = func(p grid.PeerID, id grid.JobID, set Set) (Grant, error) {
			mu.Lock()
			moved["client"] = moved["client"] || client.Moving()
			moved["server"] = moved["server"] || server.Moving()
			mu.Unlock()
			return authorize(p, id, set)
		}
	})
	client = n.site("b", nil)
	const large, small = 20 << 20, 1 << 10
	for id, size := range map[grid.JobID]int64{job: large, "alpha.01ARZ3NDEKTSV4RRFFQ69G5FAW": small} {
		if _, err := server.Receive(t.Context(), id, "f", size, 0o600, 0, io.LimitReader(rand.NewChaCha8([32]byte{}), size)); err != nil {
			t.Fatal(err)
		}
		m, err := server.Received(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Fetch(t.Context(), "a", id, Inputs, m, grid.User{}); err != nil {
			t.Fatal(err)
		}
	}
	n.wg.Wait() // all streams have ended
	if len(all) != 1 || all[0].to != "b" || all[0].bytes != large || all[0].took <= 0 {
		t.Errorf("it is told %+v; want one of %d bytes", all, large)
	}
	if !moved["client"] || !moved["server"] || client.Moving() || server.Moving() {
		t.Errorf("files moved: %v, and afterwards %t, %t", moved, client.Moving(), server.Moving())
	}
}

// A peer that keeps its stream for long after the last bytes, or breaks it off, tells nothing of the way.
func TestWhatIsNoDelivery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		silent time.Duration
		broken bool
		bytes  int64
		told   int
	}{
		"at once": {0, false, worthTelling, 1}, "a little later": {idleBeside / 2, false, worthTelling, 1}, "long after": {idleBeside + time.Second, false, worthTelling, 0},
		"broken off": {0, true, worthTelling, 0}, "little": {0, false, worthTelling - 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			told := 0
			s := newNetwork(t).site("a", func(k *Config) { k.Delivered = func(grid.PeerID, Set, int64, time.Duration) { told++ } })
			first, second := &server{s: s, from: "b"}, &server{s: s, from: "b"}
			first.deliver(request{set: Inputs, job: job}, c.bytes-1)
			second.deliver(request{set: Inputs, job: job}, 1)
			time.Sleep(c.silent) //house:allow sleep: of the bubble's clock
			first.delivered(c.broken)
			if told > 0 || !s.Moving() {
				t.Errorf("%s: with one of two streams it is told %d times, and moves %t", name, told, s.Moving())
			}
			second.delivered(false)
			if told != c.told || s.Moving() {
				t.Errorf("%s: it is told %d times, and moves %t", name, told, s.Moving())
			}
		})
	}
}

// What a running job writes is no delivery: it comes as fast as somebody reads it.
func TestReadingLiveIsNoDelivery(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	var told atomic.Int32
	a := n.site("a", func(c *Config) {
		c.Authorize = func(grid.PeerID, grid.JobID, Set) (Grant, error) {
			return Grant{Outputs: []grid.Output{{Path: "x", Target: "x"}}}, nil
		}
		c.Delivered = func(grid.PeerID, Set, int64, time.Duration) { told.Add(1) }
	})
	write(t, a.path("work", "x"), random(2*worthTelling), 0o600)
	if b, err := n.site("b", nil).ReadLiveAt(t.Context(), "a", job, "x", 0, 2*worthTelling); err != nil || len(b) != 2*worthTelling {
		t.Fatal(len(b), err)
	}
	n.wg.Wait()
	if told.Load() > 0 {
		t.Error("it is told")
	}
}
