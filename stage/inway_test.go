package stage

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
)

// Where a file stands in the way of a folder, or the reverse, nothing is told as done, and the fault is the disk's.
func TestWhatStandsInTheWay(t *testing.T) {
	t.Parallel()
	name, _ := another(t)
	for _, c := range []struct {
		way    string // a file, or with a / at its end a folder with something in it
		use    string
		change func(*grid.Job)
	}{
		{"part", "Prepare", nil}, {"part", "KeepSecrets", nil}, {"part", "Receive", nil}, {"part", "Lend", nil}, {"part", "Bring here", nil},
		{marker + "/", "Prepare", nil}, {"part/" + marker + "/", "Prepare", nil}, {"ctl", "KeepSecrets", nil}, {"ctl/credentials/", "KeepSecrets", nil},
		{"ctl/credentials/", "End", nil}, {"ctl/credentials/", "SetAside", nil}, {"work", "Lend", nil}, {"in.log/", "Fetch", nil}, {"out.log/", "Discard outputs", nil},
		{foundList + "/", "Discard outputs", nil}, {"in", "Receive", nil}, {"in", "Share", nil}, {"src", "Bring here", nil}, {"work", "Collect", nil}, {"in/in/", "Receive again", nil},
	} {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "x"), []byte("x"), 0o600)
		s := newNetwork(t).site("a", func(k *Config) { k.Places, k.As = placed(t, folder, nil).cfg.Places, (&account{}).as })
		m := give(t, s, map[string][]byte{"in": random(3)})
		const other = grid.JobID("alpha.01ARZ3NDEKTSV4RRFFQ69G5FAW")
		if err := s.Share(other, job, m); err != nil {
			t.Fatal(err)
		}
		way := strings.TrimSuffix(c.way, "/")
		if err := os.RemoveAll(s.path(way)); err != nil {
			t.Fatal(err)
		}
		if way != c.way {
			way += "/in the way"
		}
		write(t, s.path(way), []byte("in the way"), 0o600)
		if c.use == "Share" {
			if err := os.Remove(s.path("in.log")); err != nil {
				t.Fatal(err)
			}
		}
		use := uses(s, m)[c.use]
		switch c.use {
		case "Share":
			use = func(context.Context) error { return s.Share(job, other, m) }
		case "Lend":
			use = func(ctx context.Context) error { return s.Lend(ctx, job, name) }
		case "Bring here":
			use = func(ctx context.Context) error {
				return s.Bring(ctx, "", grid.Job{ID: job, Sources: []grid.Source{{Path: "x", URI: "file://" + folder + "/x"}}})
			}
		case "Discard outputs":
			use = func(context.Context) error { return s.Discard(job, Outputs) }
		case "Receive again":
			use = func(ctx context.Context) error {
				_, err := s.Receive(ctx, job, "in", 3, 0o600, 0, strings.NewReader("new"))
				return err
			}
		}
		if err := use(t.Context()); err == nil {
			t.Errorf("%s with %s in the way: no error", c.use, c.way)
		}
		if text, err := os.ReadFile(s.path(way)); string(text) != "in the way" || err != nil {
			t.Errorf("%s with %s in the way: that is now %q, %v", c.use, c.way, text, err)
		}
	}
}

// A source in whose place in work/ a folder stands, or that leads out, or was never fetched, ends Prepare; so does a full disk.
func TestPrepareWithoutASource(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path string
		want error
	}{"there": {"x", nil}, "leads out": {"../x", grid.ErrInvalid}, "a folder is there": {"d", grid.ErrUnavailable}, "full": {"x", grid.ErrUnavailable}, "never fetched": {"x", grid.ErrNotFound}} {
		s := newNetwork(t).site("a", nil)
		if err := s.MakeFolder(job); err != nil {
			t.Fatal(err)
		}
		if name != "never fetched" {
			write(t, s.path("src", "0"), []byte("source"), 0o600)
		}
		write(t, s.path("work", "d", "x"), nil, 0o600)
		if name == "full" {
			s.cfg.Free = func() (int64, error) { return 0, nil }
		}
		if err := s.Prepare(t.Context(), grid.Job{ID: job, Sources: []grid.Source{{Path: c.path, URI: "file:///x"}}}, false); c.want == nil && err != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(s.path(marker)); (err == nil) != (c.want == nil) {
			t.Errorf("%s: that it is prepared: %v", name, err)
		}
	}
}

// An output that is not here as it was collected goes nowhere, and is kept for another try; what cannot go for good is told, and stays.
func TestExportOfWhatIsNotHere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := placed(t, folder, nil)
	j := grid.Job{ID: job, Outputs: []grid.Output{{Path: "a", URI: "file://" + folder + "/a", Delete: true}}}
	write(t, s.path("work", "a"), []byte("right"), 0o600)
	left, _, err := s.Collect(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	at := s.path("out", grid.ElsewhereDir, "a")
	tell := func(string) {}
	absent := func(what string) {
		t.Helper()
		if got := read(t, filepath.Join(folder, "a")); got != "absent" {
			t.Errorf("%s: it is there as %q", what, got)
		}
	}
	write(t, at, []byte("torn"), 0o600)
	if failed, gone, err := s.Export(t.Context(), j, left, tell); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("of another length: %v, %v, %v", failed, gone, err)
	}
	absent("of another length")
	if err := os.Rename(at, at+".away"); err != nil {
		t.Fatal(err)
	}
	if failed, gone, err := s.Export(t.Context(), j, left, tell); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("not here: %v, %v, %v", failed, gone, err)
	}
	write(t, at, []byte("right"), 0o600)
	ctx, cancel := cancelled(t)
	defer cancel()
	if failed, gone, err := s.Export(ctx, j, left, tell); err == nil {
		t.Errorf("given up: %v, %v", failed, gone)
	}
	absent("given up")
	s.cfg.Account = func(grid.User) (string, error) { return "", errors.New("nobody is mapped") }
	if failed, gone, err := s.Export(t.Context(), j, left, tell); err != nil || len(gone) > 0 || len(failed) != 1 || failed[0] != "nobody is mapped" {
		t.Errorf("without an account: %v, %v, %v", failed, gone, err)
	}
	absent("without an account")
	if cost := s.Costs(t.Context(), grid.Job{ID: job, Sources: []grid.Source{{Path: "x", URI: "file://" + at}}}); cost != (grid.SourceCost{}) {
		t.Errorf("who has no account is told what it costs: %v", cost)
	}
	places := s.cfg.Places
	s.cfg.Account, s.cfg.Places = nil, nil
	if failed, gone, err := s.Export(t.Context(), j, left, tell); err != nil || len(gone) > 0 || len(failed) != 1 {
		t.Errorf("without places: %v, %v, %v", failed, gone, err)
	}
	s.cfg.Places = places
	if failed, gone, err := s.Export(t.Context(), j, left, tell); err != nil || len(failed) > 0 || len(gone) != 1 {
		t.Errorf("%v, %v, %v", failed, gone, err)
	}
	if got := read(t, filepath.Join(folder, "a")); got != "right" {
		t.Errorf("it is there as %q", got)
	}
}

// apart is a dialer that counts the streams over connections of their own.
type apartFrom struct {
	port
	alone chan struct{}
}

func (d apartFrom) OpenApart(ctx context.Context, to grid.PeerID, protocol string) (net.Conn, error) {
	d.alone <- struct{}{}
	return d.Open(ctx, to, protocol)
}

// A large fetch has all but its first stream over connections of their own.
func TestStreamsOfTheirOwn(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	alone := make(chan struct{}, 100)
	a, b := n.site("a", nil), n.site("b", func(c *Config) { c.Dialer = apartFrom{port{n, "b"}, alone} })
	files := map[string][]byte{"big": random(16 << 20)}
	m := give(t, a, files)
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	want(t, b, Inputs, files)
	if all := n.dials.Load(); len(alone) == 0 || int64(len(alone)) != all-1 {
		t.Errorf("of %d streams %d have a connection of their own", all, len(alone))
	}
}

// A file that became shorter under the eyes of who serves it ends the stream: no other bytes take the place of what is gone.
func TestAFileThatBecomesShorterWhileItIsSent(t *testing.T) {
	t.Parallel()
	for name, coded := range map[string]*coder{"plain": nil, "in blocks": {}} {
		near, far := net.Pipe()
		got := make(chan int, 1)
		go func() {
			buf, all := make([]byte, 1<<20), 0
			for {
				n, err := near.Read(buf)
				if all += n; err != nil {
					got <- all
					return
				}
			}
		}()
		s := newNetwork(t).site("a", nil)
		v := &server{s: s, c: far, coder: coded}
		q := request{kind: kindRead, set: Inputs, job: job, path: "x", length: 1000}
		err := v.send(strings.NewReader("short"), q, 1000, make([]byte, bufferSize), &pacer{c: far, idle: s.cfg.IdleTimeout, size: bufferSize})
		far.Close()
		if n := <-got; err == nil || n > answerHead {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}
