package localfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestReplaceKeepsModeAndLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := Create(file, []byte("one"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	if err := Replace(link, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != "two" {
		t.Fatalf("the file holds %q, %v", got, err)
	}
	info, err := os.Lstat(file)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Fatalf("the mode became %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Fatalf("the link became %v, %v", info.Mode(), err)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 2 {
		t.Fatalf("left behind: %v, %v", names, err)
	}
}

func TestCreateRefusesToOverwrite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a")
	if err := Create(file, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Create(file, []byte("two"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("a second Create gave %v", err)
	}
	if got, _ := os.ReadFile(file); string(got) != "one" {
		t.Fatalf("the file holds %q", got)
	}
}

func TestLockIsExclusive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	unlock, err := Lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	tired, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Lock(tired, dir); !errors.Is(err, context.Canceled) {
		t.Fatalf("a second Lock gave %v", err)
	}
	unlock()
	again, err := Lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
