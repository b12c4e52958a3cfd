package line

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

// A full or hanging disk passes; what lies in the way does not.
func TestPasses(t *testing.T) {
	t.Parallel()
	for errno, want := range map[syscall.Errno]bool{
		syscall.ENOSPC: true, syscall.EIO: true, syscall.ESTALE: true, syscall.EMFILE: true,
		syscall.EEXIST: false, syscall.ENOTDIR: false, syscall.EACCES: false, syscall.ELOOP: false,
	} {
		if got := Passes(fmt.Errorf("taking it: %w", &fs.PathError{Op: "mkdir", Path: "a", Err: errno})); got != want {
			t.Errorf("%v: %t", errno, got)
		}
	}
	if Passes(nil) {
		t.Error("no error passes")
	}
}
