package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

func sqlite3(t testing.TB, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := mustOpen(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	sqlite3(t, dir, `PRAGMA user_version = 41`)
	_, err := Open(context.Background(), dir)
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "schema version 41") || !strings.Contains(err.Error(), fmt.Sprintf("up to %d", len(migrations))) {
		t.Error(err)
	}
}

func TestForeignDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sqlite3(t, dir, `CREATE TABLE recipes (name TEXT)`)
	if _, err := Open(context.Background(), dir); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
}

// Migrations run once each, in order, and all of one or nothing of it.
func TestMigrations(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	first := mustOpen(t, dir)
	mustCommit(t, first, save(1, "submitted"))
	id := first.ID()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	list := append(migrations[:len(migrations):len(migrations)],
		migration{"a column", statements(`ALTER TABLE entity ADD COLUMN extra TEXT NOT NULL DEFAULT 'x'`)},
		migration{"its value", statements(`UPDATE entity SET extra = extra || 'y'; CREATE TABLE half (a)`)},
	)
	broken := append(list[:len(list):len(list)], migration{"a mistake", statements(`CREATE TABLE rest (a); CREATE TABLE half (a)`)})
	if _, err := open(ctx, dir, options{unix.Statfs, broken, "sqlite"}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d (a mistake)", len(broken))) {
		t.Fatal(err)
	}
	j, err := open(ctx, dir, options{unix.Statfs, list, "sqlite"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var extra string
	var rest int
	if err := j.reader.QueryRow(`SELECT extra, (SELECT count(*) FROM sqlite_schema WHERE name = 'rest') FROM entity`).Scan(&extra, &rest); err != nil || extra != "xy" || rest != 0 {
		t.Error(extra, rest, err)
	}
	if !sameButLife(j.ID(), id) {
		t.Errorf("migration changed the identity to %v", j.ID())
	}
	if got := mustLoad(t, j); len(got) != 1 || !reflect.DeepEqual(got[0], *example(1)) {
		t.Errorf("%+v", got)
	}
	j.Close()
	// The way back: the copy made before, with the program of before.
	kept, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("journal.db.v%d", len(migrations))))
	if err != nil {
		t.Fatal(err)
	}
	back := t.TempDir()
	if err := os.WriteFile(filepath.Join(back, "journal.db"), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := mustLoad(t, mustOpen(t, back)); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func([]byte){
		"header": func(b []byte) { copy(b, "no database at all") },
		"pages": func(b []byte) {
			for i := 4096; i < len(b); i++ {
				b[i] = 0xa5
			}
		},
	} {
		dir := t.TempDir()
		j := mustOpen(t, dir)
		for n := range 50 {
			mustCommit(t, j, save(n, "submitted"))
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "journal.db")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		harm(b)
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = Open(context.Background(), dir)
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(fmt.Sprint(err), ".recover") || strings.Count(fmt.Sprint(err), ".recover") > 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRecordsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{
		`UPDATE entity SET record = '{'`,
		`UPDATE entity SET record = json_set(record, '$.Later', 1)`,
		`UPDATE document SET text = json_set(text, '$.ID', 'another')`,
		`UPDATE document SET text = json_set(text, '$.Inputs[0].Ranges', 'AAAA')`,
	} { // as a program would write them
		statement += `; UPDATE entity SET sum = ` + sumOfEntity + `; UPDATE document SET sum = ` + sumOfDocument
		dir := t.TempDir()
		j := mustOpen(t, dir)
		mustCommit(t, j, save(1))
		sqlite3(t, dir, statement)
		if _, err := j.Load(context.Background()); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), string(idOf(1))) {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// After a failed commit nothing of it is on disk, and the journal must be opened again.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	mustCommit(t, j, save(1, "submitted"))
	before := j.ID()
	if _, err := j.conn.ExecContext(ctx, `PRAGMA max_page_count = 40`); err != nil {
		t.Fatal(err)
	}
	big := save(2)
	of(big).Reason = strings.Repeat("x", 1<<20)
	err := j.Commit(ctx, []grid.Change{save(3, "submitted"), big})
	if !errors.Is(err, ErrFull) || !strings.Contains(fmt.Sprint(err), "free space") {
		t.Fatal(err)
	}
	if err := j.Commit(ctx, []grid.Change{save(4)}); !errors.Is(err, ErrBroken) || !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if _, err := j.Load(ctx); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
	if j.ID() != before {
		t.Error("the sequence was raised")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir)
	if got := mustLoad(t, j); len(got) != 1 || !sameButLife(j.ID(), before) {
		t.Errorf("%d records, %v", len(got), j.ID())
	}
	mustCommit(t, j, save(3), big)
}

func TestMistakenChanges(t *testing.T) {
	t.Parallel()
	other, event, unknown := save(1), save(1, "x"), save(1)
	other.Key = string(idOf(2))
	event.Kind = grid.KindSite
	unknown.Kind = 99
	for _, c := range []grid.Change{other, event, unknown, {Kind: grid.KindJob, Key: string(idOf(1)), Record: &grid.SiteState{}}} {
		j := mustOpen(t, t.TempDir())
		if err := j.Commit(context.Background(), []grid.Change{c}); err == nil {
			t.Error("it is written")
		}
	}
}
