package stage

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
)

// What is put aside is whole where it lies, out of the way of the same job, until its time is over.
func TestSetAside(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	now := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	if where, err := s.SetAside(job, false, now); where != "" || err != nil {
		t.Errorf("nothing is there: %q, %v", where, err)
	}
	if _, err := s.Receive(t.Context(), job, "x", 4, 0o600, 0, strings.NewReader("1234")); err != nil {
		t.Fatal(err)
	}
	where, err := s.SetAside(job, false, now)
	if err != nil || !strings.HasSuffix(where, "/aside/"+string(job)+".20261122T070000Z") {
		t.Fatalf("%q, %v", where, err)
	}
	if text, err := os.ReadFile(filepath.Join(where, "in", "x")); string(text) != "1234" || err != nil {
		t.Errorf("its files: %q, %v", text, err)
	}
	if ids, err := s.Jobs(); err != nil || len(ids) != 0 {
		t.Errorf("jobs: %v, %v", ids, err)
	}
	if m, err := s.Received(job); err != nil || len(m) != 0 {
		t.Errorf("the same job anew has received %v, %v", m, err)
	}
	if _, err := s.SetAside(job, false, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(filepath.Dir(where), "by hand"), 0o700); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Aside(); err != nil || len(m) != 2 || m[filepath.Join(where, "ctl")] != job {
		t.Errorf("aside are %v, %v", m, err)
	}
	if n, err := s.DropAside(now); n != 0 || err != nil {
		t.Errorf("dropped %d at once, %v", n, err)
	}
	if n, err := s.DropAside(now.Add(time.Minute)); n != 1 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	list, err := os.ReadDir(filepath.Dir(where))
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	if want := []string{string(job) + ".20261122T080000Z", "by hand"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("left are %v, %v", names, err)
	}
}

// Of a job of another home only what has run, or was collected, is worth keeping.
func TestForeignInputsAreNotPutAside(t *testing.T) {
	t.Parallel()
	for _, ran := range []bool{false, true} {
		s := newNetwork(t).site("a", nil)
		if err := s.MakeFolder(job); err != nil {
			t.Fatal(err)
		}
		_, control := s.Paths(job)
		if ran {
			if err := os.WriteFile(filepath.Join(control, "start.1.0.1"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		where, err := s.SetAside(job, true, time.Now())
		if err != nil || (where != "") != ran {
			t.Errorf("ran %t: %q, %v", ran, where, err)
		}
		if _, err := os.Stat(control); !os.IsNotExist(err) {
			t.Errorf("ran %t: it is still there: %v", ran, err)
		}
	}
}

// A folder that was put aside goes back whole, and never over one that is there.
func TestPutBack(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	for text := range 2 {
		write(t, s.path("ctl/x"), []byte{byte(text)}, 0o600)
		if _, err := s.SetAside(job, false, time.Unix(int64(text), 0)); err != nil {
			t.Fatal(err)
		}
	}
	aside, err := s.Aside()
	list := slices.Sorted(maps.Keys(aside))
	if err != nil || len(list) != 2 {
		t.Fatalf("aside are %v, %v", list, err)
	}
	if moved, err := s.PutBack(list[1], job); !moved || err != nil {
		t.Errorf("put back: %t, %v", moved, err)
	}
	if moved, err := s.PutBack(list[0], job); moved || err != nil {
		t.Errorf("put back over it: %t, %v", moved, err)
	}
	if text, err := os.ReadFile(s.path("ctl/x")); string(text) != "\x01" || err != nil {
		t.Errorf("the job has %q, %v", text, err)
	}
	if err := os.RemoveAll(s.path("")); err != nil {
		t.Fatal(err)
	}
	if moved, err := s.PutBack(list[1], job); moved || err == nil {
		t.Errorf("one that is not there: %t, %v", moved, err)
	}
}

// Every trace of a run is one: that it was prepared, and that something was collected. Credentials are never kept.
func TestTracesOfARun(t *testing.T) {
	t.Parallel()
	for _, trace := range []string{marker, "out.log"} {
		s := newNetwork(t).site("a", nil)
		if err := s.KeepSecrets(job, []byte("- {for: \"https://x.org/\", user: u, password: p}\n")); err != nil {
			t.Fatal(err)
		}
		write(t, s.path(trace), nil, 0o600)
		where, err := s.SetAside(job, true, time.Now())
		if err != nil || where == "" {
			t.Fatalf("with %s: %q, %v", trace, where, err)
		}
		if list, err := os.ReadDir(filepath.Join(where, "ctl")); err != nil || len(list) > 0 {
			t.Errorf("with %s its ctl/ has %v, %v", trace, list, err)
		}
	}
}

// Where nothing was put aside nothing is dropped, and what cannot be put aside stays, and is told.
func TestWhatCannotBePutAside(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	if n, err := s.DropAside(time.Now()); n != 0 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	now := time.Now()
	for range 2 {
		write(t, s.path("out", "x"), []byte("x"), 0o600)
		where, err := s.SetAside(job, false, now)
		if err == nil {
			continue
		}
		if !errors.Is(err, grid.ErrUnavailable) || where != "" {
			t.Errorf("%q, %v", where, err)
		}
	}
	want(t, s, Outputs, map[string][]byte{"x": []byte("x")})
	blocked := newNetwork(t).site("b", nil)
	write(t, blocked.path("out", "x"), []byte("x"), 0o600)
	write(t, filepath.Join(blocked.cfg.Root, asideDir), nil, 0o600)
	if where, err := blocked.SetAside(job, false, now); !errors.Is(err, grid.ErrUnavailable) || where != "" {
		t.Errorf("%q, %v", where, err)
	}
	if n, err := blocked.DropAside(now); n != 0 || err == nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	want(t, blocked, Outputs, map[string][]byte{"x": []byte("x")})
}
