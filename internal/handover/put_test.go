package handover

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// watched are what the kernel told of a folder: the names of files that appeared, and "." each time that it was opened itself.
func watched(t *testing.T, fd int) (seen []string) {
	t.Helper()
	buffer := make([]byte, 64<<10)
	n, err := unix.Read(fd, buffer)
	if err != nil {
		t.Fatal(err)
	}
	for b := buffer[:n]; len(b) >= unix.SizeofInotifyEvent; {
		mask, length := binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
		name := string(bytes.TrimRight(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length], "\x00"))
		switch {
		case mask&(unix.IN_MOVED_TO|unix.IN_CREATE) != 0:
			seen = append(seen, name)
		case mask&unix.IN_OPEN != 0 && name == "":
			seen = append(seen, ".")
		}
		b = b[unix.SizeofInotifyEvent+length:]
	}
	return seen
}

// The folder is synced behind the name that a file gets in it: a power cut does not take the name away when the file was told to be
// there. (It is seen that it is opened, which is for nothing else.)
func TestPutSyncsTheName(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"overwrite", "append", "dontOverwrite"} {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			t.Skipf("folders cannot be watched here: %v", err)
		}
		defer unix.Close(fd)
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN|unix.IN_MOVED_TO|unix.IN_CREATE); err != nil {
			t.Fatal(err)
		}
		if err := Put(root, "result", flag, 4, strings.NewReader("text")); err != nil {
			t.Fatal(err)
		}
		seen := watched(t, fd)
		if n := len(seen); n < 2 || seen[n-2] != "result" || seen[n-1] != "." {
			t.Errorf("%s: %q", flag, seen)
		}
	}
}
