package store

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// journalOfLongTexts is one with a job that is saved whole, and whose texts are long.
func journalOfLongTexts(t *testing.T) (dir string, j *Journal, r *grid.Record) {
	t.Helper()
	dir = t.TempDir()
	j = mustOpen(t, dir)
	c := save(1)
	r = of(c)
	r.State = grid.Ready
	r.Job.Program.Arguments = []string{strings.Repeat("x", longTexts)}
	r.Job.Program.Environment = []grid.Variable{{Name: "A", Value: "b"}}
	mustCommit(t, j, c)
	return dir, j, r
}

// A record without the texts of its program is saved, and they stay as they are: also where the document changes, and after
// the journal was opened again. They are not kept in memory.
func TestBriefRecordsKeepTheirTexts(t *testing.T) {
	t.Parallel()
	dir, j, r := journalOfLongTexts(t)
	want := r.Job.Program
	brief := func(change func(*grid.Record)) {
		t.Helper()
		k := *r
		k.Job.Program = k.Job.Program.Brief()
		change(&k)
		b := grid.Saved(&k)
		b.Brief = true
		mustCommit(t, j, b)
		got, err := j.Record(t.Context(), r.Job.ID)
		if err != nil || got.State != k.State || got.Job.Name != k.Job.Name || len(got.Job.Program.Arguments) != 1 || got.Job.Program.Arguments[0] != want.Arguments[0] || len(got.Job.Program.Environment) != 1 {
			t.Errorf("read again: %v, %s, %q, %d bytes of its texts", err, got.State, got.Job.Name, got.Job.Program.TextSize())
		}
		if known := j.written[r.Job.ID]; known.Program.TextSize() != 0 {
			t.Errorf("%d bytes of its texts are kept", known.Program.TextSize())
		}
	}
	brief(func(k *grid.Record) { k.State = grid.Assigned })
	brief(func(k *grid.Record) { k.Job.Name = "another" })
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir)
	brief(func(k *grid.Record) { k.State = grid.Running })
}

// After the journal was opened again the first change of a job writes no document that is as it was: a broker that starts saves
// all of its jobs in one commit, and their documents would be in memory together.
func TestBriefRecordsWriteNoDocumentAnew(t *testing.T) {
	t.Parallel()
	dir, j, r := journalOfLongTexts(t)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir)
	read, err := j.Record(t.Context(), r.Job.ID)
	if err != nil {
		t.Fatal(err)
	}
	read.State, read.Job.Program = grid.Assigned, read.Job.Program.Brief()
	b := grid.Saved(&read)
	b.Brief = true
	if l, err := j.line(t.Context(), b); err != nil || l.document != nil {
		t.Errorf("%d bytes of its document are written again, %v", len(l.document), err)
	}
	read.Job.Name = "another"
	if l, err := j.line(t.Context(), b); err != nil || len(l.document) < longTexts {
		t.Errorf("of a document that has changed %d bytes are written, %v", len(l.document), err)
	}
}
