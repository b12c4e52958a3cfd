package stage

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"gbroker/grid"
)

// shared is a connection over a link that gives all connections as much.
type shared struct {
	net.Conn
	link *rate.Limiter
}

func (c shared) Read(p []byte) (int, error) {
	p = p[:min(len(p), c.link.Burst())]
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.link.WaitN(context.Background(), n)
	}
	return n, err
}

// Of twelve fetches of jobs from one peer at once, over one link and more streams than it serves, none waits for the others, whether
// their files are few or many. One that begins before the others has asked for more by the time they come.
func TestLargeFetchesShareALink(t *testing.T) {
	t.Parallel()
	const size, jobs, perSecond = 12 << 20, 12, 32 << 20 // what a processor does under the race detector is little beside
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	link := rate.NewLimiter(perSecond, 64<<10)
	n.between = func(c net.Conn) net.Conn { return shared{c, link} }
	ids, manifests := make([]grid.JobID, jobs), make([]grid.Manifest, jobs)
	for k := range ids {
		ids[k] = grid.JobID(fmt.Sprintf("alpha.01ARZ3NDEKTSV4RRFFQ69G5F%02d", k))
		files := 1
		if k%2 == 1 {
			files = 96
		}
		data := random(size / files)
		for f := range files {
			if _, err := a.Receive(t.Context(), ids[k], fmt.Sprint("f", f), int64(len(data)), 0o644, 0, bytes.NewReader(data)); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if manifests[k], err = a.Received(ids[k]); err != nil {
			t.Fatal(err)
		}
	}
	took := make([]time.Duration, jobs)
	began := time.Now()
	var all sync.WaitGroup
	for k := range ids {
		all.Go(func() {
			if err := b.Fetch(t.Context(), "a", ids[k], Inputs, manifests[k], grid.User{}); err != nil {
				t.Error(err)
			}
			took[k] = time.Since(began)
		})
	}
	all.Wait()
	t.Logf("they took %v", took)
	var of [2]time.Duration // those of few files, and those of many
	for k, d := range took {
		of[k%2] += d
	}
	if r := of[0].Seconds() / of[1].Seconds(); r > 1.6 || r < 1/1.6 {
		t.Errorf("those of few files took %.2f times as long as those of many", r)
	}
	slices.Sort(took)
	if middle, last := took[jobs/2], took[jobs-1]; last > 8*middle/5 {
		t.Errorf("of twelve fetches of as many bytes the last took %v, that in the middle %v", last, middle)
	}
}
