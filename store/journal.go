package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// Journal is the open journal of one broker. Its methods may be called from
// several goroutines; one Commit runs at a time, and reading does not wait for it.
type Journal struct {
	dir, file string
	stat      statfs
	driver    string
	lock      *os.File
	writer    *sql.DB
	conn      *sql.Conn // the one connection that writes
	sql       statementsOfCommit
	reader    *sql.DB
	reserve   reserve

	mu        sync.Mutex // held while something is written
	written   map[grid.JobID]grid.Job
	highWater map[grid.PeerID]*highWater
	witness   witness
	lives     []grid.Life

	state sync.Mutex // guards what follows, shortly
	id    grid.JournalID
	over  error // ErrBroken or ErrClosed, once it is either
}

// options are what tests replace.
type options struct {
	stat       statfs
	migrations []migration
	driver     string // of the database
}

// Open opens the journal in folder dir and makes it if it is not there. It checks
// the whole database, which takes about two seconds for 200 MB.
func Open(ctx context.Context, dir string) (*Journal, error) {
	return open(ctx, dir, options{unix.Statfs, migrations, "sqlite"})
}

func open(ctx context.Context, dir string, o options) (*Journal, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the journal in %s: %w", dir, err)
	}
	j := &Journal{
		dir: abs, file: filepath.Join(abs, "journal.db"), stat: o.stat, driver: o.driver,
		written: map[grid.JobID]grid.Job{}, highWater: map[grid.PeerID]*highWater{},
		witness: witness{shorter: shorter{syncDir: syncDir}},
	}
	if err := j.open(ctx, o.migrations); err != nil {
		return nil, errors.Join(fmt.Errorf("open the journal in %s: %w", abs, j.explain(err)), j.release())
	}
	return j, nil
}

func (j *Journal) open(ctx context.Context, list []migration) error {
	if err := prepare(j.dir); err != nil {
		return err
	}
	if err := checkLocal(j.dir, j.stat); err != nil {
		return err
	}
	var err error
	if j.lock, err = lock(ctx, j.dir); err != nil {
		return err
	}
	if free, err := j.free(); err == nil {
		j.reserve.open(j.dir, free)
	}
	if err := createPrivate(j.file); err != nil {
		return err
	}
	if err := j.connect(ctx); err != nil {
		return err
	}
	if err := j.check(ctx); err != nil {
		return err
	}
	if err := j.migrate(ctx, list); err != nil {
		return err
	}
	if err := j.count(ctx); err != nil {
		return err
	}
	if j.id, err = j.identity(ctx); err != nil {
		return err
	}
	if err := j.witness.open(filepath.Join(j.dir, "journal")); err != nil {
		return err
	}
	if err := syncDir(j.dir); err != nil { // names are made until here; what users were told may have been written anew under one
		return err
	}
	if err := j.begin(ctx); err != nil {
		return err
	}
	if err := j.loadHighWater(ctx); err != nil {
		return err
	}
	return j.sql.prepare(ctx, j.conn)
}

// createPrivate makes the file before SQLite does, which would leave it to the umask.
func createPrivate(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// Writer and readers wait for each other this long, in milliseconds, where WAL
// makes them at all; the log file is cut back to its limit, in bytes.
const (
	writing = "_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_pragma=journal_size_limit(67108864)"
	reading = "_pragma=busy_timeout(10000)&_pragma=query_only(ON)"
	readers = 4
)

func (j *Journal) connect(ctx context.Context) error {
	name := func(query string) string {
		return (&url.URL{Scheme: "file", Path: j.file, RawQuery: query}).String()
	}
	err := registered()
	if err != nil {
		return err
	}
	if j.writer, err = sql.Open(j.driver, name(writing)); err != nil {
		return err
	}
	j.writer.SetMaxOpenConns(1)
	if j.conn, err = j.writer.Conn(ctx); err != nil {
		return err
	}
	var mode string
	if err := j.conn.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("%s cannot use a write-ahead log (its journal mode is %s): set data to a folder on a local disk", j.file, mode)
	}
	if j.reader, err = sql.Open(j.driver, name(reading)); err != nil {
		return err
	}
	j.reader.SetMaxOpenConns(readers)
	j.reader.SetMaxIdleConns(1)
	return nil
}

// check reads the whole database for damage.
func (j *Journal) check(ctx context.Context) error {
	var verdict string
	if err := j.conn.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict); err != nil {
		return fmt.Errorf("check for damage: %w", err)
	}
	if verdict != "ok" {
		return corrupt(j.file, errors.New(verdict))
	}
	return nil
}

// count sees that no record is passed over when they are read by their indexes, which
// check does not compare with the tables.
func (j *Journal) count(ctx context.Context) error {
	var records, documents, both int
	err := j.conn.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM entity NOT INDEXED WHERE kind IN (`+withDocuments()+`)),
		(SELECT count(*) FROM document NOT INDEXED),
		(SELECT count(*) FROM entity JOIN document USING (kind, key))`).Scan(&records, &documents, &both)
	if err == nil && (records != both || documents != both) {
		err = corrupt(j.file, fmt.Errorf("it has %d records and %d documents, and %d can be found by their names", records, documents, both))
	}
	if err != nil {
		return err
	}
	return j.belongs(ctx)
}

// belongs sees that each line belongs to an entity that is here: of one whose name is damaged
// nobody would ever read it.
func (j *Journal) belongs(ctx context.Context) error {
	var table, parent string
	var row sql.NullInt64
	var key int
	err := j.conn.QueryRowContext(ctx, `PRAGMA foreign_key_check`).Scan(&table, &row, &parent, &key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = corrupt(j.file, fmt.Errorf("a line of its table %s belongs to nothing that is here", table))
	}
	return err
}

func (j *Journal) identity(ctx context.Context) (grid.JournalID, error) {
	var incarnation string
	var id grid.JournalID
	var sound bool
	err := j.conn.QueryRowContext(ctx, `SELECT incarnation, sequence, sum = `+sumOfJournal+` FROM journal`).Scan(&incarnation, &id.Sequence, &sound)
	if errors.Is(err, sql.ErrNoRows) {
		return id, corrupt(j.file, errors.New("its identity is missing"))
	}
	if err != nil {
		return id, fmt.Errorf("read the journal's identity: %w", err)
	}
	if !sound {
		return id, damaged(j.file, "the journal's identity", errSum, "")
	}
	if id.Incarnation, err = strconv.ParseUint(incarnation, 16, 64); err != nil {
		return id, corrupt(j.file, fmt.Errorf("its incarnation: %w", err))
	}
	return id, nil
}

// ID is the journal's incarnation, and the sequence of the last durable Commit.
func (j *Journal) ID() grid.JournalID {
	j.state.Lock()
	defer j.state.Unlock()
	return j.id
}

// usable says why the journal can no longer be used.
func (j *Journal) usable() error {
	j.state.Lock()
	defer j.state.Unlock()
	return j.over
}

// end makes the journal unusable; the first reason stays, but for closing.
func (j *Journal) end(why error) {
	j.state.Lock()
	defer j.state.Unlock()
	if j.over == nil || why == ErrClosed {
		j.over = why
	}
}

// Close waits for a Commit that runs, and leaves the folder to others. It may be
// called again.
func (j *Journal) Close() error {
	j.settle()
	j.mu.Lock()
	defer j.mu.Unlock()
	usable := j.usable()
	if usable == ErrClosed {
		return nil
	}
	j.end(ErrClosed)
	var err error
	if usable == nil && j.unsavedHighWater() {
		ctx := context.Background() //house:allow context: the last save is not to be given up
		err = j.transaction(ctx, func() error { return j.saveHighWater(ctx) })
	}
	if err := errors.Join(err, j.release()); err != nil {
		return fmt.Errorf("close the journal in %s: %w", j.dir, err)
	}
	return nil
}

// release closes what is open, the lock last.
func (j *Journal) release() error {
	errs := []error{j.sql.close(), j.witness.close()}
	if j.reader != nil {
		errs = append(errs, j.reader.Close())
	}
	if j.conn != nil {
		errs = append(errs, j.conn.Close())
	}
	if j.writer != nil {
		errs = append(errs, j.writer.Close())
	}
	if j.lock != nil {
		errs = append(errs, j.lock.Close())
	}
	return errors.Join(errs...)
}
