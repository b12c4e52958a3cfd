package stage

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gbroker/grid"
)

// flipping changes one byte of what is read, times times.
type flipping struct {
	net.Conn
	seen  int64
	times *atomic.Int64
}

func (c *flipping) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	const at = 5 << 20
	if c.seen < at && c.seen+int64(n) >= at && c.times.Add(-1) >= 0 {
		p[at-c.seen-1] ^= 1
	}
	if c.seen += int64(n); c.seen >= at {
		c.seen -= at
	}
	return n, err
}

func TestFetchNeverAcceptsWrongBytes(t *testing.T) {
	t.Parallel()
	for name, times := range map[string]int64{"once": 1, "for ever": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t)
			a, b := n.site("a", nil), n.site("b", func(c *Config) { c.Streams = 1 })
			files := map[string][]byte{"big": random(12 << 20)}
			m := give(t, a, files)
			if times > 1 { // the copy itself is damaged
				f, err := os.OpenFile(a.path("in", "big"), os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if _, err := f.WriteAt([]byte{files["big"][5<<20] ^ 1}, 5<<20); err != nil {
					t.Fatal(err)
				}
			} else {
				left := &atomic.Int64{}
				left.Store(times)
				n.between = func(c net.Conn) net.Conn { return &flipping{Conn: c, times: left} }
			}
			err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{})
			if times == 1 {
				if err != nil {
					t.Fatal(err)
				}
				want(t, b, Inputs, files)
				if n.read.Load() < m.Size()+grid.RangeSize {
					t.Error("nothing was fetched again")
				}
				return
			}
			if err == nil || !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("got %v, want that the copy is damaged", err)
			}
			if _, err := os.Lstat(b.path("in", "big")); err == nil {
				t.Error("the damaged file counts as fetched")
			}
		})
	}
}

func TestHostileManifests(t *testing.T) {
	t.Parallel()
	file := func(p string) grid.File { return grid.File{Path: p, Mode: 0o600} }
	long := strings.Repeat("a/", 600) + "a"
	many := make(grid.Manifest, grid.MaxFiles+1)
	for i := range many {
		many[i] = file(fmt.Sprintf("%06d", i))
	}
	for name, m := range map[string]grid.Manifest{
		"absolute": {file("/etc/passwd")}, "up": {file("../x")}, "inner up": {file("a/../../x")}, "dot": {file(".")}, "empty": {file("")},
		"double slash": {file("a//b")}, "trailing": {file("a/")}, "long": {file(long)}, "long name": {file(strings.Repeat("a", 256))},
		"zero byte": {file("a\x00b")}, "newline": {file("a\nb")}, "not UTF-8": {file("a\xffb")},
		"twice": {file("a"), file("a")}, "order": {file("b"), file("a")}, "folder": {file("a"), file("a-"), file("a/b")},
		"mode":     {{Path: "a", Mode: 0o4755}},
		"negative": {{Path: "a", Size: -1}},
		"ranges":   {{Path: "a", Size: 1}},
		"excess":   {{Path: "a", Size: 0, Ranges: make([]grid.Hash, 1)}},
		"huge":     {{Path: "a", Size: 1<<62 + 5, Ranges: make([]grid.Hash, 1)}},
		"sum":      {{Path: "a", Size: 700, Ranges: make([]grid.Hash, 1)}, {Path: "b", Size: 700, Ranges: make([]grid.Hash, 1)}},
		"many":     many,
	} {
		if err := checkManifest(m, 1000); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := grid.Manifest{file("a"), file("a-b"), file("b/c"), {Path: "d", Size: 1000, Mode: 0o777, Ranges: make([]grid.Hash, 1)}}
	if err := checkManifest(good, 1000); err != nil {
		t.Error(err)
	}
}

func TestServerCutsOffNonsense(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a := n.site("a", nil)
	give(t, a, map[string][]byte{"x": random(10)})
	good := request{kind: kindRead, set: Inputs, job: job, path: "x", length: 10}
	bad := map[string]request{"kind": good, "set": good, "job": good, "path": good, "length": good, "zero": good}
	change := func(name string, f func(*request)) { q := bad[name]; f(&q); bad[name] = q }
	change("kind", func(q *request) { q.kind = 9 })
	change("set", func(q *request) { q.set = 7 })
	change("job", func(q *request) { q.job = "../../etc" })
	change("path", func(q *request) { q.path = "../x" })
	change("length", func(q *request) { q.length = grid.RangeSize + 1 })
	change("zero", func(q *request) { q.length = 0 })
	for name, q := range bad {
		c, err := port{n, "evil"}.Open(t.Context(), "a", Protocol)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Write(q.append(nil)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: got %d bytes, want the end", name, n)
		}
	}
	for name, q := range map[string]request{
		"beyond":  {kind: kindRead, set: Inputs, job: job, path: "x", offset: 5, length: 10},
		"other":   {kind: kindRead, set: Inputs, job: job, path: "y", length: 1},
		"list":    {kind: kindList, set: Inputs, job: job},
		"no job":  {kind: kindRead, set: Inputs, job: "alpha.01ARZ3NDEKTSV4RRFFQ69G5FAW", path: "x", length: 1},
		"no work": {kind: kindRead, set: Work, job: job, path: "x", length: 1},
	} {
		c, err := port{n, "evil"}.Open(t.Context(), "a", Protocol)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Write(q.append(nil)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var no *refused
		if _, err := readAnswer(c, 100); !errors.As(err, &no) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
		c.Close()
	}
}
