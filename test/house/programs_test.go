package house

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// No built program is kept in the repository.
func TestNoPrograms(t *testing.T) {
	t.Parallel()
	const top = "../.."
	list, err := exec.CommandContext(t.Context(), "git", "-C", top, "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("git does not tell its files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		f, err := os.Open(filepath.Join(top, name))
		if err != nil {
			continue // taken away, and not yet committed
		}
		head := make([]byte, 4)
		_, _ = io.ReadFull(f, head)
		f.Close()
		if bytes.Equal(head, []byte("\x7fELF")) {
			t.Errorf("%s is a built program: git rm it", name)
		}
	}
}
