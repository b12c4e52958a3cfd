package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// What stands where a file of the journal is to be is told by its name, and is left as it is.
func TestAFolderInTheWay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lock", "journal.db", "journal.at", "journal.told"} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if j, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), name) || !errors.Is(err, unix.EISDIR) {
			t.Errorf("%s: %v, %v", name, j, err)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// A file where the data folder is to be, or above it, is told.
func TestAFileInTheWay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "data")} {
		if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "make the data folder") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if there, err := Exists(filepath.Join(file, "data")); there || err == nil {
		t.Errorf("a journal below a file: %v, %v", there, err)
	}
}

// Space that cannot be looked at is not taken for none: the journal opens, and the error is told.
func TestSpaceThatIsNotKnown(t *testing.T) {
	t.Parallel()
	asked, dir := 0, t.TempDir()
	back := filepath.Join(dir, reserveName)
	if err := os.WriteFile(back, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := open(t.Context(), dir, options{func(dir string, st *unix.Statfs_t) error {
		if asked++; asked > 1 { // the first looks for network file systems
			return unix.EIO
		}
		return unix.Statfs(dir, st)
	}, migrations, "sqlite"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if n, err := j.Space(); n != 0 || !errors.Is(err, unix.EIO) || !strings.Contains(err.Error(), j.dir) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if info, err := os.Stat(back); err != nil || info.Size() != 5000 {
		t.Errorf("what is kept back is not as it was: %v, %v", info, err)
	}
}

// A file beside the journal that cannot be written or read is told, and after a failed word the journal is of no more use.
func TestFilesBesideTheJournalFail(t *testing.T) {
	t.Parallel()
	told := []grid.Record{toldRecord(1, grid.Completed)}
	for name, file := range map[string]func(*Journal) **os.File{
		"journal.at":   func(j *Journal) **os.File { return &j.witness.at },
		"journal.told": func(j *Journal) **os.File { return &j.witness.told },
	} {
		j := mustOpen(t, t.TempDir())
		if err := j.Tell(t.Context(), 5, told); err != nil {
			t.Fatal(err)
		}
		f := file(j)
		(*f).Close()
		var err error
		if *f, err = os.Open(filepath.Join(j.dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := j.Tell(t.Context(), 5, told); !errors.Is(err, unix.EBADF) {
			t.Errorf("%s cannot be written: %v", name, err)
		}
		if err := j.Commit(t.Context(), []grid.Change{save(1)}); !errors.Is(err, ErrBroken) {
			t.Errorf("a commit after that: %v", err)
		}
	}
	j := mustOpen(t, t.TempDir())
	j.witness.told.Close()
	var err error
	if j.witness.told, err = os.OpenFile(filepath.Join(j.dir, "journal.told"), os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	if list, err := j.Told(t.Context(), everything); len(list) > 0 || !errors.Is(err, unix.EBADF) {
		t.Errorf("what cannot be read: %v, %v", list, err)
	}
	if _, err := readAt(j.witness.told); !errors.Is(err, unix.EBADF) {
		t.Errorf("how far a journal was that cannot be read: %v", err)
	}
	if err := j.witness.openTold(filepath.Join(j.dir, "journal.told")); err != nil {
		t.Error(err)
	}
}

// A word counts until it is older than is kept, to the millisecond. What a wrong clock told counts as long, and makes no other one old.
func TestHowLongAWordCounts(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	var list []grid.Record
	for n, before := range []grid.Tick{keepTold + 1, keepTold, 0} {
		r := toldRecord(n, grid.Completed)
		r.Ended = 1795000000000 - before
		list = append(list, r)
	}
	tell := func(list []grid.Record) {
		if err := j.Tell(t.Context(), 5, list); err != nil {
			t.Fatal(err)
		}
	}
	tell(list)
	last, _, err := j.witness.lastWords()
	if _, there := last[string(idOf(0))]; len(last) != 2 || there || err != nil {
		t.Errorf("what counts is %v, %v", last, err)
	}
	now := grid.InstantOf(time.Now())
	list = nil
	for n, clock := range []grid.Tick{now, now + 10*keepTold, 1000, now} { // it was ahead, and it was behind
		r := toldRecord(3+n, grid.Killed)
		r.Ended = clock
		list = append(list, r)
	}
	tell(list)
	last, _, err = j.witness.lastWords()
	for n := range list {
		if last[string(idOf(3+n))].length == 0 || err != nil {
			t.Errorf("of what was told by a wrong clock word %d does not count: %v, %v", n, last, err)
		}
	}
}

// What cannot be written anew stays as it was, and refuses no start: it is written on, and written anew by a later one.
func TestWhatCannotBeWrittenAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	var list []grid.Record
	for range 8 * 400 {
		list = append(list, toldRecord(1, grid.Lost))
	}
	j.witness.busy = true // it is left to a start
	if err := errors.Join(j.Tell(t.Context(), 5, list), j.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "journal.told.new"), 0o700); err != nil {
		t.Fatal(err)
	}
	size := toldSize(t, dir)
	j, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(j.Tell(t.Context(), 5, []grid.Record{toldRecord(2, grid.Completed)}), j.Close())
	if now := toldSize(t, dir); err != nil || now <= size {
		t.Errorf("of %d bytes are left %d, %v", size, now, err)
	}
	w := witness{}
	if w.told, err = os.OpenFile(filepath.Join(dir, "journal.told"), os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	defer w.close()
	w.bytes = 1
	name := filepath.Join(t.TempDir(), "told")
	if err := w.compact(name, nil); !errors.Is(err, unix.EBADF) || !strings.Contains(err.Error(), "anew") {
		t.Errorf("the old file cannot be read: %v", err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("half a file is put in its place: %v", err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	w.told.Close()
	if w.told, err = os.Open(filepath.Join(dir, "journal.told")); err != nil {
		t.Fatal(err)
	}
	if err := w.compact(name, nil); err == nil {
		t.Error("a folder is replaced")
	}
	if err := os.Remove(filepath.Join(dir, "journal.told.new")); err != nil {
		t.Fatal(err)
	}
	if got, err := mustOpen(t, dir).Told(t.Context(), everything); err != nil || len(got) != 2 || toldSize(t, dir) > size/100 {
		t.Errorf("%d told in %d bytes, %v", len(got), toldSize(t, dir), err)
	}
}

// logless is SQLite on a disk that takes no write-ahead log.
type logless struct{ driver.Driver }

func (d logless) Open(name string) (driver.Conn, error) {
	return d.Driver.Open(strings.Replace(name, "journal_mode(WAL)", "journal_mode(DELETE)", 1))
}

// A disk without it is refused, as a power cut could lose what was told to be durable.
func TestNoWriteAheadLog(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sql.Register("logless", logless{db.Driver()})
	if _, err := open(context.Background(), t.TempDir(), options{unix.Statfs, migrations, "logless"}); err == nil || !strings.Contains(err.Error(), "cannot use a write-ahead log (its journal mode is delete)") {
		t.Error(err)
	}
}
