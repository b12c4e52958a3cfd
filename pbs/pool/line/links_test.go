package line

import (
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
	if !IsInside("x/y/d", "../..") || IsInside("x/y/l", "d/../..") {
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
			if !IsInside(at, to) {
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
