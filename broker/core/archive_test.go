package core

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// longRecord is that of a job like many, with all that belongs to it.
func longRecord(n int, home grid.PeerID, state grid.State) grid.Record {
	j := fat(home, "a", n, 400)
	j.Name = fmt.Sprintf("run-%d", n)
	j.Program.Environment = []grid.Variable{{Name: "OMP_NUM_THREADS", Value: "8"}, {Name: "INPUT", Value: fmt.Sprintf("mesh-%d.dat", n)}}
	for i := range 3 {
		j.Inputs = append(j.Inputs, grid.File{Path: fmt.Sprintf("in/%d-%d.dat", n, i), Size: 5 << 20, Ranges: make([]grid.Hash, 2)})
	}
	j.Outputs = []grid.Output{{Path: "result", Target: "result"}}
	r := grid.Record{
		Job:         j,
		Key:         fmt.Sprintf("key-%024d", n),
		State:       state,
		Submitted:   900_000,
		EstimateNow: 2_000_000,
		Tenure:      grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
		Run:         grid.Run{Attempt: 1, Queued: 900_100},
	}
	if home != me {
		r.Certificates = []grid.Certificate{{Epoch: r.Epoch, To: me, Signature: make([]byte, 64)}}
	}
	if state.Terminal() {
		r.Started, r.Finished, r.Ended, r.End, r.HasExit = 910_000, 920_000, 920_100, state, true
		r.Outputs = grid.Manifest{{Path: "stdout", Size: 1000, Ranges: make([]grid.Hash, 1)}}
		if home != me {
			r.Role, r.Closed = grid.Tombstone, true
		}
	}
	return r
}

// heapOf is how much memory what make returns holds.
func heapOf(make func() any) int64 {
	read := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := read()
	kept := make()
	after := read()
	runtime.KeepAlive(kept)
	return after - before
}

// journaled is a Core, and what readers see, of so many records that only a journal has.
func journaled(n int, record func(int) grid.Record) func() any {
	return func() any {
		shown := map[grid.JobID]*grid.Record{}
		c := NewFrom(Config{Self: me, Site: grid.Site{Name: "a", Speed: 1}, Load: func(grid.JobID) (grid.Record, error) { return grid.Record{}, grid.ErrNotFound }},
			nil, func(yield func(grid.Record) bool) {
				for i := range n {
					r := record(i)
					if !IsArchived(&r) {
						seen := r
						seen.Job.Program = r.Job.Program.Brief() // as package broker shows it
						if shown[r.Job.ID] = &seen; r.Job.Program.TextSize() < Defaults().LongDocument {
							shown[r.Job.ID] = &r
						}
					}
					yield(r)
				}
			})
		c.Durable(1)
		return []any{c, shown}
	}
}

// Bytes of memory for each job, with the maps that find it: what was measured, and half as much more.
const (
	perWaiting = 7000
	perEnded   = 430
	perTomb    = 550 // of another home, with its certificates
)

// What a job costs in memory is known, and does not grow unseen. It is alone in its process
// when it measures: not parallel.
func TestMemoryOfAJob(t *testing.T) {
	const n = 5000
	for _, k := range []struct {
		what  string
		home  grid.PeerID
		state grid.State
		most  int64
	}{
		{"a job that waits", me, grid.Assigned, perWaiting},
		{"a job that waits, with 64 KiB of arguments", me, grid.Assigned, perWaiting},
		{"a job that has ended", me, grid.Completed, perEnded},
		{"a job of another home that has ended here", her, grid.Completed, perTomb},
	} {
		each := heapOf(journaled(n, func(i int) grid.Record {
			r := longRecord(i, k.home, k.state)
			if strings.Contains(k.what, "64 KiB") {
				r.Job.Program.Arguments = []string{strings.Repeat("x", 64<<10)}
			}
			return r
		})) / n
		t.Logf("%s takes %d bytes", k.what, each)
		if each > k.most {
			t.Errorf("%s takes %d bytes of memory, and %d were measured and allowed", k.what, each, k.most)
		}
	}
}

func BenchmarkMemoryOfAJob(b *testing.B) {
	for _, k := range []struct {
		name  string
		state grid.State
	}{{"waiting", grid.Assigned}, {"ended", grid.Completed}} {
		b.Run(k.name, func(b *testing.B) {
			const n = 5000
			total := int64(0)
			for b.Loop() {
				total += heapOf(journaled(n, func(i int) grid.Record { return longRecord(i, me, k.state) }))
			}
			b.ReportMetric(float64(total)/float64(b.N)/n, "B/job")
		})
	}
}

// kept is a Core that has a journal behind it.
func kept(t *testing.T, records ...grid.Record) (*Core, map[grid.JobID]grid.Record) {
	t.Helper()
	journal := map[grid.JobID]grid.Record{}
	for _, r := range records {
		journal[r.Job.ID] = r
	}
	c := New(Config{Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 1}, Load: func(id grid.JobID) (grid.Record, error) {
		r, known := journal[id]
		if !known {
			return r, grid.ErrNotFound
		}
		return r, nil
	}}, []grid.Member{{Name: "b", Peer: her, Send: true}}, records)
	begin(c)
	c.Durable(1)
	return c, journal
}

// commit makes the effects of a step durable.
func commit(c *Core, journal map[grid.JobID]grid.Record, effects []Effect) []Effect {
	var w Write
	w.take(effects)
	for _, ch := range w.Changes {
		switch id, r, is := ch.Job(); {
		case !is:
		case r == nil:
			delete(journal, id)
		default:
			old := journal[id]
			journal[id] = *ch.Whole(&old)
		}
	}
	c.Durable(2)
	return effects
}

// A job that ended is not in memory, and all that is asked about it is answered as before.
func TestArchivedJobsAreAnsweredFor(t *testing.T) {
	t.Parallel()
	r := longRecord(1, me, grid.Completed)
	r.Role, r.Owner, r.Epoch = grid.Watching, her, grid.Epoch{Term: 1, Hop: 1}
	c, journal := kept(t, r)
	id := r.Job.ID
	if c.jobs[id] != nil || len(c.archive) != 1 {
		t.Fatalf("%d jobs are in memory", len(c.jobs))
	}
	// Its owner reports again: it has all.
	effects := commit(c, journal, c.Step(c.now+1, Message{her, wire.Report{Job: id, Epoch: r.Epoch, Number: 9, State: grid.StageOut, End: grid.Completed}}))
	if a, is := sentTo(effects, her)[0].(wire.ReportAck); !is || !a.Closed {
		t.Errorf("its owner hears %+v", sentTo(effects, her))
	}
	if c.jobs[id] != nil {
		t.Error("it stays in memory")
	}
	// The same key is the same job; with another document it is refused.
	again := r.Job
	again.ID = grid.NewJobID("a", fmt.Sprintf("%026d", 99))
	a, _ := only[Answer](commit(c, journal, c.Step(c.now+1, Submit{Token: 1, Job: again, Key: r.Key})))
	if !a.Again || a.Record.Job.ID != id || len(a.Record.Outputs) != 1 {
		t.Errorf("handed in again: %+v", a)
	}
	again.Name = "another"
	if a, _ := only[Answer](commit(c, journal, c.Step(c.now+1, Submit{Token: 2, Job: again, Key: r.Key}))); !errors.Is(a.Err, grid.ErrInvalid) {
		t.Errorf("another document of its key: %+v", a)
	}
	c.Step(c.now+grid.Minute, Tick{}) // members are not waited for any more
	// Its folder stays, and goes when its user removes it; its key still counts.
	if _, gone := only[Discard](c.Step(c.now+1, Folders{[]grid.JobID{id}})); gone {
		t.Error("its folder goes")
	}
	commit(c, journal, c.Step(c.now+1, RemoveRequest{Token: 3, Job: id}))
	if got := journal[id]; !got.Removed || c.jobs[id] != nil {
		t.Errorf("removed: %+v", got)
	}
	if _, gone := only[Discard](c.Step(c.now+1, Folders{[]grid.JobID{id}})); !gone {
		t.Error("removed, its folder stays")
	}
	commit(c, journal, c.Step(c.now+keyLife+grid.Hour, Tick{}))
	commit(c, journal, c.Step(c.now+2*grid.Day, Tick{}))
	if len(journal) != 0 || len(c.archive) != 0 || len(c.keys) != 0 {
		t.Errorf("forgotten, there are %d records, %d archived, %d keys", len(journal), len(c.archive), len(c.keys))
	}
}

// A home that was restored hears of the jobs that ended here, though they are archived.
func TestArchivedJobsAreClaimed(t *testing.T) {
	t.Parallel()
	r := longRecord(1, her, grid.Completed)
	c, journal := kept(t, r)
	if len(c.archive) != 1 {
		t.Fatal("it is in memory")
	}
	effects := commit(c, journal, c.Step(c.now+1, Message{her, wire.Recount{Sequence: 5}}))
	found := false
	for _, m := range sentTo(effects, her) {
		if k, is := m.(wire.Recounted); is {
			found = len(k.Claims) == 1 && k.Claims[0].Job == r.Job.ID && k.Claims[0].Ended
		}
	}
	if !found {
		t.Errorf("told %+v", sentTo(effects, her))
	}
}

// So is what was let go as its home had raised the term.
func TestArchivedJobsThatWereLetGoAreTold(t *testing.T) {
	t.Parallel()
	r := longRecord(1, her, grid.Ready)
	r.Role, r.Owner, r.Closed, r.End, r.Started = grid.Tombstone, me, false, 0, 0
	r.Superseded = grid.Epoch{Term: r.Epoch.Term + 5}
	c, journal := kept(t, r)
	if len(c.archive) != 1 {
		t.Fatal("it is in memory")
	}
	told := sentTo(commit(c, journal, c.Step(c.now+1, Message{her, wire.Recount{Sequence: 5}})), her)
	for _, m := range told {
		if k, is := m.(wire.Recounted); is && slices.Contains(k.Traces, wire.Trace{Job: r.Job.ID, Epoch: grid.Epoch{Term: r.Superseded.Term}}) {
			return
		}
	}
	t.Errorf("told %+v", told)
}

// What takes too much space goes, the oldest first, archived or not.
func TestArchivedJobsAreRetained(t *testing.T) {
	t.Parallel()
	var records []grid.Record
	for n := range 4 {
		r := longRecord(n, me, grid.Completed)
		r.Ended += grid.Tick(n)
		records = append(records, r)
	}
	c, journal := kept(t, records...)
	c.cfg.KeepBytes = 2 * sizeHere(&records[0])
	commit(c, journal, c.Step(c.now+2*grid.Minute, Tick{}))
	for n, r := range records {
		if got := journal[r.Job.ID]; got.Removed != (n < 2) {
			t.Errorf("the one that ended as number %d: removed %t", n, got.Removed)
		}
	}
}

// A record that cannot be read ends this Core, and says so to who asks; nothing of it counts.
func TestARecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r := longRecord(1, me, grid.Completed)
	c, journal := kept(t, r)
	delete(journal, r.Job.ID)
	effects := c.Step(c.now+1, RemoveRequest{Token: 3, Job: r.Job.ID})
	f, failed := only[Fail](effects)
	a, _ := only[Answer](effects)
	if !failed || len(effects) != 2 || a.Token != 3 || a.Err == nil || !strings.Contains(fmt.Sprint(f.Err), string(r.Job.ID)) {
		t.Errorf("%+v", effects)
	}
	if _, failed := only[Fail](c.Step(c.now+1, Tick{})); !failed {
		t.Error("it goes on")
	}
	c, _ = kept(t, r)
	if c.save(c.peek(r.Job.ID), "by what is known of it alone"); c.failed == nil {
		t.Error("a job is saved without its record")
	}
}

// What is known of a job in memory alone keeps it there while it counts.
func TestARefusedJobStaysForAWhile(t *testing.T) {
	t.Parallel()
	c, journal := kept(t, longRecord(1, me, grid.Ready))
	j := c.jobs[longRecord(1, me, grid.Ready).Job.ID]
	c.refuses(j, me, "no such account")
	c.execution.end(j, grid.Failed, "for the test")
	for _, d := range []grid.Tick{0, refusedFor + 1} {
		commit(c, journal, c.Step(c.now+d, Tick{}))
		if stays := c.jobs[j.rec.Job.ID] != nil; stays != (d == 0) {
			t.Errorf("after %d s it stays: %t", d/grid.Second, stays)
		}
	}
}

// A job that was kept long enough, and lives in the journal alone, is shown as removed before it is dropped: once, and where it was shown at all.
func TestADroppedJobIsShownAsRemoved(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		change func(*grid.Record)
		shown  bool
	}{
		"of this home":                {func(*grid.Record) {}, true},
		"removed by its user":         {func(r *grid.Record) { r.Removed = true }, false},
		"of another, that ran here":   {func(r *grid.Record) { r.Job.Home, r.Role = her, grid.Tombstone }, true},
		"of another, that passed on":  {func(r *grid.Record) { r.Job.Home, r.Role, r.Started = her, grid.Tombstone, 0 }, false},
		"of another, never owned":     {func(r *grid.Record) { r.Job.Home, r.Role = her, grid.Declined }, false},
		"of another, with its result": {func(r *grid.Record) { r.Job.Home, r.State = her, grid.StageOut }, false},
	} {
		r := longRecord(1, me, grid.Completed)
		k.change(&r)
		c := signed(r)
		c.kernel.now, c.out = r.Ended+keyLife+1, nil
		c.home.remove(c.job(r.Job.ID))
		var said []string
		for _, e := range c.out {
			s, _ := e.(Save)
			if of, is := s.Change.Record.(*grid.Record); is && of.Removed {
				said = append(said, "removed")
			} else if s.Change.Key != "" && s.Change.Record == nil {
				said = append(said, "dropped")
			}
		}
		if got := strings.Join(said, ", "); got != map[bool]string{true: "removed, dropped", false: "dropped"}[k.shown] {
			t.Errorf("%s: %s", name, got)
		}
	}
}
