package accounts

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/stage/transfer"
)

// A file: target is written by the account of its user, where that account may write, whole or not at all, by its
// flag, and belongs to it.
func TestTargetsOfAnAccount(t *testing.T) {
	for _, as := range []string{"root", "gbroker"} {
		t.Run(as, func(t *testing.T) {
			if !Inside(t, as) {
				return
			}
			pass(t, filepath.Join(Top, as))
			s := open(t, filepath.Join(Top, as, "jobs"))
			Do(t, "alice", "mkdir -p "+Top+"/alice/results/deep; chmod 700 "+Top+"/alice/results")
			Do(t, "bob", "mkdir -p "+Top+"/bob/results; chmod 700 "+Top+"/bob/results")
			c := transfer.New(transfer.Config{Write: []string{Top + "/alice", Top + "/bob"}, As: s.as, Patience: 1})
			data := make([]byte, 3<<20+7)
			rand.Read(data)
			name := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
			from, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			put := func(path, account string, size int64, flag grid.CreationFlag) error {
				return c.Put(t.Context(), transfer.Place{URI: "file://" + Top + path, Account: account}, from, size, flag)
			}
			sum := func(file string) string {
				return strings.TrimSpace(Do(t, "alice", "cd "+Top+"/alice/results; stat -c '%U %s' "+file+" && ls -A . deep"))
			}
			if err := put("/alice/results/deep/out", "alice", int64(len(data)), grid.Overwrite); err != nil {
				t.Fatal(err)
			}
			if got := sum("deep/out"); !strings.HasPrefix(got, "alice 3145735") || strings.Contains(got, ".gbroker") {
				t.Errorf("there is %q", got)
			}
			if got := Do(t, "alice", "cat "+Top+"/alice/results/deep/out | sha256sum"); !strings.HasPrefix(got, fmt.Sprintf("%x", sha256.Sum256(data))) {
				t.Errorf("its bytes are others: %s", got)
			}
			if err := put("/alice/results/deep/out", "alice", 5, grid.Append); err != nil || !strings.HasPrefix(sum("deep/out"), "alice 3145740") {
				t.Errorf("appended: %v, %q", err, sum("deep/out"))
			}
			if err := put("/alice/results/deep/out", "alice", 5, grid.DontOverwrite); !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("over what is there: %v", err)
			}
			if err := put("/bob/results/out", "alice", 5, grid.Overwrite); !errors.Is(err, grid.ErrForbidden) {
				t.Errorf("where the account may not write: %v", err)
			}
			if err := put("/alice/results/none/out", "alice", 5, grid.Overwrite); !errors.Is(err, grid.ErrNotFound) {
				t.Errorf("into no folder: %v", err)
			}
			if err := put("/alice/results/out", "", 5, grid.Overwrite); !errors.Is(err, grid.ErrForbidden) {
				t.Errorf("for a user without an account: %v", err)
			}
			Do(t, "alice", "ln -s /mnt/bob "+Top+"/alice/results/link")
			if err := put("/alice/results/link/out", "alice", 5, grid.Overwrite); err == nil {
				t.Error("by a link out of the folder")
			}
			// Torn on its way nothing appears.
			if err := put("/alice/results/torn", "alice", int64(len(data))+1, grid.Overwrite); err == nil {
				t.Error("fewer bytes than told are a file")
			}
			if got := sum("deep/out"); strings.Contains(got, "torn") || strings.Contains(got, ".gbroker") || bytes.Contains([]byte(got), []byte(".out")) {
				t.Errorf("left is %q", got)
			}
		})
	}
}
