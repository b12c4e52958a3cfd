package control

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gbroker/grid"
)

// A grant is read as it was written, the last one, and none is left half.
func TestGrant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, there, err := ReadGrant(dir, at); there || err != nil {
		t.Fatalf("before the first: %v, %v", there, err)
	}
	g := Grant{At: 1_800_000_000_000, Computer: "desk7", Stint: "s1", Count: 1, Work: "/jobs/a/work", Limit: grid.Hour}
	again := g
	again.Computer, again.Stint, again.Count, again.Rerunnable = "desk8", "s2", 2, true
	for _, want := range []Grant{g, again} {
		if err := WriteGrant(dir, at, want); err != nil {
			t.Fatal(err)
		}
		if got, there, err := ReadGrant(dir, at); got != want || !there || err != nil {
			t.Errorf("%+v, %v, %v; written was %+v", got, there, err, want)
		}
	}
	other := at
	other.Attempt++
	if _, there, err := ReadGrant(dir, other); there || err != nil {
		t.Errorf("another attempt has it: %v, %v", there, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".tmp*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if err := os.Rename(path(dir, "grant", at), path(dir, "grant", other)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadGrant(dir, other); !errors.Is(err, grid.ErrDamaged) {
		t.Errorf("a grant under another's name: %v", err)
	}
	if err := WriteGrant(filepath.Join(dir, "none"), at, g); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("a folder that there is not: %v", err)
	}
}
