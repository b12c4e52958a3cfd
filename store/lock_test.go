package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A lock that lives on for a moment in a child which a killed daemon had just
// forked does not keep the next daemon out.
func TestALockIsWaitedForAMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { f.Close() })
	j, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatalf("the folder was free 100 ms later: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
