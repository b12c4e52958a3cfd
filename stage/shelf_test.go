package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gbroker/grid"
)

// What a crash left of small files, and what another set left where they or their folders belong, does not stay.
func TestSmallFilesReplaceWhatIsTorn(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	files := map[string][]byte{"torn": random(1000), "wrong": random(1000), "here/deep/x": random(10), "open": random(smallFile), "large": random(smallFile + 1), "dir": random(3)}
	for i := range 100 {
		files[fmt.Sprintf("many/%d", i)] = random(i + 1)
	}
	m := give(t, a, files)
	if _, err := b.Received(job); err != nil { // makes the folder
		t.Fatal(err)
	}
	for name, bytes := range map[string][]byte{"torn": files["torn"][:500], "wrong": random(1000), "here": random(5), "dir/x": random(5)} {
		name = b.path("in", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, bytes, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	want(t, b, Inputs, files)
	if got := mode(t, b.path("in", "torn")); got != 0o640 {
		t.Errorf("mode %v, want 0640", got)
	}
}
