package store

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Space kept back. On a full disk the end of a job, a cancel and a removal must still be
// written down, and nothing else makes room. So a file beside the journal holds some space;
// a commit that finds the disk full gives a piece of it back and is tried again. Piece by
// piece, because whatever filled the disk takes what it can get. New work is refused long
// before (see Space), and the file is filled again when there is room.

const (
	reserveName  = "reserve"
	reserveSize  = int64(32) << 20
	reservePiece = int64(2) << 20
	// Filled again when so much is free: giving a piece back and taking it at once would be no use.
	reserveAgain = 4 * reserveSize
	noRoom       = int64(256) << 10
)

type reserve struct {
	mu   sync.Mutex
	file string
	size int64 // what the file holds
	none bool  // the file system cannot keep space for a file
}

// open looks what is held. On a disk without room a piece is given back, for opening the
// journal writes too.
func (r *reserve) open(dir string, free int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file = filepath.Join(dir, reserveName)
	if info, err := os.Stat(r.file); err == nil {
		r.size = info.Size()
	}
	if free < reservePiece {
		r.give()
		return
	}
	r.fill(free)
}

// fill takes what is lacking, and no more than a quarter of what is free.
func (r *reserve) fill(free int64) {
	want := min(reserveSize, (free+r.size)/4)
	if r.none || r.file == "" || r.size >= want {
		return
	}
	f, err := os.OpenFile(r.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return // as on a disk that is full of files: without it a full disk fails as it did
	}
	defer f.Close()
	err = unix.Fallocate(int(f.Fd()), 0, 0, want)
	if r.none = errors.Is(err, unix.EOPNOTSUPP); err != nil {
		want = min(r.size, want)
		err = f.Truncate(want)
	}
	if err == nil {
		r.size = want
	}
}

// follow fills it again after the disk was full. On a disk without any room, half of it is
// given back without a commit: programs write down their ends themselves.
func (r *reserve) follow(free int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case free >= reserveAgain:
		r.fill(free)
	case free < noRoom && r.size > reserveSize/2:
		r.give()
	}
}

// release gives a piece back; false means that there is none.
func (r *reserve) release() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.give()
}

func (r *reserve) give() bool {
	if r.size <= 0 {
		return false
	}
	left := max(0, r.size-reservePiece)
	if err := os.Truncate(r.file, left); err != nil {
		r.size = 0 // somebody has removed it
		return false
	}
	r.size = left
	return true
}

// patiently runs a transaction, with space given back where the disk is full.
func (j *Journal) patiently(transaction func() error) error {
	err := transaction()
	for isFull(err) && j.reserve.release() {
		err = transaction()
	}
	return err
}

// isFull: there was no room for what was to be written, or for the index of the write-ahead log.
func isFull(err error) bool {
	if errors.Is(err, unix.ENOSPC) {
		return true
	}
	var s *sqlite.Error
	if !errors.As(err, &s) {
		return false
	}
	return s.Code()&0xff == lib.SQLITE_FULL || s.Code() == lib.SQLITE_IOERR_SHMSIZE
}
