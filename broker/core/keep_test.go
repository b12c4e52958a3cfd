package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// result is one that ended here for another home, n MB large, at an instant.
func result(n string, size int64, finished grid.Tick) grid.Record {
	return grid.Record{
		Job:    jobOf(her, "b", n),
		State:  grid.StageOut,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 3},
		Run:    grid.Run{End: grid.Completed, Started: 5, Finished: finished, Outputs: grid.Manifest{{Path: "out", Size: size}}},
	}
}

// Results whose home is gone are kept within the quota, the newest first; those of a
// home that lives are on their way and are not counted.
func TestStrandedResultsAreKeptWithinTheQuota(t *testing.T) {
	t.Parallel()
	for _, home := range []grid.Liveness{grid.Dead, grid.Alive} {
		records := []grid.Record{result("1", 600, 999_000), result("2", 600, 999_900)}
		c := New(Config{Self: me, KeepBytes: 1000}, []grid.Member{{Name: "b", Peer: her}}, records)
		c.Step(1_000_000, Boot{})
		c.Step(1_000_001, PeerChanged{her, home})
		c.Step(1_000_000+2*grid.Minute, Tick{})
		if older, newer := c.jobs[records[0].Job.ID] != nil, c.jobs[records[1].Job.ID] != nil; !newer || older != (home == grid.Alive) {
			t.Errorf("its home is %s: the older is kept %t, the newer %t", home, older, newer)
		}
	}
}

// A result that was kept beside the job's own stays, with its files, as long as any.
func TestWhatIsKeptBesideStays(t *testing.T) {
	t.Parallel()
	r := result("1", 600, 999_000)
	r.Role, r.State, r.Kept, r.Ended = grid.Tombstone, grid.Completed, true, 999_500
	c := New(Config{Self: me, Keep: grid.Day}, nil, []grid.Record{r})
	for _, e := range append(c.Step(1_000_000, Boot{}), c.Step(1_000_001, Folders{[]grid.JobID{r.Job.ID}})...) {
		if _, gone := e.(Discard); gone {
			t.Error("its files are dropped")
		}
	}
	for now := grid.Tick(1_000_000); now < 1_000_000+2*grid.Day; {
		now, _ = c.Next()
		c.Step(now, Tick{})
	}
	if c.jobs[r.Job.ID] != nil {
		t.Error("kept for ever")
	}
}

// A wall clock that was set a year ahead while the broker was down deletes nothing
// at once.
func TestAJumpOverADowntimeExpiresNothing(t *testing.T) {
	t.Parallel()
	r := grid.Record{
		Job:       jobOf(me, "a", "1"),
		State:     grid.Completed,
		Submitted: 1000,
		Ended:     999_000,
		Tenure:    grid.Tenure{Role: grid.Owning},
		Run:       grid.Run{End: grid.Completed, Outputs: grid.Manifest{{Path: "out", Size: 1}}},
	}
	start := 1_000_000 + 365*grid.Day
	c := New(Config{Self: me}, nil, []grid.Record{r})
	c.Step(start, Boot{})
	for now := start; now < start+12*grid.Hour; {
		now, _ = c.Next()
		c.Step(now, Tick{})
	}
	if k := c.jobs[r.Job.ID]; k == nil || k.rec.Removed {
		t.Fatal("deleted within hours of a start")
	}
	for now := start; now < start+2*grid.Day; {
		now, _ = c.Next()
		c.Step(now, Tick{})
	}
	if k := c.jobs[r.Job.ID]; k != nil && !k.rec.Removed {
		t.Error("never deleted")
	}
}

// Cancel follows the job through the hands it went through, and stays on disk where
// it was heard.
func TestCancelFollowsTheJob(t *testing.T) {
	t.Parallel()
	home, j := her, jobOf(her, "b", "1")
	first, second := grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{Term: 1, Hop: 2}
	cancel := wire.Cancel{Job: j.ID, Epoch: first}

	c := bare(grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Tombstone, Owner: him, Epoch: second}}) // handed on
	got := sent(c.Step(1_000_001, Message{home, cancel}))
	if len(got) != 1 || got[0] != wire.Message(cancel) || !c.jobs[j.ID].rec.CancelRequested {
		t.Errorf("forwarded %v, noted %t", got, c.jobs[j.ID].rec.CancelRequested)
	}

	certificates := []grid.Certificate{{Epoch: first, To: him}, {Epoch: second, To: me}}
	for from, heard := range map[grid.PeerID]bool{him: true, home: true} {
		c = bare(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: second, Certificates: certificates}, Run: grid.Run{Local: "l", Attempt: 1}})
		for _, m := range c.members {
			m.heard, m.told = true, true
		}
		if _, ok := only[Withdraw](c.Step(1_000_001, Message{from, cancel})); ok != heard {
			t.Errorf("from %s: withdrawn %t", from, ok)
		}
	}
	c = bare(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: second}, Run: grid.Run{Local: "l", Attempt: 1}})
	if _, ok := only[Withdraw](c.Step(1_000_001, Message{him, cancel})); ok {
		t.Error("a stranger cancels it")
	}

	c = bare(grid.Record{
		Job:    j,
		State:  grid.Moving,
		Tenure: grid.Tenure{Role: grid.Tombstone, Owner: him, Epoch: second, Handoff: grid.Handoff{Phase: grid.Committed, To: him, Epoch: second}},
	})
	c.Step(1_000_001, Message{home, cancel})
	at, _ := c.Next()
	carried := false
	for n := 0; n < 20 && !carried; n++ {
		for _, m := range sent(c.Step(at, Tick{})) {
			if k, ok := m.(wire.Commit); ok && k.Cancel {
				carried = true
			}
		}
		at, _ = c.Next()
	}
	if !carried {
		t.Error("the open Commit does not carry it")
	}
}

// What is kept here takes space, and nothing else: the files of a job went with its end unless this is its home, or they are kept beside.
func TestWhatTakesSpaceOfResults(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		home   grid.PeerID
		change func(*grid.Record)
		size   int64
		goes   bool
	}{
		"it runs":                     {me, func(r *grid.Record) { r.State = grid.Running }, 0, false},
		"it has ended at home":        {me, func(*grid.Record) {}, 600, false},
		"that was long ago":           {me, func(r *grid.Record) { r.Ended = 1 }, 600, true},
		"it has ended elsewhere":      {her, func(r *grid.Record) { r.Role, r.Owner = grid.Tombstone, me }, 0, false},
		"what it left is kept beside": {her, func(r *grid.Record) { r.Role, r.Owner, r.Kept = grid.Tombstone, me, true }, 600, false},
		"its home has to be told":     {her, func(r *grid.Record) { r.Role, r.Owner, r.Telling = grid.Tombstone, him, true }, 0, false},
		"its home does not answer":    {her, func(r *grid.Record) { r.Role, r.Owner, r.Telling, r.Ended = grid.Tombstone, him, true, 1 }, 0, true},
	} {
		o := &others{}
		site := map[grid.PeerID]grid.SiteName{me: "a", her: "b"}[k.home]
		r := grid.Record{Job: jobOf(k.home, site, "1"), State: grid.Completed, Submitted: 999_000, Ended: 999_500,
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her}, Run: grid.Run{End: grid.Completed, Outputs: grid.Manifest{{Path: "out", Size: 600}}}}
		k.change(&r)
		kern := kernelOf(o, r)
		kern.cfg.Keep = 10 * grid.Minute // now is 1000 s
		m := &home{kernel: kern, budgets: o, estimator: o, execution: o, gates: o, ownership: o, recovery: o, search: o, terms: o}
		if size, drop := m.retained(r.Job.ID, 0); size != k.size || drop != k.goes {
			t.Errorf("%s: %d bytes, it is to go: %t", name, size, drop)
		}
	}
}
