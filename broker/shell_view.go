package broker

import (
	"context"
	"slices"
	"sync"

	"gbroker/grid"
)

// view is what readers see: the durable records, by identifier. A change wakes
// those who wait for that job.
type view struct {
	mu      sync.RWMutex
	records map[grid.JobID]*grid.Record
	ids     []grid.JobID // sorted
	waiters map[grid.JobID]chan struct{}
}

func newView() *view {
	return &view{records: map[grid.JobID]*grid.Record{}, waiters: map[grid.JobID]chan struct{}{}}
}

func (v *view) reset(records []grid.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.records)
	v.ids = v.ids[:0]
	for i := range records {
		v.put(&records[i])
	}
	for id := range v.waiters {
		v.wake(id)
	}
}

// change takes a durable change, and gives what the record was before; nil was none.
func (v *view) change(c grid.Change) (before *grid.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	before = v.records[c.Job]
	if c.Record == nil {
		delete(v.records, c.Job)
		if k, ok := slices.BinarySearch(v.ids, c.Job); ok {
			v.ids = slices.Delete(v.ids, k, k+1)
		}
	} else {
		v.put(c.Record)
	}
	v.wake(c.Job)
	return before
}

// count gives how many records count says something of, by what it says.
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

func (v *view) set(r grid.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.put(&r)
	v.wake(r.Job.ID)
}

func (v *view) put(r *grid.Record) {
	if _, known := v.records[r.Job.ID]; !known {
		k, _ := slices.BinarySearch(v.ids, r.Job.ID)
		v.ids = slices.Insert(v.ids, k, r.Job.ID)
	}
	v.records[r.Job.ID] = r
}

func (v *view) wake(id grid.JobID) {
	if ch := v.waiters[id]; ch != nil {
		close(ch)
		delete(v.waiters, id)
	}
}

func (v *view) get(id grid.JobID) (grid.Record, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	r := v.records[id]
	if r == nil {
		return grid.Record{}, false
	}
	return *r, true
}

func (v *view) changed(id grid.JobID) <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	ch := v.waiters[id]
	if ch == nil {
		ch = make(chan struct{})
		v.waiters[id] = ch
	}
	return ch
}

// until waits for a record to satisfy ok, to vanish, or for ctx; it returns the last one seen.
func (v *view) until(ctx context.Context, id grid.JobID, ok func(*grid.Record) bool) (grid.Record, bool) {
	for {
		ch := v.changed(id)
		r, known := v.get(id)
		if !known || ok(&r) {
			return r, known
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return r, true
		}
	}
}

// after lists up to limit records that keep says, in the order of identifiers.
func (v *view) after(id grid.JobID, limit int, keep func(*grid.Record) bool) []grid.Record {
	v.mu.RLock()
	defer v.mu.RUnlock()
	k, found := slices.BinarySearch(v.ids, id)
	if found {
		k++
	}
	var list []grid.Record
	for ; k < len(v.ids) && len(list) < limit; k++ {
		if r := v.records[v.ids[k]]; keep(r) {
			list = append(list, *r)
		}
	}
	return list
}
