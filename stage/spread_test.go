package stage

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"gbroker/grid"
)

// late is a connection whose every answer is a while on its way.
type late struct {
	net.Conn
	mu *sync.Mutex
	by map[net.Conn]int
}

func (c late) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	first := c.by[c.Conn] == 0
	c.by[c.Conn] += n
	c.mu.Unlock()
	if first {
		time.Sleep(50 * time.Millisecond) //house:allow sleep: the way itself
	}
	return n, err
}

// A file of as many ranges as there are streams comes over all of them: none takes two while another has nothing to do.
func TestAFileIsSpreadOverItsStreams(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	var mu sync.Mutex
	by := map[net.Conn]int{}
	n.between = func(c net.Conn) net.Conn { return late{c, &mu, by} }
	m := give(t, a, map[string][]byte{"big": bytes.Repeat(random(1<<20), 16)})
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	if b.Streams(16<<20) != 4 || len(by) != 4 {
		t.Fatalf("16 MiB came over %d streams, want 4", len(by))
	}
	for _, bytes := range by {
		if bytes < grid.RangeSize || bytes > grid.RangeSize*5/4 {
			t.Errorf("of 16 MiB over four streams %d bytes came over one", bytes)
		}
	}
}

// A transfer goes over one stream for each whole range, at least one, and no more than it may have.
func TestStreamsOfATransfer(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", func(c *Config) { c.Streams = 3 })
	for bytes, want := range map[int64]int{0: 1, 1: 1, grid.RangeSize: 1, 2*grid.RangeSize - 1: 1, 2 * grid.RangeSize: 2, 3 * grid.RangeSize: 3, 1 << 40: 3} {
		if got := s.Streams(bytes); got != want {
			t.Errorf("%d bytes go over %d streams, not %d", bytes, got, want)
		}
	}
}
