package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// failing is SQLite whose statement of one number fails, of the connections to one folder's journal.
type failing struct{ driver.Driver }

// fault is which statement fails; each that is made counts.
type fault struct {
	mu     sync.Mutex
	number int
	made   []string
}

var (
	errDisk = errors.New("the disk does not answer")
	faults  sync.Map // of the folders
)

func init() {
	db, err := sql.Open("sqlite", "")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	sql.Register("failing", failing{db.Driver()})
}

// fails counts a statement, and is the error of the one that is to fail.
func (f *fault) fails(text string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.HasPrefix(text, "ROLLBACK") {
		return nil
	}
	if f.made = append(f.made, text); len(f.made) == f.number {
		return errDisk
	}
	return nil
}

func (d failing) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	file, _, _ := strings.Cut(strings.TrimPrefix(name, "file://"), "?")
	f, ok := faults.Load(filepath.Dir(file))
	if !ok {
		return nil, errors.Join(fmt.Errorf("no fault is set for %s", name), c.Close())
	}
	return failingConn{c.(conn), f.(*fault)}, nil
}

// conn is what the driver's connections are.
type conn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

type failingConn struct {
	conn
	*fault
}

func (c failingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if err := c.fails("prepare " + text); err != nil {
		return nil, err
	}
	s, err := c.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return failingStmt{s.(stmt), c.fault, text}, nil
}

func (c failingConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.fails(text); err != nil {
		return nil, err
	}
	return c.conn.ExecContext(ctx, text, args)
}

func (c failingConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.fails(text); err != nil {
		return nil, err
	}
	rows, err := c.conn.QueryContext(ctx, text, args)
	return failingRows{rows, c.fault, text}, err
}

// failingRows fails, where it does, when its first row is read.
type failingRows struct {
	driver.Rows
	*fault
	text string
}

func (r failingRows) Next(to []driver.Value) error {
	if err := r.fails("row of " + r.text); err != nil {
		return err
	}
	return r.Rows.Next(to)
}

type stmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type failingStmt struct {
	stmt
	*fault
	text string
}

func (s failingStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.fails(s.text); err != nil {
		return nil, err
	}
	return s.stmt.ExecContext(ctx, args)
}

func (s failingStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.fails(s.text); err != nil {
		return nil, err
	}
	rows, err := s.stmt.QueryContext(ctx, args)
	return failingRows{rows, s.fault, s.text}, err
}

// Whichever statement fails, or whichever row, it is told by what was being done, and nothing of a commit is on disk.
func TestSerialEachStatementThatFailsIsTold(t *testing.T) {
	t.Parallel()
	whole := &fault{}
	if err := aLife(t, whole); err != nil {
		t.Fatal(err)
	}
	if len(whole.made) < 50 {
		t.Fatalf("only %d statements were made", len(whole.made))
	}
	for n, text := range whole.made {
		if err := aLife(t, &fault{number: n + 1}); !errors.Is(err, errDisk) {
			t.Errorf("statement %d failed, and what was told is %v: %.300s", n+1, err, text)
		}
	}
}

// aLife makes a journal, does each thing with it once, and tells the first error.
func aLife(t *testing.T, f *fault) error {
	dir := t.TempDir()
	faults.Store(dir, f)
	defer faults.Delete(dir)
	ctx := context.Background()
	j, err := open(ctx, dir, options{unix.Statfs, migrations, "failing"})
	if err != nil {
		return err
	}
	defer j.Close()
	decided, group := save(1, "submitted"), aGroup("01ARZ3NDEKTSV4RRFFQ69G5FAA")
	decided.Decisions, decided.Undecided = []grid.Decision{decision()}, true
	for i := range maxSeen + 1 {
		if err := j.SeenPeer(ctx, "peer", grid.JournalID{Incarnation: 1, Life: uint64(i + 1), Sequence: 1}); err != nil {
			return err
		}
	}
	before := j.ID().Sequence
	if err := j.Commit(ctx, []grid.Change{decided, grid.Saved(group), save(2), removed(2)}); err != nil {
		if j.ID().Sequence != before {
			t.Errorf("%v, and the journal is at %d", err, j.ID().Sequence)
		}
		return errors.Join(err, nothingOf(t, j, dir))
	}
	for _, read := range []func() error{
		func() error { _, err := j.Load(ctx); return err },
		func() error { _, err := j.Record(ctx, idOf(1)); return err },
		func() error { _, err := j.Records(ctx, []grid.JobID{idOf(1)}); return err },
		func() error { _, err := j.Page(ctx, "", "alice", 5); return err },
		func() error { _, err := j.Site(ctx); return err },
		func() error { _, err := j.History(ctx, grid.KindJob, string(idOf(1))); return err },
		func() error { _, err := j.Decisions(ctx, idOf(1)); return err },
		func() error { _, err := j.Groups(ctx); return err },
		func() error { _, err := j.Budgets(ctx); return err },
		func() error { _, err := j.Allocations(ctx); return err },
		func() error { _, err := j.Reservations(ctx); return err },
	} {
		if err := read(); err != nil {
			return err
		}
	}
	if err := j.SeenPeer(ctx, "other", grid.JournalID{Incarnation: 2, Life: 1, Sequence: 1}); err != nil {
		return err
	}
	return j.Close()
}

// nothingOf opens a journal again, whose first commit has failed.
func nothingOf(t *testing.T, j *Journal, dir string) error {
	if err := j.Close(); err != nil {
		return err
	}
	j, err := Open(context.Background(), dir)
	if err != nil {
		return err
	}
	defer j.Close()
	records, err := j.Load(context.Background())
	groups, err2 := j.Groups(context.Background())
	if len(records)+len(groups) > 0 {
		t.Errorf("on disk are %d records and %d groups", len(records), len(groups))
	}
	return errors.Join(err, err2)
}
