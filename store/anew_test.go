package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// repeated is so many words on one job.
func repeated(job, times int) []grid.Record {
	return slices.Repeat([]grid.Record{toldRecord(job, grid.Lost)}, times)
}

func toldSize(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "journal.told"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A journal that is open for years does not grow with each word: what users were told is written anew beside the words that go on, and
// says the same.
func TestWhatIsToldStaysShort(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	j := mustOpen(t, dir)
	for n := range 40 {
		if err := j.Tell(ctx, 5, append(repeated(0, 500), toldRecord(1+n, grid.Completed))); err != nil {
			t.Fatal(err)
		}
		j.witness.anew.Wait()
	}
	if size := toldSize(t, dir); size > 2*compactAbove {
		t.Errorf("after %d words it has %d bytes", 40*501, size)
	}
	for _, again := range []bool{false, true} {
		if got, err := j.Told(ctx, everything); err != nil || len(got) != 41 {
			t.Errorf("opened again %v: %d told, %v", again, len(got), err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j = mustOpen(t, dir)
	}
}

// Where most counts it is not written anew, and looked through again when it has doubled alone.
func TestWhatCountsIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	var list []grid.Record
	for n := range 4000 {
		list = append(list, toldRecord(n, grid.Completed))
	}
	if err := j.Tell(t.Context(), 5, list); err != nil {
		t.Fatal(err)
	}
	j.witness.anew.Wait()
	if size := toldSize(t, dir); size < compactAbove || j.witness.bytes != size || j.witness.limit != 2*size || j.witness.busy {
		t.Errorf("%d bytes; it is looked through again at %d", size, j.witness.limit)
	}
}

// What is told while the file is written anew is in the new one. Wherever a crash comes between, all is told after it; what was half
// written goes.
func TestWordsWhileItIsWrittenAnew(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, crash := range []string{"half written", "before the name", "after it"} {
		dir := t.TempDir()
		j := mustOpen(t, dir)
		w, name := &j.witness, filepath.Join(dir, "journal.told")
		w.busy = true // it goes on by hand
		if err := j.Tell(ctx, 5, append(repeated(1, 4000), toldRecord(2, grid.Completed))); err != nil {
			t.Fatal(err)
		}
		whole := w.bytes
		last, _, err := w.lastWordsTo(whole)
		if err != nil {
			t.Fatal(err)
		}
		next, err := w.fewer(name, last, whole)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Tell(ctx, 5, []grid.Record{toldRecord(2, grid.Failed), toldRecord(3, grid.Completed)}); err != nil {
			t.Fatal(err)
		}
		switch crash {
		case "half written":
			err = next.Truncate(500)
		case "after it":
			err = w.put(next, name, whole)
		}
		if err = errors.Join(err, unix.Flock(int(j.lock.Fd()), unix.LOCK_UN)); err != nil { // as a kill does
			t.Fatal(err)
		}
		again := mustOpen(t, dir)
		got, err := again.Told(ctx, everything)
		if err != nil || len(got) != 3 || got[1].State != grid.Failed {
			t.Errorf("%s: %d told, %v", crash, len(got), err)
		}
		if _, err := os.Stat(name + ".new"); !os.IsNotExist(err) {
			t.Errorf("%s: the half of it is left: %v", crash, err)
		}
	}
}

// Where the new file has its name and that may not be on disk, a power cut may bring back the old one: the journal is of no more use.
func TestTheNewNameIsNotOnDisk(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	j := mustOpen(t, dir)
	w, name := &j.witness, filepath.Join(dir, "journal.told")
	w.syncDir = func(string) error { return unix.EIO }
	if err := j.Tell(ctx, 5, repeated(1, 4000)); err != nil {
		t.Fatal(err)
	}
	w.anew.Wait()
	if err := j.Tell(ctx, 5, repeated(2, 1)); !errors.Is(err, ErrBroken) || !errors.Is(err, unix.EIO) {
		t.Errorf("a word after it: %v", err)
	}
	if err := j.Commit(ctx, []grid.Change{save(1)}); !errors.Is(err, ErrBroken) {
		t.Errorf("a commit after it: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	again := witness{shorter: shorter{syncDir: w.syncDir}}
	defer again.close()
	if err := os.WriteFile(name, longTold(t), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := again.openTold(name); !errors.Is(err, errRenamed) || !errors.Is(err, unix.EIO) {
		t.Errorf("a start goes on: %v", err)
	}
}

// longTold is a journal.told of which most does not count.
func longTold(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	j.witness.busy = true
	if err := errors.Join(j.Tell(t.Context(), 5, repeated(1, 4000)), j.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "journal.told"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A journal that has become of no more use meanwhile leaves the old file, and nothing of the new one.
func TestTheNewFileIsDiscarded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	w := &j.witness
	w.busy = true // it goes on by hand
	if err := j.Tell(t.Context(), 5, repeated(1, 4000)); err != nil {
		t.Fatal(err)
	}
	size, old := toldSize(t, dir), w.told
	j.end(ErrBroken)
	j.writeAnew(w.bytes)
	if _, err := os.Stat(filepath.Join(dir, "journal.told.new")); !os.IsNotExist(err) {
		t.Errorf("the new one is left: %v", err)
	}
	if now := toldSize(t, dir); now != size || w.told != old || w.bytes != size || w.busy {
		t.Errorf("of %d bytes are left %d; busy is %v", size, now, w.busy)
	}
}

// A journal that is closed waits for what writes anew, and that ends soon; nothing is begun after it.
func TestCloseWhileItIsWrittenAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	if err := errors.Join(j.Tell(t.Context(), 5, repeated(1, 4000)), j.Close(), j.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := j.witness.fewer(filepath.Join(dir, "journal.told"), nil, 1000); err == nil {
		t.Error("it goes on after the end")
	}
	if got, err := mustOpen(t, dir).Told(t.Context(), everything); err != nil || len(got) != 1 {
		t.Errorf("%d told, %v", len(got), err)
	}
}
