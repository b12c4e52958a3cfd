package stage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

// What is not configured is as it usually is, and no transfer goes over more streams than may be.
func TestWhatIsNotConfigured(t *testing.T) {
	t.Parallel()
	var c Config
	setDefaults(&c)
	if c.Streams != 4 || c.MaxBytes != grid.MaxSandbox || c.Reserve != 256<<20 || c.IdleTimeout != 2*time.Minute || c.Patience != 2*time.Minute || c.Logger == nil {
		t.Errorf("%+v", c)
	}
	said := Config{Streams: maxStreams + 1, MaxBytes: 1, Reserve: 1, IdleTimeout: 1, Patience: 1}
	setDefaults(&said)
	if said.Streams != maxStreams || said.MaxBytes != 1 || said.Reserve != 1 || said.IdleTimeout != 1 || said.Patience != 1 {
		t.Errorf("what is said is changed: %+v", said)
	}
}

// An upload that goes on after its end is refused, and nothing goes on from it: what it had sent may be of another file.
func TestAnUploadThatGoesOnAfterItsEnd(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	if _, err := s.Receive(t.Context(), job, "x", 4, 0o600, 0, strings.NewReader("12345")); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "goes on after the 4 bytes") {
		t.Errorf("%v", err)
	}
	if at, err := s.Begun(job, "x"); at != 0 || err != nil {
		t.Errorf("it goes on from %d, %v", at, err)
	}
	if _, err := s.Receive(t.Context(), job, "x", 4, 0o600, 0, strings.NewReader("123")); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("one that ends before: %v", err)
	}
	if at, err := s.Begun(job, "x"); at != 3 || err != nil {
		t.Errorf("one that broke goes on from %d, %v", at, err)
	}
	if m, err := s.Received(job); err != nil || len(m) != 0 {
		t.Errorf("received are %+v, %v", m, err)
	}
}

// Whatever the pieces, each byte is written once, to the last.
func TestThePacerWritesAll(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, smallestPiece - 1, smallestPiece, smallestPiece + 1, 3*smallestPiece + 1} {
		near, far := net.Pipe()
		sent, got := random(size), make(chan []byte)
		go func() { b, _ := io.ReadAll(far); got <- b }()
		p := pacer{c: near, idle: time.Minute, size: smallestPiece}
		if err := p.write(sent); err != nil {
			t.Error(err)
		}
		near.Close()
		if b := <-got; !bytes.Equal(b, sent) {
			t.Errorf("of %d bytes came %d", size, len(b))
		}
	}
}

// Sets of files that there are not cannot be dropped; what is dropped in vain was never there.
func TestSetsThatThereAreNot(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	if err := s.Discard(job, Work); err != nil {
		t.Errorf("of a job without a folder: %v", err)
	}
	give(t, s, map[string][]byte{"x": []byte("1")})
	for _, set := range []Set{Inputs - 1, Work + 1} {
		if err := s.Discard(job, set); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("set %d: %v", set, err)
		}
	}
	want(t, s, Inputs, map[string][]byte{"x": []byte("1")})
}

// Of an output that had to be there, and is not, it is told what stands in its place.
func TestWhatStandsInTheirPlace(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	give(t, s, map[string][]byte{"x": []byte("1")})
	j := grid.Job{ID: job, Outputs: []grid.Output{{Path: "y", Target: "y"}}}
	if list := s.missing(j, nil); len(list) > 0 {
		t.Errorf("what need not be there is missing: %v", list)
	}
	for _, name := range []string{"none", "folder", "link"} {
		j.Outputs = append(j.Outputs, grid.Output{Path: name, Target: name, Required: true})
	}
	if list := s.missing(j, nil); len(list) != 3 || list[1].Why != "" {
		t.Errorf("without a working tree: %v", list)
	}
	work, _ := s.Paths(job)
	if err := errors.Join(os.MkdirAll(work+"/folder", 0o755), os.Symlink("/etc/passwd", work+"/link")); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(s.missing(j, grid.Manifest{{Path: "none"}})), fmt.Sprint([]grid.MissingOutput{{Path: "folder", Why: "it is a folder"}, {Path: "link", Why: "it is a link that leads out of the sandbox"}}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What was received is forgotten when the files of a job are dropped, all of them or its inputs: the next upload begins anew.
func TestDroppedUploadsAreForgotten(t *testing.T) {
	t.Parallel()
	for name, sets := range map[string][]Set{"all": nil, "its inputs": {Inputs}} {
		s := newNetwork(t).site("a", nil)
		for _, content := range []string{"1234", "12"} {
			if _, err := s.Receive(t.Context(), job, "x", int64(len(content)), 0o600, 0, strings.NewReader(content)); err != nil {
				t.Fatal(err)
			}
			if err := s.Discard(job, sets...); err != nil {
				t.Fatal(err)
			}
			if m, err := s.Received(job); err != nil || len(m) != 0 {
				t.Errorf("%s is dropped, and received are %+v, %v", name, m, err)
			}
		}
	}
}

// A broker that fetches nothing by URI says so, and brings what needs none.
func TestABrokerThatFetchesNothing(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	give(t, s, map[string][]byte{"x": []byte("1")})
	j := grid.Job{ID: job, User: grid.User{Name: "ann"}}
	if err := s.Bring(t.Context(), "", j); err != nil {
		t.Errorf("without sources: %v", err)
	}
	j.Sources = []grid.Source{{Path: "y", URI: "https://example.org/y"}}
	if err := s.Bring(t.Context(), "", j); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("with one: %v", err)
	}
}

// What is written elsewhere is told by who has it; where he is not reached, or has no such job, that is said with whom and what.
func TestWhatIsWrittenElsewhere(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	s := n.site("a", nil)
	n.site("b", nil)
	for _, owner := range []grid.PeerID{"b", "nobody"} {
		if m, err := s.LiveAt(t.Context(), owner, job); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("list what %s writes at %s", job, owner)) {
			t.Errorf("%s: %v, %v", owner, m, err)
		}
	}
}
