package store

import (
	"os"
	"path/filepath"
	"testing"
)

// A journal that is put back begins a life after all that it had, also those of which only the file beside it tells.
func TestLivesGoOnAfterThoseThatAreLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begin := func() uint64 {
		j := mustOpen(t, dir)
		life := j.ID().Life
		if err := j.Tell(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		return life
	}
	begin()
	copied, err := os.ReadFile(filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for range 5 { // the seconds of five lives are ahead of the clock
		life := begin()
		if life <= last {
			t.Errorf("life %x follows %x", life, last)
		}
		last = life
	}
	if err := os.WriteFile(filepath.Join(dir, "journal.db"), copied, 0o600); err != nil {
		t.Fatal(err)
	}
	if back := begin(); back <= last {
		t.Errorf("put back it begins life %x, and had come to %x", back, last)
	}
}
