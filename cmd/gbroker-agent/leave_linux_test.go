package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gbroker/internal/cli"
)

// Who would leave while a job is there is told which it is, and nothing is done.
func TestLeaveWithAJob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"state.json": `{"Jobs": [{"Tag": "a.1.0"}]}`, "pool.json": "{}", "lock": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	_, err = ask("leave", "--dir", dir)
	if cli.Code(err) != cli.No || !strings.Contains(err.Error(), "job a.1.0") || !strings.Contains(err.Error(), "--now") {
		t.Errorf("code %d, %v", cli.Code(err), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "pool.json")); err != nil {
		t.Error(err)
	}
	if _, err := ask("leave", "--dir", dir, "--now"); err == nil || strings.Contains(err.Error(), "job a.1.0") {
		t.Errorf("with --now: %v", err)
	}
}
