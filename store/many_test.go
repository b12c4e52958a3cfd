package store

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"gbroker/grid"
)

func TestManyChangesAreOneTransaction(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	var changes []grid.Change
	for n := range 256 {
		changes = append(changes, save(n, "submitted"))
	}
	before := j.ID().Sequence
	mustCommit(t, j, changes...)
	if j.ID().Sequence != before+1 || len(mustLoad(t, j)) != 256 {
		t.Errorf("sequence from %d to %d", before, j.ID().Sequence)
	}
	// One bad change takes the others with it.
	bad := save(1000)
	bad.Decisions = []grid.Decision{decision()}
	bad.Decisions[0].Candidates[0].Bandwidth /= 0.0 * float64(len(bad.Events)) // +Inf
	if err := j.Commit(context.Background(), []grid.Change{save(999), bad}); err == nil {
		t.Error("JSON holds an infinity")
	}
}

// A manifest of 100 GiB: 25,600 hashes.
func TestLargeRecord(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, t.TempDir())
	c := save(1)
	const ranges = 25600
	of(c).Job.Inputs[0].Size = ranges * grid.RangeSize
	of(c).Job.Inputs[0].Ranges = make([]grid.Hash, ranges)
	for i := range ranges {
		of(c).Job.Inputs[0].Ranges[i] = hashOf(byte(i))
	}
	mustCommit(t, j, c)
	if got := mustLoad(t, j); !reflect.DeepEqual(got[0], *of(c)) {
		t.Error("it comes back changed")
	}
	var document, record int
	if err := j.reader.QueryRow(`SELECT length(text), length(record) FROM document JOIN entity USING (kind, key)`).Scan(&document, &record); err != nil {
		t.Fatal(err)
	}
	if document > ranges*32*4/3+4096 || record > 4096 {
		t.Errorf("document %d bytes, record %d", document, record)
	}
}

func TestReadWhileCommitting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	j := mustOpen(t, t.TempDir())
	mustCommit(t, j, save(0, "0"))
	const commits = 100
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			last := 0
			for ended := false; !ended; {
				select {
				case <-done:
					ended = true // read once more
				default:
				}
				// Every commit adds one record and one event: a reading sees both or none.
				records, err := j.Load(ctx)
				if err != nil || len(records) < last {
					t.Errorf("%d records after %d, %v", len(records), last, err)
					return
				}
				last = len(records)
				events, err := history(j, idOf(0))
				if err != nil || len(events) < last {
					t.Errorf("%d events after %d records, %v", len(events), last, err)
					return
				}
				_ = j.ID()
			}
			if last != commits+1 {
				t.Errorf("%d records at the end", last)
			}
		})
	}
	for n := range commits {
		mustCommit(t, j, save(n+1), save(0, fmt.Sprint(n+1)))
	}
	close(done)
	readers.Wait()
}

func TestSerialManyRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	const n = 10000
	for at := 0; at < n; at += 500 {
		var changes []grid.Change
		for i := range 500 {
			changes = append(changes, save(at+i))
		}
		mustCommit(t, j, changes...)
	}
	records := mustLoad(t, j)
	if len(records) != n {
		t.Fatalf("%d records", len(records))
	}
	for i, r := range records {
		if r.Job.ID != idOf(i) {
			t.Fatalf("record %d is %s", i, r.Job.ID)
		}
	}
}
