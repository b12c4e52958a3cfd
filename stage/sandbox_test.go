package stage

import (
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

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

// The limit counts what the process before has received, from the first upload on; what was discarded counts for nothing.
func TestReceiveUpToTheLimitAgain(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	s := n.site("a", func(c *Config) { c.MaxBytes = 4 })
	if _, err := s.Receive(t.Context(), job, "x", 3, 0o600, 0, strings.NewReader("123")); err != nil {
		t.Fatal(err)
	}
	again := n.open("a", s.cfg)
	if _, err := again.Receive(t.Context(), job, "y", 2, 0o600, 0, strings.NewReader("12")); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("five bytes of four, after a restart: %v", err)
	}
	if _, err := again.Receive(t.Context(), job, "y", 1, 0o600, 0, strings.NewReader("1")); err != nil {
		t.Error(err)
	}
	if err := again.Discard(job, Inputs); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Receive(t.Context(), job, "z", 4, 0o600, 0, strings.NewReader("1234")); err != nil {
		t.Error(err)
	}
	if m, err := again.Received(job); err != nil || len(m) != 1 || m[0].Path != "z" {
		t.Errorf("after its inputs were discarded it has %v, %v", m, err)
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
