package stage

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"gbroker/grid"
)

// Who asks the home of a job gets what its owner has: lists, parts, and why not.
func TestAHomeRelays(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	outputs := []grid.Output{{Path: "good", Target: "got/good"}, {Path: "none", Target: "none"}}
	owner := n.site("owner", func(c *Config) {
		c.Authorize = func(from grid.PeerID, _ grid.JobID, set Set) (Grant, error) {
			if from != "home" || set != Work {
				return Grant{}, grid.ErrForbidden
			}
			return Grant{Outputs: outputs}, nil
		}
	})
	n.site("home", func(c *Config) {
		c.Authorize = func(from grid.PeerID, id grid.JobID, _ Set) (Grant, error) {
			if from != "user" {
				return Grant{}, grid.ErrForbidden
			}
			at := grid.PeerID("owner")
			if id != job {
				at = "nowhere"
			}
			return Grant{At: at}, nil
		}
	})
	user, other := n.site("user", nil), n.site("other", nil)
	if err := owner.MakeFolder(job); err != nil {
		t.Fatal(err)
	}
	data := random(3 << 20)
	write(t, owner.path("work", "good"), data, 0o640)
	list, err := user.LiveAt(t.Context(), "home", job)
	if err != nil || len(list) != 1 || list[0].Size != int64(len(data)) {
		t.Errorf("listed %v, %v", list, err)
	}
	for _, part := range []struct{ offset, length, want int64 }{{0, 10, 10}, {1 << 20, 1 << 20, 1 << 20}, {3<<20 - 5, 100, 5}, {3 << 20, 100, 0}, {1 << 40, 1, 0}} {
		got, err := user.ReadLiveAt(t.Context(), "home", job, "got/good", part.offset, part.length)
		if err != nil || int64(len(got)) != part.want || part.want > 0 && !bytes.Equal(got, data[part.offset:part.offset+part.want]) {
			t.Errorf("%d bytes at %d: %d, %v", part.length, part.offset, len(got), err)
		}
	}
	if _, err := user.ReadLiveAt(t.Context(), "home", job, "none", 0, 1); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("what is not there: %v", err)
	}
	if _, err := user.ReadLiveAt(t.Context(), "owner", job, "got/good", 0, 1); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("past the home: %v", err)
	}
	if _, err := other.ReadLiveAt(t.Context(), "home", job, "got/good", 0, 1); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("another: %v", err)
	}
	if _, err := user.ReadLiveAt(t.Context(), "home", "alpha.01ARZ3NDEKTSV4RRFFQ69G5FAW", "got/good", 0, 1); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("where the owner is away: %v", err)
	}
	if _, err := user.ReadLiveAt(t.Context(), "home", job, "../x", 0, 1); err == nil {
		t.Error("a path that leaves the folder is asked for")
	}
}

// A file that can be had in parts alone reads like any other, up to where it ended at opening.
func TestParts(t *testing.T) {
	t.Parallel()
	data := random(100)
	for _, size := range []int64{0, 1, 99, 100, 140} { // the last has become shorter
		part := func(offset int64) (liveFile, error) {
			return liveFile{heldPart{offset, data[min(offset, 100):min(offset+7, 100)]}, io.NopCloser(nil), size, 0o600}, nil
		}
		first, _ := part(0)
		got, err := io.ReadAll(&parts{at: first, next: part, size: size})
		if err != nil || !bytes.Equal(got, data[:min(size, 100)]) {
			t.Errorf("of %d bytes it reads %d, %v", size, len(got), err)
		}
	}
	growing := func(offset int64) (liveFile, error) {
		return liveFile{heldPart{offset, data[offset:min(offset+7, 100)]}, io.NopCloser(nil), 100, 0o600}, nil
	}
	first, _ := growing(0)
	if got, err := io.ReadAll(&parts{at: first, next: growing, size: 10}); err != nil || !bytes.Equal(got, data[:10]) {
		t.Errorf("of 10 bytes that became 100 it reads %d, %v", len(got), err)
	}
	var b bytes.Buffer
	w := &atMost{&b, 5}
	if _, err := w.Write([]byte("four")); err != nil {
		t.Error(err)
	}
	if _, err := w.Write([]byte("five")); !errors.Is(err, errTooMuch) || b.String() != "four" {
		t.Errorf("it takes %q, %v", b.String(), err)
	}
}

// What an owner stops sending in the middle ends at the home too: who asked gets no part for a whole.
func TestARelayThatBreaks(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	n.site("owner", nil)
	home := n.site("home", func(c *Config) {
		c.Authorize = func(grid.PeerID, grid.JobID, Set) (Grant, error) { return Grant{At: "owner"}, nil }
	})
	for name, answers := range map[string][][]byte{"no word": {}, "half": {answerOf(statusDone, 10, "12345")}, "more than was asked": {answerOf(statusDone, 11, "12345678901")}} {
		answering(n, answers...)
		near, far := net.Pipe()
		n.wg.Go(func() { home.Serve("user", far) })
		near.SetDeadline(time.Now().Add(10 * time.Second))
		c := &stream{Conn: near, idle: time.Second, in: bufio.NewReader(near)}
		if err := c.ask(request{kind: kindRead, set: Work, job: job, path: "x", length: 10}); err != nil {
			t.Fatal(err)
		}
		if b, err := c.whole(10); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		near.Close()
	}
}
