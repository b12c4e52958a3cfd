package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// smallDisk is a file system of so many bytes; a test without one skips.
func smallDisk(t *testing.T, size int64) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk: run the tests as root to see a full one")
	}
	dir := t.TempDir()
	if err := unix.Mount("gbroker-test", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d", size)); err != nil {
		t.Skipf("a small disk cannot be mounted here (%v): a full one is not tested", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillUp leaves no byte.
func fillUp(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, unix.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// On a disk without a byte left ends, cancels and removals are still written down, though
// what filled it takes all that it can get; and the journal opens.
func TestAFullDiskTakesEnds(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 160<<20)
	ctx := context.Background()
	j := mustOpen(t, filepath.Join(dir, "data"))
	for n := range 100 {
		mustCommit(t, j, save(n, "submitted"))
	}
	hog := filepath.Join(dir, "hog")
	fillUp(t, hog)
	if free, err := j.free(); err != nil || free != 0 {
		t.Fatalf("%d bytes are left: %v", free, err)
	}
	if err := j.SeenPeer(ctx, "peer-b", grid.JournalID{Incarnation: 1, Sequence: 7}); err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		c := save(n, "it ended, and was told so at some length")
		if n%3 == 0 {
			c = removed(n)
		}
		mustCommit(t, j, c)
		if n%20 == 0 {
			fillUp(t, hog)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	fillUp(t, hog)
	j = mustOpen(t, filepath.Join(dir, "data"))
	if got := len(mustLoad(t, j)); got != 66 {
		t.Errorf("%d jobs are left", got)
	}
	if peers, err := j.Peers(ctx); err != nil || len(peers["peer-b"]) != 1 || peers["peer-b"][0].Sequence != 7 {
		t.Errorf("what was noted before the commit that was tried again: %v %v", peers, err)
	}
	// With room again, so much is kept back as before.
	if err := os.Remove(hog); err != nil {
		t.Fatal(err)
	}
	before := j.reserve.size
	j.reserve.follow(reserveAgain)
	if info, err := os.Stat(filepath.Join(dir, "data", reserveName)); err != nil || info.Size() != reserveSize || before >= reserveSize {
		t.Errorf("%d bytes were kept back, and are again: %v %v", before, info, err)
	}
}

// Programs write down how they ended: some room comes back without a commit, and some stays
// for the journal.
func TestAFullDiskHasRoomForPrograms(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 160<<20)
	j := mustOpen(t, filepath.Join(dir, "data"))
	hog := filepath.Join(dir, "hog")
	for range 2 * reserveSize / reservePiece {
		fillUp(t, hog)
		if _, err := j.Space(); err != nil {
			t.Fatal(err)
		}
	}
	if j.reserve.size != reserveSize/2 {
		t.Errorf("%d bytes are still kept back", j.reserve.size)
	}
}
