package stage

import (
	"errors"
	"os"
	"strings"
	"testing"

	"gbroker/grid"
)

// A small file whose copy at the other side is damaged is never taken, nor is one of another length.
func TestASmallFileThatIsDamaged(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	m := give(t, a, map[string][]byte{"x": []byte("right"), "y": []byte("right")})
	write(t, a.path("in", "x"), []byte("wrong"), 0o600)
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("fetched: %v", err)
	}
	if _, err := os.Lstat(b.path("in", "x")); err == nil {
		t.Error("the damaged file counts as fetched")
	}
	write(t, a.path("in", "x"), []byte("right, and more"), 0o600)
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); !errors.Is(err, grid.ErrNotFound) || !strings.Contains(err.Error(), "15 bytes here instead of 5") {
		t.Errorf("fetched: %v", err)
	}
	write(t, a.path("in", "x"), []byte("right"), 0o600)
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	want(t, b, Inputs, map[string][]byte{"x": []byte("right"), "y": []byte("right")})
}

// What the ledger has and the disk has not comes again; what Prepare has moved does not.
func TestWhatIsGoneComesAgain(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	files := map[string][]byte{"big": random(5 << 20), "small": random(100)}
	m := give(t, a, files)
	fetch := func() int64 {
		t.Helper()
		before := n.read.Load()
		if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
			t.Fatal(err)
		}
		want(t, b, Inputs, files)
		return n.read.Load() - before
	}
	fetch()
	if err := os.Remove(b.path("in", "small")); err != nil {
		t.Fatal(err)
	}
	if came := fetch(); came < 100 || came > 1000 {
		t.Errorf("one that was removed: %d bytes came", came)
	}
	write(t, b.path("in", "big"), files["big"][:1<<20], 0o600)
	if came := fetch(); came < 5<<20 {
		t.Errorf("one that is torn: %d bytes came", came)
	}
	write(t, b.path("in", "small"), append(files["small"], "and more"...), 0o600)
	if came := fetch(); came < 100 {
		t.Errorf("one that is longer than it was: %d bytes came", came)
	}
	if err := errors.Join(os.Remove(b.path("in", "small")), os.Mkdir(b.path("in", "small"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if came := fetch(); came < 100 {
		t.Errorf("one in whose place a folder stands: %d bytes came", came)
	}
	if err := b.Prepare(t.Context(), grid.Job{ID: job, Inputs: m}, false); err != nil {
		t.Fatal(err)
	}
	if came := fetch(); came != 0 {
		t.Errorf("moved: %d bytes came", came)
	}
}

// A set that takes the place of another one of the job is whole, whatever the other left in the way, and nothing of the other stays.
func TestAnotherSetOfInputs(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	first := give(t, a, map[string][]byte{"x": random(10), "old": random(10)})
	if err := b.Fetch(t.Context(), "a", job, Inputs, first, grid.User{}); err != nil {
		t.Fatal(err)
	}
	if err := a.Discard(job); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"x/large": random(5 << 20), "y/z": random(5 << 20)}
	m := give(t, a, files)
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	want(t, b, Inputs, files)
	if _, err := os.Lstat(b.path("in", "old")); err == nil {
		t.Error("a file of the older set is there")
	}
	if err := errors.Join(b.Discard(job, Inputs), b.MakeFolder(job)); err != nil {
		t.Fatal(err)
	}
	write(t, b.path("in", "x"), []byte("a file in place of a folder, without a ledger"), 0o600)
	write(t, b.path("in", "y", "z", "deep"), []byte("a folder in place of a file"), 0o600)
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	want(t, b, Inputs, files)
}

// Files that came before a crash, but for their mode, are taken with the mode that they should have.
func TestAFileThatCameWithoutItsMode(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	a, b := n.site("a", nil), n.site("b", nil)
	data := random(1000)
	m := give(t, a, map[string][]byte{"run.sh": data})
	if err := b.MakeFolder(job); err != nil {
		t.Fatal(err)
	}
	write(t, b.path("in", "run.sh"), data, 0o600)
	if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); err != nil {
		t.Fatal(err)
	}
	if got := mode(t, b.path("in", "run.sh")); got != 0o755 || n.read.Load() > 0 {
		t.Errorf("mode %v, and %d bytes came", got, n.read.Load())
	}
}

// A disk on which a range cannot be written ends the fetch at once, with its reason.
func TestAFetchThatCannotWrite(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 10, "large": 5 << 20} {
		n := newNetwork(t)
		a, b := n.site("a", nil), n.site("b", nil)
		m := give(t, a, map[string][]byte{"d/x": random(size)})
		if err := b.MakeFolder(job); err != nil {
			t.Fatal(err)
		}
		gone := "part"
		if name == "small" {
			gone = "in"
		}
		n.between = nil
		if err := errors.Join(os.Remove(b.path(gone)), os.WriteFile(b.path(gone), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := b.Fetch(t.Context(), "a", job, Inputs, m, grid.User{}); !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
