package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gbroker/test/cluster"
)

// At SIGHUP the file of a running daemon is read again: what can be is taken up, and the log
// names the rest. A file with mistakes changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{})
	start(t, a)
	file := filepath.Join(a.Dir, "gbroker.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	again := func(added, want string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(string(text)+added), 0o644); err != nil {
			t.Fatal(err)
		}
		a.Signal(syscall.SIGHUP)
		eventually(t, want, func() bool {
			log, _ := os.ReadFile(a.Log)
			return strings.Contains(string(log), want)
		})
	}
	again("", "configuration unchanged")
	again("\nlimits: {jobs: 1x}\n", "configuration refused, the old one stays")
	again("\nlimits: {jobs: 1}\nlog: {level: debug}\n", `configuration taken up {"fields": ["limits", "log.level"]}`)
	again("\nlimits: {jobs: 1}\nlog: {level: debug}\nestimate_deadline: 3s\n", `{"restart for": ["estimate_deadline"], "taken up": []}`)
	long := work{program: "/bin/sleep", args: []string{"60"}}
	long.submit(t, a, dir, "first")
	if r := a.Client(t.Context(), "submit", long.write(t, dir, "second")); r.Code != 3 || !strings.Contains(r.Stderr, "limit") {
		t.Errorf("a second job of a user who may have one: %d %s", r.Code, r.Stderr)
	}
}
