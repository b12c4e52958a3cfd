package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/test/cluster"
)

// A job waits at a site that is not its home, and that site is drained: it moves on
// to a third one, which its home learns to be the owner, and comes back with its
// output. The drain is kept over a restart, and seen by the neighbours.
func TestADrainedSiteHandsOn(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 1, More: machine("x86_64")})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 1, More: machine("arm")})
	c := newSite(t, dir, "c", cluster.Options{Nodes: 1, Cores: 1, More: machine("arm")})
	start(t, a, b, c)
	introduce(t, a, b, c)
	admin(t, c, "drain")
	busy := work{script: waits(dir, "busy"), arch: "arm", output: "out.txt"}.submit(t, b, dir, "busy")
	becomes(t, b, busy, "RUNNING")
	id := work{script: waits(dir, "moved"), arch: "arm", output: "out.txt"}.submit(t, a, dir, "moved")
	becomes(t, a, id, "ASSIGNED")
	if st := status(t, a, id); st.Owner != "b" {
		t.Fatalf("it waits at %s, with c drained", st.Owner)
	}

	admin(t, c, "undrain")
	admin(t, b, "drain")
	becomes(t, a, id, "RUNNING")
	if st := status(t, a, id); st.Owner != "c" || !strings.HasPrefix(st.Epoch, "1.") {
		t.Errorf("it runs at %s, epoch %s", st.Owner, st.Epoch)
	}
	must(t, cluster.Until(t.Context(), patience, func() bool { return drainedAt(t, a, "b") && drainedAt(t, c, "b") }))
	if drainedAt(t, a, "c") {
		t.Error("c is shown as drained")
	}
	b.Kill()
	start(t, b)
	if !drainedAt(t, b, "b") {
		t.Error("after a restart b is not drained any more")
	}

	for s, want := range map[*cluster.Site][2]string{a: {"c", id + "  at c  RUNNING"}, c: {"a", id + "  here, of a  RUNNING"}} {
		r := s.Admin(t.Context(), "neighbour", "remove", "--config", s.Config(), want[0])
		if r.Code != 3 || !strings.Contains(r.Stderr, want[1]) || !strings.Contains(r.Stderr, "--now") {
			t.Errorf("%s removes %s, which ties a job: %d %s%s", s.Name, want[0], r.Code, r.Stdout, r.Stderr)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	for s, id := range map[*cluster.Site]string{a: id, b: busy} {
		becomes(t, s, id, "COMPLETED")
	}
	if n := ledger(t, dir, "start moved"); n != 1 {
		t.Errorf("it was started %d times", n)
	}
	if r := b.Admin(t.Context(), "neighbour", "remove", "--config", b.Config(), "c"); r.Code != 0 {
		t.Errorf("removing c: %d %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if r := a.Admin(t.Context(), "neighbour", "remove", "--config", a.Config(), "c"); r.Code != 0 {
		t.Errorf("removing c from a: %d %s%s", r.Code, r.Stdout, r.Stderr)
	}
	must(t, cluster.Until(t.Context(), patience, func() bool { return !strings.Contains(client(t, a, "sites"), " c ") }))
	if st := status(t, a, id); st.Owner != "c" {
		t.Errorf("after c was removed its job was at %q", st.Owner)
	}
}

func admin(t *testing.T, s *cluster.Site, command string) {
	t.Helper()
	if r := s.Admin(t.Context(), command, "--config", s.Config()); r.Code != 0 {
		t.Fatalf("%s: %d %s%s", command, r.Code, r.Stdout, r.Stderr)
	}
}

// drainedAt tells whether one site shows another as drained.
func drainedAt(t *testing.T, s *cluster.Site, name string) bool {
	t.Helper()
	for line := range strings.Lines(client(t, s, "sites")) {
		if fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "*")); len(fields) > 0 && fields[0] == name {
			return strings.Contains(line, "drained")
		}
	}
	return false
}
