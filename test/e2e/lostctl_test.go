package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/test/cluster"
)

// The control files of jobs that run are deleted. A token alone starts nothing twice, also after a
// restart; a job whose whole directory is gone can be cancelled, and ended by an administrator.
func TestControlFilesDeleted(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "s", cluster.Options{Nodes: 1, Cores: 2})
	start(t, s)
	token, gone := newWaiter(t, s, dir, "token", "", 4), newWaiter(t, s, dir, "gone", "", 5)
	token.pid(t)
	pid := gone.pid(t)
	becomes(t, s, token.id, "RUNNING")
	becomes(t, s, gone.id, "RUNNING")
	ctl := func(id string) string { return filepath.Join(s.Dir, "data", "jobs", id, "ctl") }
	starts, err := filepath.Glob(filepath.Join(ctl(token.id), "start.*"))
	if err != nil || len(starts) != 1 {
		t.Fatalf("%v, %v", starts, err)
	}
	must(t, os.Remove(starts[0]))
	must(t, os.RemoveAll(ctl(gone.id)))
	s.Kill()
	start(t, s)
	token.letGo(t)
	exits(t, s, token.id, 4)
	if text, err := os.ReadFile(token.pidFile); err != nil || strings.Count(string(text), "\n") != 1 {
		t.Errorf("it was started as %q, %v", text, err)
	}

	end := func(args ...string) (int, string) {
		r := s.Admin(t.Context(), append([]string{"job", "end", "--config", s.Config()}, args...)...)
		return r.Code, r.Stdout + r.Stderr
	}
	if code, said := end(gone.id); code != 2 || !strings.Contains(said, "--dead") {
		t.Errorf("without a word: %d, %s", code, said)
	}
	if code, said := end("--lost", gone.id); code != 1 || !strings.Contains(said, "--yes") || !strings.Contains(said, "RUNNING") {
		t.Errorf("without being asked: %d, %s", code, said)
	}
	if code, said := end("--lost", "--yes", gone.id); code != 0 {
		t.Fatalf("%d, %s", code, said)
	}
	becomes(t, s, gone.id, "LOST")
	goes(t, pid)
	if code, said := end("--dead", "--yes", gone.id); code == 0 || !strings.Contains(said, "LOST already") {
		t.Errorf("once more: %d, %s", code, said)
	}
}
