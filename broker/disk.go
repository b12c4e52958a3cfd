package broker

import (
	"errors"
	"fmt"
	"syscall"

	"gbroker/grid"
)

// Reserve is the free space, in bytes, below which nothing new is taken, so that
// the jobs already held can still be written down, and their output kept.
const Reserve = 64 << 20

// Room is what is free, in bytes: on the disk of the journal, and for the files of jobs
// beside what the stager keeps back.
func (b *Broker) Room() (journal, jobs int64, err error) {
	j := b.journal.Load()
	if j == nil {
		return 0, 0, fmt.Errorf("%w: the broker is starting", grid.ErrUnavailable)
	}
	if journal, err = (*j).Space(); err != nil {
		return 0, 0, err
	}
	jobs, err = b.ports.Stager.Space()
	return journal, jobs, err
}

// LookAtRoom is Room for whom something follows from it: that there is none for the files of jobs is remembered, as the jobs
// that run now are told of it when they have ended.
func (b *Broker) LookAtRoom() (journal, jobs int64, err error) {
	if journal, jobs, err = b.Room(); err == nil && jobs <= 0 {
		b.fullAt.Store(int64(b.ports.Clock()))
	}
	return journal, jobs, err
}

// full tells that there is no room for anything new.
func (b *Broker) full() bool {
	journal, jobs, err := b.LookAtRoom()
	return err == nil && (journal < Reserve || jobs <= 0)
}

// roomFor refuses a job that the disk has no room for.
func (b *Broker) roomFor(j *grid.Job) error {
	journal, jobs, err := b.LookAtRoom()
	if err != nil {
		return err
	}
	need := j.Inputs.Size()
	switch {
	case journal < Reserve:
		return fmt.Errorf("%w: the disk of this site is full: %d MiB are left, and %d MiB are kept back for the jobs that are here; "+
			"try again later, or tell its administrator", grid.ErrUnavailable, journal>>20, int64(Reserve)>>20)
	case jobs < need || jobs <= 0:
		return fmt.Errorf("%w: the disk for the files of jobs at this site is full: the job brings %d MiB, and there is room for %d MiB; "+
			"try again later, or tell its administrator", grid.ErrUnavailable, (need+1<<20-1)>>20, jobs>>20)
	}
	return nil
}

// noSpace tells that an error is for want of room, which will pass.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
