package line

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A file has its name on disk when it is written: the folder is opened, to be synced, after the file was given its name.
func TestTheFolderIsSyncedAfterTheName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal("watching the folder: ", err)
	}
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_MOVED_TO|unix.IN_OPEN); err != nil {
		t.Fatal("watching the folder: ", err)
	}
	name := filepath.Join(dir, "file")
	if err := WriteFile(name, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "text" {
		t.Errorf("it has %q, %v", data, err)
	}
	seen := events(t, fd)
	named := slices.Index(seen, unix.IN_MOVED_TO)
	if named < 0 || !slices.Contains(seen[named:], unix.IN_OPEN|unix.IN_ISDIR) {
		t.Errorf("the kernel saw %#x", seen)
	}
	if err := syncFolder(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a folder that is not there is synced: %v", err)
	}
}

// events are the masks of what has happened.
func events(t *testing.T, fd int) (masks []uint32) {
	t.Helper()
	b := make([]byte, 4096)
	n, err := unix.Read(fd, b)
	if err != nil {
		t.Fatal(err)
	}
	for b = b[:n]; len(b) > 0; b = b[unix.SizeofInotifyEvent+binary.NativeEndian.Uint32(b[12:]):] {
		masks = append(masks, binary.NativeEndian.Uint32(b[4:]))
	}
	return masks
}
