package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	j := mustOpen(t, dir)
	mustCommit(t, j, save(1))
	for name, want := range map[string]os.FileMode{"": 0o700, "journal.db": 0o600, "journal.db-wal": 0o600, "journal.db-shm": 0o600, "lock": 0o600, "journal.at": 0o600, "journal.told": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != want {
			t.Errorf("%q has mode %v", name, info.Mode())
		}
	}
}

// A folder name is no part of a query or an escape.
func TestOddFolderName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a?b#c %41&_pragma=x")
	j := mustOpen(t, dir)
	mustCommit(t, j, save(1))
	if _, err := os.Stat(filepath.Join(dir, "journal.db-wal")); err != nil {
		t.Error(err)
	}
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := j.conn.QueryRowContext(context.Background(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v", pragma, got, err)
		}
	}
	if _, err := j.reader.Exec(`DELETE FROM entity`); err == nil {
		t.Error("the readers may write")
	}
	mustCommit(t, j, save(1, "x"))
	if _, err := j.conn.ExecContext(context.Background(), `UPDATE event SET why = 'y'`); err == nil {
		t.Error("history can be changed")
	}
}

func TestSecondOpener(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	_, err := Open(context.Background(), dir)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", os.Getpid())) {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, dir)
}

func TestNetworkFileSystems(t *testing.T) {
	t.Parallel()
	for magic, name := range remote {
		stat := func(_ string, st *unix.Statfs_t) error { st.Type = int64(magic); return nil }
		dir := t.TempDir()
		_, err := open(context.Background(), dir, options{stat, migrations, "sqlite"})
		if !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), "is on "+name) || !strings.Contains(err.Error(), "local disk") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "journal.db")); err == nil {
			t.Errorf("%s: a database was made", name)
		}
	}
	broken := func(string, *unix.Statfs_t) error { return unix.EIO }
	if _, err := open(context.Background(), t.TempDir(), options{broken, migrations, "sqlite"}); !errors.Is(err, unix.EIO) {
		t.Error(err)
	}
}

func TestSpace(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	if free, err := j.Space(); err != nil || free <= 0 {
		t.Error(free, err)
	}
	j.stat = func(_ string, st *unix.Statfs_t) error { st.Bavail, st.Bfree, st.Bsize = 3, 100, 4096; return nil }
	if free, err := j.Space(); err != nil || free != 3*4096 {
		t.Error(free, err)
	}
}
