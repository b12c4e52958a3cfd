package stage

import (
	"errors"
	"os"
	"testing"

	"gbroker/grid"
)

// An output that is another one too, behind a link to it or to its folder, is there whichever comes
// first; and one in a folder that its program closed is taken as well.
func TestCollectByEveryName(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"d/file", "link", "dirlink/file"}, {"link", "dirlink/file", "d/file"}, {"dirlink/file", "d/file", "link"}} {
		s := newNetwork(t).site("a", nil)
		write(t, s.path("work", "d", "file"), []byte("text"), 0o600)
		write(t, s.path("work", "shut", "file"), []byte("shut"), 0)
		for name, to := range map[string]string{"link": "d/file", "dirlink": "d"} {
			if err := os.Symlink(to, s.path("work", name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(s.path("work", "shut"), 0); err != nil {
			t.Fatal(err)
		}
		j := grid.Job{ID: job, Outputs: []grid.Output{{Path: "shut/file", Target: "shut", Required: true}}}
		for i, n := range names {
			j.Outputs = append(j.Outputs, grid.Output{Path: n, Target: []string{"1", "2", "3"}[i], Required: true})
		}
		if _, missing, err := s.Collect(t.Context(), j); err != nil || len(missing) > 0 {
			t.Errorf("%v: missing %v, %v", names, missing, err)
			continue
		}
		want(t, s, Outputs, map[string][]byte{"1": []byte("text"), "2": []byte("text"), "3": []byte("text"), "shut": []byte("shut")})
	}
}

// Whatever fails while outputs are collected, what was left is in work/ or in out/, and is collected when
// it is tried again.
func TestAFailureOfCollectingLosesNothing(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	j := grid.Job{ID: job, Outputs: []grid.Output{{Path: "a", Target: "a"}, {Path: "b", Target: "b/x"}, {Path: "c", Target: "c"}, {Path: "link", Target: "d"}}}
	for _, n := range []string{"a", "b", "c"} {
		write(t, s.path("work", n), []byte(n), 0o600)
	}
	if err := os.Symlink("a", s.path("work", "link")); err != nil {
		t.Fatal(err)
	}
	write(t, s.path("out", "b"), nil, 0o600) // in the way of a folder
	free := int64(0)
	s.cfg.Free = func() (int64, error) { return free, nil } // no room for the copy
	for range 2 {
		if _, _, err := s.Collect(t.Context(), j); !errors.Is(err, grid.ErrUnavailable) {
			t.Fatalf("collected: %v", err)
		}
	}
	if err := os.Remove(s.path("out", "b")); err != nil {
		t.Fatal(err)
	}
	free = 1 << 40
	if _, _, err := s.Collect(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	want(t, s, Outputs, map[string][]byte{"a": []byte("a"), "b/x": []byte("b"), "c": []byte("c"), "d": []byte("a")})
}

// An output that keeps another name in reach of its program is copied: what is written there
// afterwards is not in it.
func TestCollectCopiesWhatHasAnotherName(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	write(t, s.path("work", "out"), []byte("first"), 0o600)
	if err := os.Link(s.path("work", "out"), s.path("work", "kept")); err != nil {
		t.Fatal(err)
	}
	if _, missing, err := s.Collect(t.Context(), grid.Job{ID: job, Outputs: []grid.Output{{Path: "out", Target: "out", Required: true}}}); err != nil || len(missing) > 0 {
		t.Fatalf("missing %v, %v", missing, err)
	}
	write(t, s.path("work", "kept"), []byte("other"), 0o600)
	want(t, s, Outputs, map[string][]byte{"out": []byte("first")})
}
