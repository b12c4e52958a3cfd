package line

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// No link that is taken for one inside leads out, whatever other links there are: by a link that leads up, and up from there, one came out once.
func TestLinksStayInside(t *testing.T) {
	t.Parallel()
	if !isInside("x/y/d", "../..") || isInside("x/y/l", "d/../..") {
		t.Error("a link goes up from behind another")
	}
	top, count := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		count++
		sandbox := filepath.Join(top, fmt.Sprint(count), "out", "out", "sandbox")
		folders := []string{".", "a", "a/b", "a/b/c", "d"}
		for _, f := range folders {
			if err := os.MkdirAll(filepath.Join(sandbox, f), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		var links []string
		for i := range rapid.IntRange(1, 5).Draw(t, "links") {
			at := filepath.Join(rapid.SampledFrom(folders).Draw(t, "folder"), fmt.Sprint("l", i))
			to := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"..", "..", ".", "a", "b", "c", "l0", "l1", "l2"}), 1, 5).Draw(t, "to"), "/")
			if !isInside(at, to) {
				continue
			}
			if err := os.Symlink(to, filepath.Join(sandbox, at)); err != nil {
				t.Fatal(err)
			}
			links = append(links, at)
		}
		for _, at := range links {
			end, err := filepath.EvalSymlinks(filepath.Join(sandbox, at))
			if err == nil && end != sandbox && !strings.HasPrefix(end, sandbox+"/") {
				t.Fatalf("%s leads to %s", at, end)
			}
		}
	})
}

// A link that leads to something inside is written so that it is known to stay there, and leads to the same; one that leads out is refused.
func TestLinksAreStraightened(t *testing.T) {
	t.Parallel()
	top := filepath.Join(t.TempDir(), "sandbox")
	for _, f := range []string{"data", "rel/v1", "lib", "share/tool", "bin"} {
		if err := os.MkdirAll(filepath.Join(top, f), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for at, to := range map[string]string{"deep": "rel/v1", "away": "/etc", "round": "round2", "round2": "round"} {
		if err := os.Symlink(to, filepath.Join(top, at)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, c := range []struct{ at, to, want string }{
		{"cur", "data", "data"},
		{"cur", "rel/../data", "data"},
		{"bin/tool", "../lib/../share/tool", "../share/tool"},
		{"bin/deep", "../deep/../v1", "../rel/v1"}, // deep/.. is rel
		{"bin/self", "../lib/../bin", "."},
		{"bin/top", "../lib/..", ".."},
		{"bin/none", "../none/../data", "../data"},
		{"cur", "rel/../../sandbox/data", ""},
		{"cur", "away/../tmp", ""},
		{"cur", "round/../data", ""},
		{"cur", "/data", ""},
		{"cur", "", ""},
	} {
		got, err := Link(root, c.at, c.to)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s to %q: %q, %v", c.at, c.to, got, err)
		}
	}
}

// Whatever links lie in a sandbox, one that is straightened leads to the same as before.
func TestStraightenedLinksLeadToTheSame(t *testing.T) {
	t.Parallel()
	top, count, changed := t.TempDir(), 0, 0
	names := []string{"..", "..", ".", "a", "b", "c", "d", "l0", "l1", "l2"}
	rapid.Check(t, func(t *rapid.T) {
		count++
		sandbox := filepath.Join(top, fmt.Sprint(count), "sandbox")
		folders := []string{".", "a", "a/b", "a/b/c", "d"}
		for _, f := range folders {
			if err := os.MkdirAll(filepath.Join(sandbox, f), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		root, err := os.OpenRoot(sandbox)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		for i := range rapid.IntRange(1, 4).Draw(t, "links") {
			folder := rapid.SampledFrom(folders).Draw(t, "folder")
			at := filepath.Join(folder, fmt.Sprint("l", i))
			to := strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 6).Draw(t, "to"), "/")
			if rapid.Bool().Draw(t, "down and up") {
				up, err := filepath.Rel(folder, "a")
				if err != nil {
					t.Fatal(err)
				}
				to = up + "/../" + to
			}
			if err := os.Symlink(to, filepath.Join(sandbox, at)); err != nil {
				t.Fatal(err)
			}
			before, err := filepath.EvalSymlinks(filepath.Join(sandbox, at))
			straight, refused := Link(root, at, to)
			if err != nil || refused != nil {
				continue
			}
			if straight != to {
				changed++
			}
			if err := errors.Join(os.Remove(filepath.Join(sandbox, at)), os.Symlink(straight, filepath.Join(sandbox, at))); err != nil {
				t.Fatal(err)
			}
			if after, err := filepath.EvalSymlinks(filepath.Join(sandbox, at)); err != nil || after != before {
				t.Fatalf("%s leads by %s to %s, and by %s to %s: %v", at, to, before, straight, after, err)
			}
		}
	})
	if changed == 0 {
		t.Error("no link was straightened")
	}
}
