package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/daemon"
	"gbroker/internal/cli"
	"gbroker/overlay"
)

// A join that fails leaves the neighbours as they were: one that stood there before stays, one that did not does not. A
// site's own code is refused with the way out.
func TestFailedJoin(t *testing.T) {
	t.Parallel()
	site := func(name string) (daemon.Config, overlay.Key) {
		file := filepath.Join(t.TempDir(), name, "gbroker.yaml")
		if _, errs, code := gbroker(t, "init", "--dir", filepath.Dir(file), "--site", name, "--nodes", "1", "--cores", "1"); code != 0 {
			t.Fatal(errs)
		}
		c, err := daemon.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		key, err := overlay.LoadKey(c.IdentityFile())
		if err != nil {
			t.Fatal(err)
		}
		return c, key
	}
	join := func(at daemon.Config, i overlay.Invitation) (said string) {
		code, err := i.Code()
		if err != nil {
			t.Fatal(err)
		}
		_, errs, rc := gbroker(t, "join", "--config", filepath.Join(filepath.Dir(at.Neighbours), "gbroker.yaml"), code)
		if rc == cli.Done {
			t.Fatal("it is joined, though nothing listens")
		}
		return errs
	}
	green, ours := site("green")
	_, theirs := site("red")
	closed := []string{"/ip4/127.0.0.1/tcp/1"}
	red := overlay.NewInvitation("red", overlay.PeerIDOf(theirs), closed, time.Now().Add(time.Hour))
	unknown, err := os.ReadFile(green.Neighbours)
	if err != nil {
		t.Fatal(err)
	}
	if said := join(green, red); !strings.Contains(said, "nothing listens") {
		t.Error(said)
	}
	if now, err := os.ReadFile(green.Neighbours); err != nil || string(now) != string(unknown) {
		t.Errorf("a join that failed leaves %q, %v; it was %q", now, err, unknown)
	}
	line := "red " + string(red.Peer) + " " + closed[0]
	m, err := daemon.ParseLine(line)
	if err != nil {
		t.Fatal(err)
	}
	m.Send = true
	if _, err := daemon.AddNeighbour(t.Context(), green, m); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(green.Neighbours)
	if err != nil {
		t.Fatal(err)
	}
	join(green, red)
	if now, err := os.ReadFile(green.Neighbours); err != nil || string(now) != string(before) {
		t.Errorf("the neighbours were %q, and are %q, %v", before, now, err)
	}
	own := overlay.NewInvitation("green", overlay.PeerIDOf(ours), closed, time.Now().Add(time.Hour))
	if said := join(green, own); !strings.Contains(said, "at the other site") {
		t.Error("its own code:", said)
	}
}

// The key of a grid is shown again where there is one, and not replaced by another.
func TestGridTwice(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "green")
	if _, errs, code := gbroker(t, "init", "--dir", dir, "--site", "green", "--nodes", "1", "--cores", "1"); code != 0 {
		t.Fatal(errs)
	}
	grid := []string{"grid", "--config", filepath.Join(dir, "gbroker.yaml")}
	made, errs, code := gbroker(t, grid...)
	if code != 0 || made == "" {
		t.Fatal(made, errs)
	}
	if again, errs, code := gbroker(t, grid...); code != 0 || again != made {
		t.Errorf("the key %q is shown as %q: %s", made, again, errs)
	}
	if _, errs, code := gbroker(t, append(grid, "--key", overlay.NewGridKey().Text())...); code == 0 || !strings.Contains(errs, "another grid key") {
		t.Errorf("another key: %d %s", code, errs)
	}
}

// A key is replaced where that is asked for, by a new one or by one that comes from a file; a daemon that watches the file of neighbours hears of it.
func TestGridKeyIsReplaced(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "green")
	if _, errs, code := gbroker(t, "init", "--dir", dir, "--site", "green", "--nodes", "1", "--cores", "1"); code != 0 {
		t.Fatal(errs)
	}
	grid := []string{"grid", "--config", filepath.Join(dir, "gbroker.yaml")}
	made, errs, code := gbroker(t, grid...)
	if code != 0 {
		t.Fatal(errs)
	}
	file := filepath.Join(dir, "neighbours.yaml")
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	fresh, errs, code := gbroker(t, append(grid, "--replace")...)
	if code != 0 || fresh == made {
		t.Errorf("a new key: %q after %q: %s", fresh, made, errs)
	}
	if after, err := os.Stat(file); err != nil || os.SameFile(before, after) {
		t.Errorf("the file of neighbours is not written again: %v", err)
	}
	given := overlay.NewGridKey().Text() + "\n"
	from := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(from, []byte(given), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := gbroker(t, append(grid, "--key-file", from)...); code == 0 || !strings.Contains(errs, "--replace") {
		t.Errorf("another key, unasked: %d %s", code, errs)
	}
	if got, errs, code := gbroker(t, append(grid, "--key-file", from, "--replace")...); code != 0 || got != given {
		t.Errorf("the key %q is taken as %q: %s", given, got, errs)
	}
	if got, _, _ := gbroker(t, grid...); got != given {
		t.Errorf("the key is %q afterwards", got)
	}
	k, is, err := gridKeyGiven(strings.NewReader(made), "-", "")
	if err != nil || !is || k.Text()+"\n" != made {
		t.Errorf("from standard input: %v %v", k.Text(), err)
	}
}
