package broker

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"gbroker/grid"
)

// longJournal has jobs of this home that wait here, each with so long an argument; it tells how many of these are in
// memory when the last was read.
type longJournal struct {
	journalStub
	jobs, length int
	before       uint64
	held         uint64 // bytes
}

func (j *longJournal) job(n int) grid.Record {
	of := jobOf(me, "a", fmt.Sprint(n%10))
	of.ID = grid.NewJobID("a", fmt.Sprintf("%026d", n))
	of.Program.Arguments = []string{strings.Repeat("x", j.length)}
	return grid.Record{Job: of, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}
}

func (j *longJournal) Each(_ context.Context, give func(grid.Record) error) error {
	j.before = heap()
	for n := range j.jobs {
		if err := give(j.job(n)); err != nil {
			return err
		}
	}
	j.held = heap() - min(j.before, heap())
	return nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A start has the long documents of the jobs that wait one after the other in memory, never all of them.
func TestStartReadsDocumentsOneByOne(t *testing.T) {
	s := &shell{}
	b := s.broker()
	j := &longJournal{jobs: 64, length: 1 << 20}
	cfg := b.cfg
	cfg.Load = func(grid.JobID) (grid.Record, error) { return j.job(0), nil }
	if _, err := b.core(t.Context(), cfg, j); err != nil {
		t.Fatal(err)
	}
	if j.held > 8<<20 {
		t.Errorf("%d MiB of %d were in memory at once", j.held>>20, j.jobs*j.length>>20)
	}
}
