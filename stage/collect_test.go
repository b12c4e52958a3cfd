package stage

import (
	"errors"
	"os"
	"strings"
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

// What was exchanged under the eyes of Collect stays where its program put it, and is not taken for the output that was looked at.
func TestAnOutputThatIsExchanged(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	write(t, s.path("work", "out"), []byte("exchanged"), 0o600)
	write(t, s.path("work", "seen"), []byte("seen"), 0o600)
	if err := s.MakeFolder(job); err != nil {
		t.Fatal(err)
	}
	root, err := s.folder(job)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	work, err := root.OpenRoot(workDir)
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	f, info, err := openRegular(work, "seen")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := s.moveOut(root, work, f, info, "out", "out/got/out"); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "exchanged") {
		t.Errorf("moved: %v", err)
	}
	if text, err := os.ReadFile(s.path("work", "out")); string(text) != "exchanged" || err != nil {
		t.Errorf("in work/ is %q, %v", text, err)
	}
	if _, err := os.Lstat(s.path("out", "got/out")); err == nil {
		t.Error("it counts as an output")
	}
	if err := s.moveOut(root, work, f, info, "gone", "out/got/gone"); err == nil {
		t.Error("what is not there was moved")
	}
	if err := s.moveOut(root, work, f, info, "seen/out", "out/got/gone"); err == nil {
		t.Error("what is no folder was looked into")
	}
}

// What stands in out/ in the place of an output and is none goes: a link there would be read as if the job had left what it leads to.
func TestNoOutputWhereOneShouldBe(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	write(t, s.path("in", "secret"), []byte("secret"), 0o600)
	write(t, s.path("work", "a"), []byte("a"), 0o600)
	write(t, s.path("out", "folder", "x"), nil, 0o600)
	if err := errors.Join(os.Symlink("../in/secret", s.path("out", "a")), os.Symlink("../in/secret", s.path("out", "b"))); err != nil {
		t.Fatal(err)
	}
	j := grid.Job{ID: job, Outputs: []grid.Output{{Path: "a", Target: "a"}, {Path: "b", Target: "b"}, {Path: "folder", Target: "folder"}}}
	m, _, err := s.Collect(t.Context(), j)
	if err != nil || len(m) != 1 {
		t.Fatal(m, err)
	}
	want(t, s, Outputs, map[string][]byte{"a": []byte("a")})
	if text, err := os.ReadFile(s.path("in", "secret")); string(text) != "secret" || err != nil {
		t.Errorf("what it led to is %q, %v", text, err)
	}
}

// Where nothing can be written outputs are not told as collected, and are collected when it can.
func TestOutputsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, output := range map[string]string{"moved, but not sealed": "a", "copied": "link", "none": "gone"} {
		s := newNetwork(t).site("a", nil)
		write(t, s.path("work", "a"), []byte("a"), 0o600)
		if err := errors.Join(s.MakeFolder(job), os.Symlink("a", s.path("work", "link")), os.Remove(s.path("part")), os.WriteFile(s.path("part"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		j := grid.Job{ID: job, Outputs: []grid.Output{{Path: output, Target: output}}}
		if _, _, err := s.Collect(t.Context(), j); !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(s.path("part")); err != nil {
			t.Fatal(err)
		}
		if m, _, err := s.Collect(t.Context(), j); err != nil || (len(m) == 1) != (output != "gone") {
			t.Errorf("%s, again: %v, %v", name, m, err)
		}
	}
}

// A job whose working directory is gone left nothing, by name or by pattern; that is no error, or it would be tried for ever.
func TestCollectWithoutAWorkingDirectory(t *testing.T) {
	t.Parallel()
	s := newNetwork(t).site("a", nil)
	j := grid.Job{ID: job, Program: grid.Program{Directory: "gone"}, Bring: []grid.Bring{grid.Everything}, Outputs: []grid.Output{{Path: "gone/x", Target: "x", Required: true}}}
	if m, missing, err := s.Collect(t.Context(), j); err != nil || len(m) > 0 || len(missing) != 1 {
		t.Errorf("%v, missing %v, %v", m, missing, err)
	}
}
