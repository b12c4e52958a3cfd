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
	"testing/iotest"
	"time"

	"gbroker/grid"
)

var errEnd = io.EOF

func TestReceive(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	s := n.site("a", nil)
	receive := func(name string, size int64, data string) error {
		_, err := s.Receive(t.Context(), job, name, size, 0o600, 0, strings.NewReader(data))
		return err
	}
	for name, err := range map[string]error{
		"short":    receive("x", 5, "1234"),
		"long":     receive("x", 3, "1234"),
		"up":       receive("../x", 4, "1234"),
		"absolute": receive("/x", 4, "1234"),
		"negative": receive("x", -1, ""),
	} {
		if !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m, err := s.Received(job); err != nil || len(m) != 0 {
		t.Errorf("received %v, %v", m, err)
	}
	broken := errors.New("the user hung up")
	if _, err := s.Receive(t.Context(), job, "x", 9, 0o600, 0, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a broken upload: %v", err)
	}
	if err := receive("x", 4, "1234"); err != nil {
		t.Fatal(err)
	}
	if err := receive("x", 5, "again"); err != nil {
		t.Fatal(err)
	}
	if err := receive("x/y", 4, "1234"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a file below a file: %v", err)
	}
	if m, err := s.Received(job); err != nil || len(m) != 1 || m[0].Size != 5 {
		t.Errorf("received %v, %v", m, err)
	}
	want(t, s, Inputs, map[string][]byte{"x": []byte("again")})
	if left, err := os.ReadDir(s.path("part")); err != nil || len(left) > 0 {
		t.Errorf("left in part/: %v, %v", left, err)
	}
}

// A file as large as a sandbox may be is taken, and one with a byte more is not.
func TestReceiveUpToTheLimit(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", func(c *Config) { c.MaxBytes = 4 })
	if _, err := s.Receive(t.Context(), job, "x", 4, 0o777, 0, strings.NewReader("1234")); err != nil {
		t.Error(err)
	}
	if _, err := s.Receive(t.Context(), job, "y", 5, 0o600, 0, strings.NewReader("12345")); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("five bytes of four: %v", err)
	}
	if _, err := s.Receive(t.Context(), job, "y", 1, 0o1777, 0, strings.NewReader("1")); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a mode that is none: %v", err)
	}
}

func TestReceivedSurvivesCrashes(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	s := n.site("a", nil)
	for _, name := range []string{"a", "b", "c"} {
		if _, err := s.Receive(t.Context(), job, name, 3, 0o600, 0, strings.NewReader("abc")); err != nil {
			t.Fatal(err)
		}
	}
	// The machine went down: b was not yet on the disk, the last line is torn, an upload was open.
	write(t, s.path("in", "b"), []byte{0, 0, 0}, 0o600)
	log, err := os.ReadFile(s.path("in.log"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.path("in.log"), append(log, `{"path":"d","si`...), 0o600)
	write(t, s.path("part", "up-OLD-1"), random(10), 0o600)
	again := n.open("a", s.cfg)
	if _, err := again.Receive(t.Context(), job, "e", 3, 0o600, 0, strings.NewReader("eee")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m, err := again.Received(job)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range m {
			names = append(names, f.Path)
		}
		if !reflect.DeepEqual(names, []string{"a", "c", "e"}) {
			t.Errorf("received %v", names)
		}
		again = n.open("a", s.cfg)
	}
	if left, err := os.ReadDir(s.path("part")); err != nil || len(left) > 0 {
		t.Errorf("left in part/: %v, %v", left, err)
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]bool{"copied": true, "moved": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t)
			s := n.site("a", nil)
			files := map[string][]byte{"run.sh": random(10), "d/data": random(5 << 20), "empty": {}}
			m := give(t, s, files)
			j := grid.Job{ID: job, Inputs: m, Program: grid.Program{Directory: "run/here", Output: "logs/out"}}
			// A crash came in the middle.
			if keep {
				write(t, s.path("work", "d", "data"), []byte("half"), 0o600)
			} else {
				write(t, s.path("work", "run.sh"), files["run.sh"], 0o600)
				if err := os.Remove(s.path("in", "run.sh")); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := s.Prepare(t.Context(), j, keep); err != nil {
					t.Fatal(err)
				}
			}
			want(t, s, Work, files)
			want(t, s, Inputs, files) // also when moved: what Serve gives
			if got := mode(t, s.path("work", "run.sh")); got != 0o755 {
				t.Errorf("mode %v", got)
			}
			if !mode(t, s.path("work", "run", "here", "logs")).IsDir() || mode(t, s.path("ctl")) != os.ModeDir|0o700 {
				t.Error("folders are missing")
			}
			if _, err := os.Lstat(s.path("in", "empty")); keep != (err == nil) {
				t.Errorf("in/ after keep=%v: %v", keep, err)
			}
			if keep { // the program writes to its copy, and a new start gets a fresh one
				write(t, s.path("work", "d", "data"), []byte("changed"), 0o600)
				if err := s.Discard(job, Work); err != nil {
					t.Fatal(err)
				}
				if err := s.Prepare(t.Context(), j, keep); err != nil {
					t.Fatal(err)
				}
				want(t, s, Work, files)
			}
		})
	}
	s := newNetwork(t).site("a", nil)
	for _, keep := range []bool{true, false} {
		err := s.Prepare(t.Context(), grid.Job{ID: job, Inputs: grid.Manifest{{Path: "gone"}}}, keep)
		if !errors.Is(err, grid.ErrNotFound) {
			t.Errorf("a missing input, keep=%v: %v", keep, err)
		}
	}
	if err := s.Prepare(t.Context(), grid.Job{ID: job, Program: grid.Program{Directory: "../../x"}}, true); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a working directory outside: %v", err)
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

// A start token must have a place before anything was prepared, and none where a
// lost control directory may have held one.
func TestMakeFolderOfANeverPreparedJobOnly(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	there := func() bool {
		info, err := os.Stat(s.path("ctl"))
		return err == nil && info.IsDir()
	}
	for range 2 {
		if err := s.MakeFolder(job); err != nil || !there() {
			t.Fatalf("a job without a folder: %v", err)
		}
	}
	if err := os.Remove(s.path("ctl")); err != nil { // a crash while the folders were made
		t.Fatal(err)
	}
	if err := s.MakeFolder(job); err != nil || !there() {
		t.Fatalf("half a folder: %v", err)
	}
	if err := s.Prepare(t.Context(), grid.Job{ID: job}, true); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.path("ctl")); err != nil {
		t.Fatal(err)
	}
	if err := s.MakeFolder(job); err != nil || there() {
		t.Errorf("the lost control directory of a prepared job: %v, made anew: %v", err, there())
	}
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

func TestDiscardRemovesWhatAProgramClosed(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	plant(t, s)
	write(t, s.path("work", "shut", "in", "x"), nil, 0o600)
	for _, d := range []string{s.path("work", "shut", "in"), s.path("work", "shut")} {
		if err := os.Chmod(d, 0); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := s.Jobs(); err != nil || !reflect.DeepEqual(ids, []grid.JobID{job}) {
		t.Errorf("jobs %v, %v", ids, err)
	}
	for range 2 {
		if err := s.Discard(job); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(s.path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
	if err := s.Discard("../x"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("a job outside: %v", err)
	}
}

// An owner looks whether the inputs of a job are still here: in in/, or where Prepare has moved them.
func TestHasInputs(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	m := give(t, s, map[string][]byte{"data": random(4)})
	has := func() error { return s.HasInputs(job, m) }
	if err := has(); err != nil {
		t.Errorf("received: %v", err)
	}
	if err := s.Prepare(t.Context(), grid.Job{ID: job, Inputs: m}, false); err != nil {
		t.Fatal(err)
	}
	if err := has(); err != nil {
		t.Errorf("moved: %v", err)
	}
	m[0].Size = 5
	if err := has(); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("of another size: %v", err)
	}
	m[0].Path = "other"
	if err := has(); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("not there: %v", err)
	}
	if err := s.Discard(job, Inputs, Work); err != nil {
		t.Fatal(err)
	}
	if err := has(); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("discarded: %v", err)
	}
}
