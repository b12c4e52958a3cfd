package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gbroker/grid"
	"gbroker/internal/localfs"
	"gbroker/pbs"
	"gbroker/pbs/spool"

	"go.uber.org/zap"
)

// entry is what is kept of an attempt: one file, SPOOL/TAG.job, on disk before the command
// that submits it leaves. It stays until the control directory is gone, as the local
// identifier is told as long as anyone may ask.
type entry struct {
	Version     int
	ID          grid.AttemptID
	Work        string // for people
	Control     string
	Local       grid.LocalID `json:",omitempty"` // "" until the batch system has answered
	As          string       `json:",omitempty"`
	Queue       grid.QueueName
	Demand      grid.Demand
	Limit       grid.Tick
	Reservation string    `json:",omitempty"`
	Part        bool      `json:",omitempty"` // of a co-allocated job
	Submitted   grid.Tick // by our clock, when the command left
	Blind       bool      `json:",omitempty"`
	Released    bool      `json:",omitempty"` // Blind: the hold it was submitted on is, or may be, gone
	Releasing   bool      `json:",omitempty"` // and it is not known whether it is
	Withdrawn   bool      `json:",omitempty"` // it is to leave the queue
	Killed      bool      `json:",omitempty"` // its end was asked for
	Shaken      bool      `json:",omitempty"` // Blind: a node of it did not answer while it ran
	Done        bool      `json:",omitempty"` // nothing is left to be done for it

	memory
}

// memory is what of an attempt is not kept over a restart.
type memory struct {
	answered uint64     // polls that had begun when the batch system took it
	seen     grid.Phase // by the control files, as last told
	arrived  bool       // at its barrier, likewise
	held     bool       // on our hold, as far as we know
	removed  time.Time  // when its removal was last asked for, with success
	removal  pace       // of removals that fail
	left     uint64     // polls that had begun then
	used     grid.Usage // by the listings, as far as they have told it
	over     *Job       // as which the batch system told its end
	overAt   time.Time  // when it first did
	missing  int        // good listings in a row without it
	doubt    time.Time  // the first of them
}

// kept is what is kept of a reservation: SPOOL/ID.resv.
type kept struct {
	Version int
	pbs.Reservation
	Confirmed bool `json:"Booked"` // the system has it
}

const (
	spoolVersion      = 1
	jobSuffix         = ".job"
	reservationSuffix = ".resv"
	maxSpoolFile      = 4 << 20
)

func (s *System) jobFile(at grid.AttemptID) string {
	return filepath.Join(s.config.Spool, at.Tag()+jobSuffix)
}

func (s *System) reservationFile(id string) string {
	return filepath.Join(s.config.Spool, id+reservationSuffix)
}

// save writes an entry, durably.
func (s *System) save(e *entry) error {
	s.mu.Lock()
	e.Version = spoolVersion
	data, err := json.Marshal(e)
	s.mu.Unlock()
	if err == nil {
		err = localfs.Replace(s.jobFile(e.ID), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w: spooling %s: %w", grid.ErrUnavailable, e.ID, err)
	}
	return nil
}

// forget removes an entry, and its file.
func (s *System) forget(e *entry) {
	s.mu.Lock()
	delete(s.entries, e.ID)
	s.mu.Unlock()
	if err := os.Remove(s.jobFile(e.ID)); err != nil && !os.IsNotExist(err) {
		s.log.Warn("a spooled job cannot be removed", zap.Stringer("attempt", e.ID), zap.Error(err))
	}
}

// load takes up the spool.
func (s *System) load() error {
	names, err := os.ReadDir(s.config.Spool)
	if err != nil {
		return fmt.Errorf("reading the spool: %w", err)
	}
	for _, n := range names {
		name := filepath.Join(s.config.Spool, n.Name())
		var err error
		switch {
		case strings.HasPrefix(n.Name(), "."):
			os.Remove(name)
		case n.IsDir() && (strings.HasSuffix(name, jobSuffix) || strings.HasSuffix(name, reservationSuffix)):
			err = spool.ErrFolder
		case strings.HasSuffix(name, jobSuffix):
			err = s.loadJob(name)
		case strings.HasSuffix(name, reservationSuffix):
			err = s.loadReservation(name)
		}
		if unread := spool.Unread(err); unread != nil {
			return unread
		}
		if err != nil {
			s.log.Error("a spooled file cannot be read and is set aside; what the batch system holds of it is found by its mark",
				zap.String("file", name), zap.Error(err), zap.NamedError("moving", os.Rename(name, name+".corrupt")))
		}
	}
	return nil
}

func (s *System) loadJob(name string) error {
	e := &entry{}
	if err := readSpool(name, e, &e.Version); err != nil {
		return err
	}
	if filepath.Base(name) != e.ID.Tag()+jobSuffix {
		return fmt.Errorf("it is of %s and belongs to another file", e.ID)
	}
	if _, err := grid.ParseJobID(string(e.ID.Job)); err != nil {
		return err
	}
	if !filepath.IsAbs(e.Control) {
		return fmt.Errorf("its control directory %q is not absolute", e.Control)
	}
	s.entries[e.ID] = e
	return nil
}

func (s *System) loadReservation(name string) error {
	k := &kept{}
	if err := readSpool(name, k, &k.Version); err != nil {
		return err
	}
	if filepath.Base(name) != k.ID+reservationSuffix || !goodID(k.ID) {
		return fmt.Errorf("it is of reservation %q and belongs to another file", k.ID)
	}
	s.reserved[k.ID] = k
	return nil
}

// readSpool reads a spooled file strictly.
func readSpool(name string, into any, version *int) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSpoolFile+1))
	if err != nil {
		return err
	}
	if len(data) > maxSpoolFile {
		return fmt.Errorf("it is longer than %d bytes", maxSpoolFile)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("it goes on after its end")
	}
	if *version != spoolVersion {
		return fmt.Errorf("it is of version %d: this program knows version %d", *version, spoolVersion)
	}
	return nil
}
