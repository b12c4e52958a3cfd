package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"gbroker/broker/core"
	"gbroker/grid"
)

// view is what readers see: the durable records. Those of jobs that are archived are read from
// the journal. A change wakes those who wait for that job.
type view struct {
	mu      sync.RWMutex
	records map[grid.JobID]*grid.Record
	waiters map[grid.JobID]*waiter // of jobs that somebody waits for now
	load    func(context.Context, grid.JobID) (grid.Record, error)
}

// waiter is closed by the next change of a job.
type waiter struct {
	changed chan struct{}
	waiting int
}

func newView(load func(context.Context, grid.JobID) (grid.Record, error)) *view {
	return &view{records: map[grid.JobID]*grid.Record{}, waiters: map[grid.JobID]*waiter{}, load: load}
}

// reset shows the jobs that are not archived.
func (v *view) reset(records []*grid.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.records)
	for _, r := range records {
		v.records[r.Job.ID] = brief(r)
	}
	for id := range v.waiters {
		v.wake(id)
	}
}

// change shows what has become durable, and gives what was shown before; nil was nothing.
func (v *view) change(id grid.JobID, r *grid.Record) (before *grid.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	before = v.records[id]
	v.put(id, r)
	return before
}

// count gives how many records, of jobs that are not archived, count says something of, by what it says.
func (v *view) count(what func(*grid.Record) string) map[string]int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	n := map[string]int{}
	for _, r := range v.records {
		if s := what(r); s != "" {
			n[s]++
		}
	}
	return n
}

// each gives all records of jobs that are not archived to see.
func (v *view) each(see func(*grid.Record)) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, r := range v.records {
		see(r)
	}
}

// set shows what is no promise, and is of no use of a job that is archived.
func (v *view) set(r grid.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.put(r.Job.ID, &r)
}

func (v *view) put(id grid.JobID, r *grid.Record) {
	if r == nil || core.IsArchived(r) {
		delete(v.records, id)
	} else {
		v.records[id] = brief(r)
	}
	v.wake(id)
}

// brief is a record without the texts of its program, which may be long, and which readers do not see.
func brief(r *grid.Record) *grid.Record {
	if r.Job.Program.TextSize() == 0 {
		return r
	}
	k := *r
	k.Job.Program = r.Job.Program.Brief()
	return &k
}

func (v *view) wake(id grid.JobID) {
	if w := v.waiters[id]; w != nil {
		close(w.changed)
		delete(v.waiters, id)
	}
}

// shown is the record of a job that is not archived.
func (v *view) shown(id grid.JobID) (grid.Record, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	r := v.records[id]
	if r == nil {
		return grid.Record{}, false
	}
	return *r, true
}

// get is the record of any job; known is false where there is none.
func (v *view) get(ctx context.Context, id grid.JobID) (r grid.Record, known bool, err error) {
	if r, known = v.shown(id); known {
		return r, true, nil
	}
	r, err = v.load(ctx, id)
	switch {
	case err == nil:
		return r, true, nil
	case errors.Is(err, grid.ErrNotFound):
		return grid.Record{}, false, nil
	}
	return grid.Record{}, false, fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
}

// waits is for who is going to wait for the next change of a job, until leave.
func (v *view) waits(id grid.JobID) *waiter {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.waiters[id]
	if w == nil {
		w = &waiter{changed: make(chan struct{})}
		v.waiters[id] = w
	}
	w.waiting++
	return w
}

// leave forgets a waiter with the last who waits: the job may never change again.
func (v *view) leave(id grid.JobID, w *waiter) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w.waiting--; w.waiting == 0 && v.waiters[id] == w {
		delete(v.waiters, id)
	}
}

// until waits for a record to satisfy ok, to vanish, or for ctx; it returns the last one seen.
func (v *view) until(ctx context.Context, id grid.JobID, ok func(*grid.Record) bool) (grid.Record, bool, error) {
	for {
		r, known, again, err := v.look(ctx, id, ok)
		if !again {
			return r, known, err
		}
	}
}

// look reads a record and, unless that is what is waited for, waits for its next change or for ctx; again tells of a change.
func (v *view) look(ctx context.Context, id grid.JobID, ok func(*grid.Record) bool) (r grid.Record, known, again bool, err error) {
	w := v.waits(id)
	defer v.leave(id, w)
	r, known, err = v.get(context.WithoutCancel(ctx), id) // at the end of the wait the record is told as it is
	if err != nil || !known || ok(&r) {
		return r, known, false, err
	}
	select {
	case <-w.changed:
		return r, true, true, nil
	case <-ctx.Done():
		return r, true, false, nil
	}
}

// live lists up to limit records, of those that are not archived, that keep says.
func (v *view) live(limit int, keep func(*grid.Record) bool) []grid.Record {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var list []grid.Record
	for _, r := range v.records {
		if len(list) < limit && keep(r) {
			list = append(list, *r)
		}
	}
	slices.SortFunc(list, func(a, b grid.Record) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
	return list
}
