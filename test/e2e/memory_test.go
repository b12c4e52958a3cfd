package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/test/cluster"
)

// bound is how much a daemon may grow by the files of a job, in bytes: a sixteenth of them. Some ten MiB are usual, whatever their size.
const bound = 24 * mebi

// inputSize is what TestMemory sends; GBROKER_INPUT_MIB sets another.
func inputSize(t *testing.T) int64 {
	t.Helper()
	n := int64(384)
	if text := os.Getenv("GBROKER_INPUT_MIB"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil || n < 1 {
			t.Fatalf("GBROKER_INPUT_MIB=%s is no number of MiB", text)
		}
	}
	return n * mebi
}

// A large input goes through both daemons without staying in their memory.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 384 MiB: not with -short")
	}
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 1, More: machine("x86_64") + measuring})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 1, More: machine("arm") + measuring})
	a.Env, b.Env = nil, nil // as people run them
	start(t, a, b)
	introduce(t, a, b)
	size := inputSize(t)
	file := filepath.Join(dir, "large.bin")
	must(t, os.WriteFile(file, nil, 0o644))
	must(t, os.Truncate(file, size)) // a hole: what it costs to write is the brokers' alone
	goodJob(t, a, dir)
	before := []int64{peak(t, a), peak(t, b)}
	began := time.Now()
	id := work{script: "wc -c < large.bin", arch: "arm", brings: []string{"large.bin"}, output: "out.txt", walltime: 600}.submit(t, a, dir, "large")
	sent := time.Since(began)
	becomes(t, a, id, "COMPLETED")
	if got := output(t, a, dir, id, "out.txt"); strings.TrimSpace(got) != fmt.Sprint(size) {
		t.Errorf("the job saw %q bytes of %d", got, size)
	}
	for k, s := range []site{a, b} {
		after := peak(t, s)
		t.Logf("%s: %d MiB before, at most %d MiB since; %d MiB handed in within %.1f s, all done after %.1f s",
			s.Name, before[k]/mebi, after/mebi, size/mebi, sent.Seconds(), time.Since(began).Seconds())
		if after-before[k] > bound {
			t.Errorf("%s has grown by %d MiB", s.Name, (after-before[k])/mebi)
		}
	}
}

// peak is the most memory that a daemon has held, in bytes.
func peak(t *testing.T, s *cluster.Site) int64 { return ofStatus(t, s, "VmHWM:") }

// ofStatus is a number of bytes that the kernel tells of a daemon.
func ofStatus(t *testing.T, s *cluster.Site, field string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	must(t, err)
	_, rest, found := strings.Cut(string(text), field)
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); !found || err != nil {
		t.Fatalf("%s of %s is not told: %v", field, s.Name, err)
	}
	return kib << 10
}
