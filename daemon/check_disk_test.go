package daemon

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A read-only disk is no matter of whose the folder is.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	for err, says := range map[error]string{unix.EROFS: "read-only file system", unix.EACCES: "chown it", unix.EIO: "input/output error"} {
		if got := unwritable(err); got == nil || !strings.Contains(got.Error(), says) || strings.Contains(got.Error(), "chown") != (err == unix.EACCES) {
			t.Errorf("%v: %v", err, got)
		}
	}
	if got := unwritable(nil); got != nil {
		t.Error(got)
	}
}
