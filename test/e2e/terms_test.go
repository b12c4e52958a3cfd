package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/test/cluster"
)

// single is a site without neighbours.
func single(t *testing.T, dir string, cores int) site {
	t.Helper()
	s := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: cores})
	start(t, s)
	return s
}

// A chain of jobs: what a failed one lets go, what it ends, and why.
func TestAChainWithAFailure(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := single(t, dir, 2)
	first := work{script: "exit 3"}.submit(t, a, dir, "first")
	after := func(kind, on, name string) string {
		return work{script: "echo ran", output: "out.txt", terms: `<gb:After kind="` + kind + `">` + on + `</gb:After>`}.submit(t, a, dir, name)
	}
	never := after("afterok", first, "never")
	neither := after("afterok", never, "neither")
	repair := after("afternotok", first, "repair")
	last := after("afterok", repair, "last")
	exits(t, a, last, 0)
	for _, id := range []string{never, neither} {
		becomes(t, a, id, "FAILED")
		if s := status(t, a, id); s.Reason == "" || !strings.Contains(s.Reason, "can never come true") || s.Started != 0 {
			t.Errorf("%s is %s: %s", id, s.State, s.Reason)
		}
	}
	if r := a.Client(t.Context(), "submit", work{script: "true", terms: `<gb:After kind="afterok">elsewhere.01JD3V0QX2M6W8T9Z4C5A7B1EF</gb:After>`}.write(t, dir, "other")); r.Code != 1 || !strings.Contains(r.Stderr, "its own home alone") {
		t.Errorf("a dependency on a job of another home: %d %s", r.Code, r.Stderr)
	}
}

// A job that waits at another site is held, comes home, is altered, and goes when it is released.
func TestHoldAndAlterAtAnotherSite(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := pair(t, dir)
	running := newWaiter(t, a, dir, "fills", "arm", 0)
	running.pid(t)
	ran := filepath.Join(dir, "ran")
	id := work{script: "echo x >> " + ran, arch: "arm"}.submit(t, a, dir, "waits")
	eventually(t, "it does not come to b", func() bool { s := status(t, a, id); return s.State == "ASSIGNED" && s.Owner == "b" })
	client(t, a, "hold", id)
	if s := status(t, a, id); s.State != "READY" || !strings.HasPrefix(s.Reason, "held") {
		t.Fatalf("held, it is %s: %s", s.State, s.Reason)
	}
	eventually(t, "b keeps it", func() bool { return !cluster.Exists(folder(b, id)) })
	if r := a.Client(t.Context(), "hold", running.id); r.Code != 1 || !strings.Contains(r.Stderr, "only a job that waits is held") {
		t.Errorf("hold of a running job: %d %s", r.Code, r.Stderr)
	}
	client(t, a, "release", id)
	eventually(t, "it does not come to b again", func() bool { s := status(t, a, id); return s.State == "ASSIGNED" && s.Owner == "b" })
	client(t, a, "alter", id, "--walltime", "2:00")
	eventually(t, "its new version does not come to b", func() bool {
		s := status(t, a, id)
		return s.State == "ASSIGNED" && s.Owner == "b" && s.WalltimeS == 120
	})
	if r := a.Client(t.Context(), "alter", running.id, "--walltime", "90"); r.Code != 1 || !strings.Contains(r.Stderr, "only its deadline") {
		t.Errorf("alter of a running job: %d %s", r.Code, r.Stderr)
	}
	running.letGo(t)
	exits(t, a, id, 0)
	if text, _ := os.ReadFile(ran); string(text) != "x\n" {
		t.Errorf("it ran %q", text)
	}
	again := strings.TrimSpace(client(t, a, "resubmit", id))
	exits(t, a, again, 0)
	if text, _ := os.ReadFile(ran); string(text) != "x\nx\n" {
		t.Errorf("handed in again, it ran %q", text)
	}
}

// A deadline ends a job that runs at another site, and one that waits there; what none can make is refused.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, _ := pair(t, dir)
	running := newWaiter(t, a, dir, "runs", "arm", 0)
	running.pid(t)
	waits := work{script: "true", arch: "arm", walltime: 1}.submit(t, a, dir, "waits")
	held := work{script: "true", terms: "<gb:Hold>true</gb:Hold>"}.submit(t, a, dir, "held")
	for _, id := range []string{waits, held, running.id} {
		client(t, a, "alter", id, "--deadline", "+4s")
	}
	for _, id := range []string{waits, held, running.id} {
		becomes(t, a, id, grid.CancelledDeadline.String())
	}
}

// A job does not start before its instant, also when the broker was killed meanwhile.
func TestNotBefore(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := single(t, dir, 1)
	at := time.Now().Add(4 * time.Second)
	id := work{script: "date +%s", output: "out.txt", terms: "<gb:NotBefore>" + at.UTC().Format(time.RFC3339Nano) + "</gb:NotBefore>"}.submit(t, a, dir, "later")
	if s := status(t, a, id); s.State != "READY" || !strings.Contains(s.Reason, "not to start before") {
		t.Errorf("it is %s: %s", s.State, s.Reason)
	}
	exits(t, a, id, 0)
	if s := status(t, a, id); time.UnixMilli(int64(s.Started)).Before(at) {
		t.Errorf("it started at %s, before %s", s.Started, at)
	}
}
