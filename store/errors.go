package store

import (
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Why a journal cannot be opened or used; test with errors.Is.
var (
	ErrNetwork = errors.New("the folder is on a network file system")
	ErrInUse   = errors.New("the folder is in use by another daemon")
	ErrNewer   = errors.New("the journal was written by a newer gbroker")
	ErrCorrupt = errors.New("the journal is damaged")
	ErrForeign = errors.New("the database is no gbroker journal")
	ErrFull    = errors.New("the disk is full")
	ErrBroken  = errors.New("the journal must be opened again after a failed commit")
	ErrClosed  = errors.New("the journal is closed")
)

// explain adds the kind, and the way out, to an error of SQLite.
func (j *Journal) explain(err error) error {
	var s *sqlite.Error
	if !errors.As(err, &s) {
		return err
	}
	switch s.Code() & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return corrupt(j.file, err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: %w: free space on the disk of %s, then start again", ErrFull, err, j.file)
	}
	return err
}

// corrupt says what an administrator can do; nothing is repaired silently.
func corrupt(file string, err error) error {
	return fmt.Errorf("%w: %s: %w: put a backup in its place, or write what can be read to a new file "+
		"with `sqlite3 %s .recover | sqlite3 new.db` and put that in its place; without either move %s* away and "+
		"start with an empty journal, which knows none of the jobs held here", ErrCorrupt, file, err, file, file)
}

// damaged names the one line that cannot be believed, and how it is given up where that
// is possible: statement deletes it.
func damaged(file, what string, why error, statement string) error {
	if statement == "" {
		return fmt.Errorf("%w: %s: %s: %w: put a backup in its place", ErrCorrupt, file, what, why)
	}
	return fmt.Errorf("%w: %s: %s: %w: put a backup in its place, or give up this alone while no daemon runs: "+
		"sqlite3 %s \"PRAGMA foreign_keys = ON; %s\"", ErrCorrupt, file, what, why, file, statement)
}

// quoted is a text in a statement of SQL.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
