package stage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gbroker/grid"
)

func TestFetchBringsEverything(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	files := map[string][]byte{
		"run.sh": random(100), "empty": {}, "data/big": random(9<<20 + 17), "data/exact": random(2 * grid.RangeSize), "data/deep/er/x": random(1),
	}
	m := give(t, a, files)
	for range 2 { // the second finds all there
		if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
			t.Fatal(err)
		}
	}
	want(t, b, Inputs, files)
	if got := mode(t, b.path("in", "run.sh")); got != 0o755 {
		t.Errorf("mode %v, want 0755", got)
	}
	if got := n.read.Load(); got > m.Size()+m.Size()/1000 {
		t.Errorf("%d bytes came for %d", got, m.Size())
	}
	left, err := os.ReadDir(b.path("part"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in part/: %v, %v", left, err)
	}
	got, err := b.Received(job)
	if err != nil || len(got) != len(m) {
		t.Errorf("ledger of the fetched: %d files, %v", len(got), err)
	}
}

func TestFetchOfManySmallFilesNeedsFewStreams(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	files := map[string][]byte{}
	for i := range 1000 {
		files[fmt.Sprintf("d%d/f%d", i%10, i)] = random(i)
	}
	m := give(t, a, files)
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	want(t, b, Inputs, files)
	if d := n.dials.Load(); d > 4 {
		t.Errorf("%d streams were opened", d)
	}
}

// cutting ends the stream after some bytes were read.
type cutting struct {
	net.Conn
	left *atomic.Int64
}

func (c cutting) Read(p []byte) (int, error) {
	if c.left.Load() <= 0 {
		c.Conn.Close()
		return 0, errors.New("the line was cut")
	}
	n, err := c.Conn.Read(p)
	c.left.Add(-int64(n))
	return n, err
}

func TestFetchResumesAfterCuts(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", func(c *Config) { c.Streams = 2 })
	files := map[string][]byte{"big": random(40 << 20)}
	m := give(t, a, files)
	var cuts atomic.Int64
	n.between = func(c net.Conn) net.Conn {
		left := &atomic.Int64{}
		left.Store(11 << 20)
		cuts.Add(1)
		return cutting{c, left}
	}
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	want(t, b, Inputs, files)
	if cuts.Load() < 4 {
		t.Fatalf("only %d streams: nothing was cut", cuts.Load())
	}
	// Each of at most 6 streams loses what it had begun: less than one range, and a buffer.
	if waste := n.read.Load() - m.Size(); waste > cuts.Load()*grid.RangeSize {
		t.Errorf("%d bytes came twice over %d streams", waste, cuts.Load())
	}
}

func TestFetchResumesAfterARestart(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", func(c *Config) { c.Streams = 1 })
	files := map[string][]byte{"big": random(24 << 20), "small": random(10)}
	m := give(t, a, files)
	ctx, cancel := context.WithCancel(t.Context())
	left := &atomic.Int64{}
	left.Store(17 << 20)
	n.between = func(c net.Conn) net.Conn {
		if left.Load() <= 0 {
			cancel()
		}
		return cutting{c, left}
	}
	if err := b.Fetch(ctx, "a", job, Inputs, m, grid.User{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want that it was cancelled", err)
	}
	n.between = nil
	before := n.read.Load()
	again := n.open("b", b.cfg)
	if err := again.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	want(t, again, Inputs, files)
	if came := n.read.Load() - before; came > 9<<20 {
		t.Errorf("%d bytes came after the restart, want about 8 MiB", came)
	}
}

func TestFetchRefusals(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a := n.site("a", func(c *Config) {
		own := c.Authorize
		c.Authorize = func(p grid.PeerID, id grid.JobID, set Set) (Grant, error) {
			if p == "stranger" {
				return Grant{}, fmt.Errorf("%w: %s has no part in %s", grid.ErrForbidden, p, id)
			}
			return own(p, id, set)
		}
	})
	m := give(t, a, map[string][]byte{"x": random(1000)})
	s := n.site("stranger", nil)
	if err := s.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("a stranger got %v", err)
	}
	b := n.site("b", nil)
	more := append(grid.Manifest{}, m...)
	more = append(more, grid.File{Path: "y", Size: 1, Ranges: make([]grid.Hash, 1)})
	if err := b.Fetch(t.Context(), "a", job, Inputs, more, grid.User{}); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := b.Fetch(t.Context(), "a", job, Work, m, grid.User{}); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("fetching work/: %v", err)
	}
	full := n.site("full", func(c *Config) {
		c.Reserve = 100
		c.Free = func() (int64, error) { return 1099, nil }
	})
	if err := full.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "1000 bytes needed and 999 free") {
		t.Errorf("a full disk: %v", err)
	}
	_, err := full.Receive(t.Context(), job, "x", 1000, 0o600, 0, strings.NewReader(strings.Repeat("x", 1000)))
	if !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("an upload to a full disk: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := n.site("c", func(c *Config) { c.Dialer = tried{c.Dialer, cancel} })
	if err := c.Fetch(ctx, "nowhere", job, Inputs, m, grid.User{}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "no way to nowhere") {
		t.Errorf("no way: %v", err)
	}
}

// tried says when a stream was asked for.
type tried struct {
	Dialer
	then func()
}

func (d tried) Open(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error) {
	defer d.then()
	return d.Dialer.Open(ctx, to, protocol)
}

func TestDiscardEndsAFetch(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	m := give(t, a, map[string][]byte{"x": random(1 << 20)})
	begun := make(chan struct{}, 100)
	n.between = func(c net.Conn) net.Conn { // says nothing, for ever
		begun <- struct{}{}
		x, _ := net.Pipe()
		c.Close()
		return x
	}
	done := make(chan error, 1)
	go func() { done <- b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}) }()
	<-begun
	if err := b.Discard(job); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Fetch ended with %v", err)
	}
	if ids, err := b.Jobs(); err != nil || len(ids) > 0 {
		t.Errorf("left: %v, %v", ids, err)
	}
}

// patient is a connection such as that of a libp2p stream: to close it in good order
// takes its peer's word, which a stopped peer does not give.
type patient struct {
	net.Conn
	reset chan struct{}
	once  *sync.Once
}

func (p patient) Read([]byte) (int, error) {
	<-p.reset
	return 0, net.ErrClosed
}

func (p patient) Close() error {
	<-p.reset
	return p.Conn.Close()
}

func (p patient) Reset() error {
	p.once.Do(func() { close(p.reset) })
	return p.Conn.Close()
}

func TestDiscardDoesNotWaitForThePeer(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	m := give(t, a, map[string][]byte{"x": random(1 << 20)})
	dialled := make(chan patient, 100)
	n.between = func(c net.Conn) net.Conn {
		p := patient{c, make(chan struct{}), new(sync.Once)}
		dialled <- p
		return p
	}
	fetched := make(chan error, 1)
	go func() { fetched <- b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}) }()
	p := <-dialled
	late := time.AfterFunc(10*time.Second, func() { p.Reset() })
	if err := b.Discard(job); err != nil {
		t.Error(err)
	}
	if err := <-fetched; err == nil {
		t.Error("a fetch without a byte was done")
	}
	if !late.Stop() {
		t.Error("it waited for the peer")
	}
}

// Does a large file stay out of memory?
func TestLargeFetch(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 256 MiB")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // what is not collected yet counts
	const size = 256 << 20
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", func(c *Config) { c.Streams = 8 })
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := a.Receive(t.Context(), job, "big", size, 0o600, 0, &zeros{left: size}); err != nil {
		t.Fatal(err)
	}
	m, err := a.Received(job)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&now)
	if grown := int64(now.HeapSys) - int64(before.HeapSys); grown > 32<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	// The hash function makes some garbage; a buffer for each range would be 256 MiB at least.
	if churn := now.TotalAlloc - before.TotalAlloc; churn > 160<<20 {
		t.Errorf("%d MiB were allocated for a file of 256 MiB", churn>>20)
	}
}

type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, errEnd
	}
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	z.left -= n
	return int(n), nil
}
