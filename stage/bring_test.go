package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"gbroker/grid"
	"gbroker/internal/outbound"
	"gbroker/stage/transfer"
)

// placed is a stager that reaches this machine, and files below a folder.
func placed(t *testing.T, folder string, change func(*Config)) *Stager {
	t.Helper()
	cfg := Config{Root: t.TempDir(), Authorize: func(grid.PeerID, grid.JobID, Set) (Grant, error) { return Grant{}, nil }, Reserve: 1}
	cfg.Places = transfer.New(transfer.Config{
		Policy: outbound.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, Read: []string{folder}, Write: []string{folder},
		Patience: time.Millisecond,
	})
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var sourced = grid.JobID("a.00000000000000000000000001")

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		return "absent"
	}
	return string(b)
}

// The way from a host is believed to be as fast as files came on it, the last one counting for a quarter; small ones
// tell nothing, and no number of hosts is too many.
func TestThePaceOfAHost(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		if r.Method == http.MethodGet {
			w.Write(make([]byte, size))
		}
	}))
	defer server.Close()
	s := placed(t, t.TempDir(), nil)
	job := grid.Job{ID: sourced, Sources: []grid.Source{{Path: "a", URI: server.URL + "/a"}}}
	if c := s.Costs(t.Context(), job); c != (grid.SourceCost{Bytes: size}) {
		t.Errorf("before anything came: %+v", c)
	}
	if _, err := os.Stat(filepath.Join(s.cfg.Root, string(sourced))); err == nil {
		t.Error("to be asked for what it costs makes a folder for the job")
	}
	if err := s.Bring(t.Context(), "", job); err != nil {
		t.Fatal(err)
	}
	job.Sources = append(job.Sources, grid.Source{Path: "b", URI: strings.ToUpper(server.URL[:4]) + server.URL[4:] + "/b"})
	if c := s.Costs(t.Context(), job); c.Bytes != 2*size || c.Measured != 2*size || c.Takes > 60*grid.Second {
		t.Errorf("after one came: %+v", c)
	}
	var p paces
	p.learn("http://h/a", 4e6, time.Second)
	p.learn("http://h:80/a", 9e9, time.Second)
	p.learn("http://h/b", 8e6, time.Second)
	p.learn("http://h/c", 1000, time.Second)
	if got := p.of("HTTP://H/d"); got != 5e6 {
		t.Errorf("4 MB/s, then 8: %v", got)
	}
	for i := range 2 * maxPaces {
		p.learn(fmt.Sprintf("http://h%d/", i), 4e6, time.Second)
	}
	if len(p.rate) > maxPaces {
		t.Errorf("%d hosts are remembered", len(p.rate))
	}
}

// Sources come once, lie in work/ by their flags beside what was sent along, and go with the end.
func TestSources(t *testing.T) {
	var asked atomic.Int32
	var token atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		token.Store(r.Header.Get("Authorization"))
		w.Write([]byte("new"))
	}))
	defer server.Close()
	ctx := context.Background()
	for _, keep := range []bool{true, false} {
		s := placed(t, t.TempDir(), nil)
		asked.Store(0)
		job := grid.Job{ID: sourced, Program: grid.Program{Executable: "run.sh"}}
		for _, name := range []string{"append", "keep", "replace"} {
			if _, err := s.Receive(ctx, job.ID, name, 3, 0o600, 0, strings.NewReader("old")); err != nil {
				t.Fatal(err)
			}
			flag := map[string]grid.CreationFlag{"append": grid.Append, "keep": grid.DontOverwrite}[name]
			job.Sources = append(job.Sources, grid.Source{Path: name, URI: server.URL, Flag: flag})
		}
		for name, flag := range map[string]grid.CreationFlag{"run.sh": grid.Overwrite, "sub/append": grid.Append, "sub/keep": grid.DontOverwrite} {
			job.Sources = append(job.Sources, grid.Source{Path: name, URI: server.URL, Flag: flag})
		}
		var err error
		if job.Inputs, err = s.Received(job.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.KeepSecrets(job.ID, []byte("- for: "+server.URL+"\n  token: hidden\n")); err != nil {
			t.Fatal(err)
		}
		if n := s.Costs(ctx, job); n != (grid.SourceCost{Bytes: 3 * 6}) {
			t.Errorf("the sources cost %d bytes", n)
		}
		if n := asked.Load(); n > 6 {
			t.Errorf("asked %d times what it costs", n)
		}
		asked.Store(0)
		for range 2 {
			if err := errors.Join(s.Bring(ctx, "", job), s.Prepare(ctx, job, keep)); err != nil {
				t.Fatal(err)
			}
		}
		if n := asked.Load(); n != 6 || token.Load() != "Bearer hidden" {
			t.Errorf("asked %d times, with %v", n, token.Load())
		}
		work, control := s.Paths(job.ID)
		for name, want := range map[string]string{"append": "oldnew", "keep": "old", "replace": "new", "run.sh": "new", "sub/append": "new", "sub/keep": "new"} {
			if got := read(t, filepath.Join(work, name)); got != want {
				t.Errorf("keep %t: %s is %q", keep, name, got)
			}
		}
		if info, err := os.Stat(filepath.Join(work, "run.sh")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the executable is %v %v", info.Mode(), err)
		}
		if info, err := os.Stat(filepath.Join(control, "credentials")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the credentials are %v %v", info.Mode(), err)
		}
		if src := read(t, filepath.Join(filepath.Dir(work), "src", "0")); (src == "new") != keep {
			t.Errorf("keep %t: beside the working tree the source is %q", keep, src)
		}
		if keep { // it runs again
			if err := errors.Join(s.Discard(job.ID, Work), s.Bring(ctx, "", job), s.Prepare(ctx, job, keep)); err != nil {
				t.Fatal(err)
			}
			if got := read(t, filepath.Join(work, "append")); got != "oldnew" || asked.Load() != 6 {
				t.Errorf("again: %q, asked %d times", got, asked.Load())
			}
		}
		if err := s.End(job.ID); err != nil {
			t.Fatal(err)
		}
		for _, gone := range []string{filepath.Join(control, "credentials"), filepath.Join(filepath.Dir(work), "src")} {
			if _, err := os.Stat(gone); err == nil {
				t.Errorf("%s is left at the end", gone)
			}
		}
	}
}

// What cannot be had is that, and says which and why; the disk's and the user's faults are others.
func TestSourcesThatFail(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	ctx := context.Background()
	for uri, want := range map[string]string{
		server.URL + "/x?hidden": "404", "file:///etc/passwd": "does not let its users", "http://10.0.0.1/": "private", "gopher://h/": "schemes",
	} {
		s := placed(t, t.TempDir(), nil)
		err := s.Bring(ctx, "", grid.Job{ID: sourced, Sources: []grid.Source{{Path: "x", URI: uri}}})
		if !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", uri, err)
		}
	}
	many := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 600)) }))
	defer many.Close()
	s := placed(t, t.TempDir(), func(c *Config) { c.MaxBytes = 1000 })
	job := grid.Job{ID: sourced, Sources: []grid.Source{{Path: "x", URI: many.URL}, {Path: "y", URI: many.URL}}}
	if err := s.Bring(ctx, "", job); err == nil || !strings.Contains(err.Error(), "together") {
		t.Errorf("more than the limit together: %v", err)
	}
	just := placed(t, t.TempDir(), func(c *Config) { c.MaxBytes = 1200 })
	if err := just.Bring(ctx, "", job); err != nil {
		t.Errorf("as much as the limit together: %v", err)
	}
	full := placed(t, t.TempDir(), func(c *Config) { c.Free = func() (int64, error) { return 0, nil } })
	if err := full.Bring(ctx, "", job); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("a full disk: %v", err)
	}
}

// Outputs that go elsewhere get there, once; one that was not made is none.
func TestExport(t *testing.T) {
	folder := t.TempDir()
	s := placed(t, folder, nil)
	ctx := context.Background()
	job := grid.Job{ID: sourced, Outputs: []grid.Output{
		{Path: "a", URI: "file://" + folder + "/a"}, {Path: "b", URI: "file://" + folder + "/b", Delete: true},
		{Path: "c", URI: "file:///etc/c", Required: true}, {Path: "d", Target: "d"}, {Path: "never", URI: "file://" + folder + "/never", Required: true},
		{Path: "e", URI: "file://" + folder + "/e", Flag: grid.Append},
		{Path: "e", URI: "file://" + folder + "/second", Delete: true}, {Path: "c", URI: "file://" + folder + "/third", Delete: true},
	}}
	root, err := s.makeFolder(job.ID)
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
	work, _ := s.Paths(job.ID)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left, missing, err := s.Collect(ctx, job)
	if err != nil || len(missing) != 1 || missing[0].Path != "never" {
		t.Fatal(missing, err)
	}
	for range 2 { // again, as after a crash
		failed, gone, err := s.Export(ctx, job, left, func(string) {})
		if err != nil || len(failed) != 1 || !strings.Contains(failed[0], `"c" to file:///etc/c`) || len(gone) != 1 || gone[0] != grid.ElsewhereDir+"/b" {
			t.Errorf("%q %q %v", failed, gone, err)
		}
		for name, want := range map[string]string{"a": "a", "b": "b", "d": "absent", "e": "e", "second": "e", "third": "c", "never": "absent"} {
			if got := read(t, filepath.Join(folder, name)); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(work), "out", grid.ElsewhereDir, "b")); err == nil {
		t.Error("what was to be deleted is here")
	}
	for _, name := range []string{"c", "e"} { // c did not get to all its places, e may stay
		if got := read(t, filepath.Join(filepath.Dir(work), "out", grid.ElsewhereDir, name)); got != name {
			t.Errorf("%s is not here any more: %q", name, got)
		}
	}
}

// An upload that broke goes on where it did; one that pretends to have come further does not.
func TestReceiveGoesOn(t *testing.T) {
	s := placed(t, t.TempDir(), nil)
	ctx := context.Background()
	content := strings.Repeat("0123456789", 1<<20)
	broken := errors.New("the user hung up")
	at := int64(5<<20 + 7)
	_, err := s.Receive(ctx, sourced, "x", int64(len(content)), 0o600, 0, io.MultiReader(strings.NewReader(content[:at]), iotest.ErrReader(broken)))
	if n, bad := s.Begun(sourced, "x"); !errors.Is(err, broken) || bad != nil || n != at {
		t.Fatalf("%v; it has come to %d, %v", err, n, bad)
	}
	if _, err := s.Receive(ctx, sourced, "x", int64(len(content)), 0o600, at+1, strings.NewReader(content[at+1:])); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("with a gap: %v", err)
	}
	f, err := s.Receive(ctx, sourced, "x", int64(len(content)), 0o600, at, strings.NewReader(content[at:]))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := s.Receive(ctx, sourced, "y", int64(len(content)), 0o600, 0, strings.NewReader(content))
	if err != nil || !slices.Equal(f.Ranges, whole.Ranges) {
		t.Errorf("its hashes are others: %v", err)
	}
	work, _ := s.Paths(sourced)
	if got := read(t, filepath.Join(filepath.Dir(work), "in", "x")); got != content {
		t.Errorf("%d bytes, and they are others", len(got))
	}
}
