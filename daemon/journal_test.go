package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"gbroker/grid"
)

// A journal is made at the first start alone, or where the administrator insists.
func TestMissingJournal(t *testing.T) {
	t.Parallel()
	o := DefaultInit()
	o.Dir, o.Site = filepath.Join(t.TempDir(), "a"), "a"
	cfg, err := Init(o)
	if err != nil {
		t.Fatal(err)
	}
	open := func() error {
		j, err := openJournal(t.Context(), cfg, zap.NewNop())
		if err == nil {
			err = j.Close()
		}
		return err
	}
	refused := func(what, word string) {
		t.Helper()
		if err := open(); !errors.Is(err, grid.ErrNotFound) || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "--empty-journal") {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := reopenJournal(t.Context(), cfg); !errors.Is(err, grid.ErrNotFound) {
			t.Errorf("%s, while running: %v", what, err)
		}
	}
	for _, start := range []string{"first", "second"} {
		if err := open(); err != nil {
			t.Fatalf("the %s start: %v", start, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(cfg.Dir(), firstStartName)); err == nil {
		t.Error("after the first start the next may make a journal again")
	}
	if err := os.RemoveAll(cfg.Data); err != nil {
		t.Fatal(err)
	}
	refused("the data folder is gone", "is missing")
	if _, err := os.Stat(cfg.Data); err == nil {
		t.Error("a refused start has made the data folder")
	}
	if err := os.Mkdir(cfg.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	refused("its disk is not mounted", "has no journal")
	cfg.EmptyJournal = true
	if err := open(); err != nil {
		t.Errorf("with --empty-journal: %v", err)
	}
	if err := open(); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("with --empty-journal and a journal: %v", err)
	}
}
