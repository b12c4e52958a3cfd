package store

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gbroker/grid"
)

// Each start of a journal is a life of its own, which the journal keeps; a copy that is put back
// has the lives up to the copy, and another after them.
func TestLives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := mustOpen(t, dir)
	mustCommit(t, first, save(1, "submitted"))
	a := first.ID()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	copied, err := os.ReadFile(filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	second := mustOpen(t, dir)
	mustCommit(t, second, save(2, "submitted"))
	b := second.ID()
	want := []grid.Life{{Number: a.Life}, {Number: b.Life, First: 1}}
	if got := second.Lives(); !reflect.DeepEqual(got, want) || a.Life == b.Life || a.Life == 0 {
		t.Errorf("lives %v, want %v", got, want)
	}
	if err := second.Tell(t.Context(), 77, nil); err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "journal.db"), copied, 0o600); err != nil {
		t.Fatal(err)
	}
	back := mustOpen(t, dir)
	if got := back.Lives(); len(got) != 2 || got[0] != want[0] || got[1].Number == b.Life || got[1].First != 1 {
		t.Errorf("put back it has the lives %v", got)
	}
	if w := back.Witness(); w != (grid.Witness{Position: b, Stamp: 77}) {
		t.Errorf("the witness says %+v, the journal had come to %+v", w, b)
	}
}

// The list of lives does not grow for ever.
func TestSerialLivesAreBounded(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	for range 3 {
		if _, err := j.conn.ExecContext(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?)
			INSERT INTO life SELECT (SELECT max(number) FROM life) + i, 'aa', 0, 0 FROM n`, maxLives); err != nil {
			t.Fatal(err)
		}
		if _, err := j.conn.ExecContext(t.Context(), `UPDATE life SET sum = `+sumOfLife); err != nil {
			t.Fatal(err)
		}
		if err := j.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(j.lives); n != maxLives {
			t.Errorf("%d lives", n)
		}
	}
}

// A journal of the second schema has no lives; what its peers have said is of none.
func TestTheSecondSchemaGetsLives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, err := os.ReadFile(filepath.Join("testdata", "v2", "journal.sql"))
	if err != nil {
		t.Fatal(err)
	}
	sqlite3(t, dir, string(script))
	j := mustOpen(t, dir)
	if l := j.Lives(); len(l) != 1 || l[0].First != j.ID().Sequence || j.ID().Sequence != 2 {
		t.Errorf("lives %v at %v", l, j.ID())
	}
	peers, err := j.Peers(t.Context())
	if want := []grid.JournalID{{Incarnation: 1<<63 + 5, Sequence: 44}, {Incarnation: 6, Sequence: 2}}; err != nil || !reflect.DeepEqual(peers["owner"], want) {
		t.Errorf("peers %v, %v", peers, err)
	}
	if s, err := j.Site(t.Context()); err != nil || !s.Draining || s.RolledBack != 12 || s.Since != 1795000000001 {
		t.Errorf("the site %+v, %v", s, err)
	}
	records := mustLoad(t, j)
	if len(records) != 1 || records[0].Candidate != (grid.JournalID{Incarnation: 7, Sequence: 9}) || !records[0].Uncertain {
		t.Errorf("%+v", records)
	}
}
