package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/grid"
)

func hostileOutputs() []grid.Output {
	var o []grid.Output
	for _, p := range []string{"link", "dir/secret", "up", "dots/x", "loop", "loop/x", "dangling", "pipe", "pipe/x", "socket", "folder", "good/x", "gone"} {
		o = append(o, grid.Output{Path: p, Target: "got/" + strings.ReplaceAll(p, "/", "_"), Required: true})
	}
	for _, p := range []string{"inner", "good", "closed", "folder/x"} {
		o = append(o, grid.Output{Path: p, Target: "got/" + strings.ReplaceAll(p, "/", "_"), Required: true})
	}
	return append(o, grid.Output{Path: "optional", Target: "optional"}, grid.Output{Path: "good", Target: "twice"})
}

func TestCollectTakesOnlyRegularFilesOfTheSandbox(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	s := n.site("a", nil)
	outside := plant(t, s)
	j := grid.Job{ID: job, Outputs: hostileOutputs()}
	var first grid.Manifest
	for i := range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		m, missing, err := s.Collect(ctx, j)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range m {
			got = append(got, f.Path)
		}
		if !reflect.DeepEqual(got, []string{"got/closed", "got/folder_x", "got/good", "got/inner", "twice"}) {
			t.Errorf("collected %v", got)
		}
		if told := fmt.Sprint(missing); told != `["link" (it is a link that leads out of the sandbox) "dir/secret" "up" (it is a link that leads out of the sandbox) `+
			`"dots/x" "loop" (it is a link that leads out of the sandbox) "loop/x" "dangling" (it is a link to nothing) "pipe" (it is a pipe) "pipe/x" `+
			`"socket" (it is a socket) "folder" (it is a folder) "good/x" "gone"]` {
			t.Errorf("missing %v", told)
		}
		if i == 0 {
			first = m
		} else if !reflect.DeepEqual(first, m) {
			t.Error("the second answer differs")
		}
	}
	want(t, s, Outputs, map[string][]byte{"got/good": []byte("good"), "got/inner": []byte("good"), "twice": []byte("good"), "got/closed": []byte("closed"), "got/folder_x": []byte("x")})
	if f, ok := lookup(first, "got/good"); !ok || f.Mode != 0o750 {
		t.Errorf("mode %o", f.Mode)
	}
	if data, err := os.ReadFile(outside + "/secret"); err != nil || string(data) != "secret" {
		t.Errorf("what lies outside: %q, %v", data, err)
	}
	for name, o := range map[string][]grid.Output{
		"path": {{Path: "../x", Target: "x"}}, "target": {{Path: "x", Target: "../x"}}, "twice": {{Path: "x", Target: "x"}, {Path: "y", Target: "x"}},
	} {
		if _, _, err := s.Collect(t.Context(), grid.Job{ID: job, Outputs: o}); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCollectAfterACrash(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	s := n.site("a", nil)
	j := grid.Job{ID: job, Outputs: []grid.Output{{Path: "a", Target: "x/a", Required: true}, {Path: "b", Target: "b", Required: true}, {Path: "c", Target: "c"}}}
	data := random(6 << 20)
	// a was moved already, c was on its way.
	write(t, s.path("out", "x", "a"), data, 0o600)
	write(t, s.path("work", "b"), data[:100], 0o600)
	write(t, s.path("part", "take-1"), data[:3], 0o600)
	m, missing, err := s.Collect(t.Context(), j)
	if err != nil || len(missing) > 0 || len(m) != 2 {
		t.Fatalf("%d files, missing %v, %v", len(m), missing, err)
	}
	files := map[string][]byte{"x/a": data, "b": data[:100]}
	want(t, s, Outputs, files)
	home := n.site("home", nil)
	if err := home.Fetch(t.Context(), "a", job, Outputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	want(t, home, Outputs, files)
	// The job was started again elsewhere and left something else.
	if err := s.Discard(job, Outputs, Work); err != nil {
		t.Fatal(err)
	}
	write(t, s.path("work", "a"), []byte("new"), 0o600)
	m, missing, err = s.Collect(t.Context(), j)
	if err != nil || len(m) != 1 || !reflect.DeepEqual(missing, []grid.MissingOutput{{Path: "b"}}) {
		t.Fatalf("%d files, missing %v, %v", len(m), missing, err)
	}
	if err := home.Fetch(t.Context(), "a", job, Outputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	want(t, home, Outputs, map[string][]byte{"x/a": []byte("new")})
	if _, _, _, err := home.Open(job, Outputs, "b"); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("the older output b: %v", err)
	}
}

// What a hostile program can leave in work/.
func plant(t *testing.T, s *Stager) (outside string) {
	t.Helper()
	outside = t.TempDir()
	write(t, outside+"/secret", []byte("secret"), 0o600)
	root, err := s.makeFolder(job)
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
	for name, to := range map[string]string{
		"link": outside + "/secret", "dir": outside, "up": "../in.log", "dots": "../../..", "loop": "loop", "dangling": "nothing", "inner": "good",
	} {
		if err := os.Symlink(to, s.path("work", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(s.path("work", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", outside+"/s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.Rename(outside+"/s", s.path("work", "socket")); err != nil {
		t.Fatal(err)
	}
	write(t, s.path("work", "good"), []byte("good"), 0o750)
	write(t, s.path("work", "folder", "x"), []byte("x"), 0o600)
	write(t, s.path("work", "closed"), []byte("closed"), 0)
	return outside
}

func TestLive(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	outputs := hostileOutputs()
	s := n.site("a", func(c *Config) {
		c.Authorize = func(grid.PeerID, grid.JobID, Set) (Grant, error) { return Grant{Outputs: outputs}, nil }
	})
	plant(t, s)
	data := random(5 << 20)
	write(t, s.path("work", "good"), data, 0o640)
	here, err := s.Live(grid.Job{ID: job, Outputs: outputs})
	if err != nil {
		t.Fatal(err)
	}
	home := n.site("home", nil)
	there, err := home.LiveAt(t.Context(), "a", job)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(here, there) {
		t.Errorf("here %v, there %v", here, there)
	}
	f, ok := lookup(there, "got/good")
	if !ok || f.Size != int64(len(data)) {
		t.Fatalf("listed: %+v", there)
	}
	write(t, s.path("work", "good"), append(data, "more"...), 0o640)
	r, err := home.OpenLiveAt(t.Context(), "a", job, "got/good", f.Size)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	r.Close()
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes of %d, %v", len(got), len(data), err)
	}
	for _, target := range []string{"got/link", "got/pipe", "got/up", "secret"} {
		r, err := home.OpenLiveAt(t.Context(), "a", job, target, 100)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); !errors.Is(err, grid.ErrNotFound) {
			t.Errorf("%s: %q, %v", target, got, err)
		}
		r.Close()
	}
}
