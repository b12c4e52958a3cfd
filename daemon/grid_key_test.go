package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/overlay"
)

// The grid's key is read from a file beside that of the neighbours, which its owner alone may read.
func TestGridKey(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cfg := Config{Neighbours: filepath.Join(folder, "neighbours.yaml")}
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	key := overlay.NewGridKey()
	put("neighbours.yaml", "grid_key: key\nmembers: []\n", 0o644)
	load := func() (overlay.GridKey, string) {
		t.Helper()
		n, wrong, err := loadNeighbours(cfg, "neighbours.yaml", "")
		if err != nil {
			t.Fatal(err)
		}
		if len(wrong) == 0 {
			return n.GridKey, ""
		}
		return n.GridKey, wrong.Error()
	}
	if _, why := load(); !strings.Contains(why, "`gbroker grid` makes a key") {
		t.Errorf("no key: %q", why)
	}
	put("key", key.Text()+"\n", 0o640)
	if _, why := load(); !strings.Contains(why, "mode 0640") || !strings.Contains(why, "chmod 600") {
		t.Errorf("a key that others read: %q", why)
	}
	put("key", key.Text()+"\n", 0o600)
	if got, why := load(); got != key || why != "" {
		t.Errorf("%v, %q", got, why)
	}
	put("key", "short", 0o600)
	if got, why := load(); got == key || why == "" {
		t.Errorf("no key is read as one: %q", why)
	}
}
