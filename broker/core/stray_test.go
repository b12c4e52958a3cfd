package core

import (
	"errors"
	"slices"
	"testing"

	"gbroker/grid"
)

// What the batch system holds and no record has is removed: at once where a record
// says that it must not run, after a second look where nothing is known of it, or its job has ended.
func TestStraysAreRemoved(t *testing.T) {
	t.Parallel()
	at := func(n string, attempt uint32) grid.AttemptID {
		return grid.AttemptID{Job: jobOf(me, "a", n).ID, Epoch: grid.Epoch{Term: 1}, Attempt: attempt}
	}
	record := func(n string, s grid.Role, state grid.State) grid.Record {
		return grid.Record{Job: jobOf(me, "a", n), State: state, Tenure: grid.Tenure{Role: s, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: 2, Local: "l"}}
	}
	c := bare(record("1", grid.Owning, grid.Running), record("2", grid.Watching, grid.Running), record("3", grid.Owning, grid.Completed))
	look := func(ids ...grid.AttemptID) (withdrawn []grid.AttemptID) {
		for _, e := range c.Step(c.now+1, Attempts{ids}) {
			if w, ok := e.(Withdraw); ok {
				withdrawn = append(withdrawn, w.ID)
			}
		}
		return withdrawn
	}
	all := []grid.AttemptID{at("1", 2), at("1", 1), at("2", 2), at("3", 2), at("9", 1)}
	if got := look(all...); !slices.Equal(got, []grid.AttemptID{at("1", 1), at("2", 2)}) {
		t.Errorf("at the first look: %v", got)
	}
	if got := look(all...); !slices.Contains(got, at("9", 1)) || !slices.Contains(got, at("3", 2)) || slices.Contains(got, at("1", 2)) {
		t.Errorf("at the second look: %v", got)
	}
	kills := func(e Withdrawn) bool { return slices.Contains(c.Step(c.now+1, e), Effect(Kill{e.ID})) }
	if !kills(Withdrawn{ID: at("9", 1)}) {
		t.Error("a stray that has started is not ended")
	}
	if kills(Withdrawn{ID: at("9", 1), Done: true}) || kills(Withdrawn{ID: at("9", 1), Err: errors.New("no answer")}) || kills(Withdrawn{ID: at("8", 1)}) {
		t.Error("ended without its token's word, or with no reason")
	}
	look(at("7", 1))
	look()
	if got := look(at("7", 1)); len(got) > 0 {
		t.Errorf("seen, gone and seen again: %v is withdrawn at its first look", got)
	}
}

// The end of a job stands when the attempt of it that the batch system still has is removed, whatever else the
// job was in the middle of.
func TestAStrayOfAnEndedJobLeavesItsEnd(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{true, false} {
		j := jobOf(her, "b", "1")
		c := signed(grid.Record{
			Job: j, State: grid.StageOut, CancelRequested: true, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}},
			Run: grid.Run{Attempt: 1, Local: "l", End: grid.Killed},
		})
		before := c.jobs[j.ID].rec
		at := grid.AttemptID{Job: j.ID, Epoch: before.Epoch, Attempt: 1}
		for range strayLooks {
			c.Step(c.now+1, Attempts{[]grid.AttemptID{at}})
		}
		k, kills := only[Kill](c.Step(c.now+1, Withdrawn{ID: at, Done: done}))
		if kills == done || kills && k.ID != at {
			t.Errorf("withdrawn %t: ended %t", done, kills)
		}
		if got := c.jobs[j.ID].rec; got.State != grid.StageOut || got.End != grid.Killed || got.Local != before.Local {
			t.Errorf("withdrawn %t: it is %s, its end %s, %q", done, got.State, got.End, got.Local)
		}
	}
}

// The folder of a job that the journal does not know is put aside, not deleted, and not while the
// batch system has an attempt of it; its attempt is ended also where its token cannot be read.
func TestAnUnknownFolderIsPutAside(t *testing.T) {
	t.Parallel()
	c := signed()
	own, foreign := jobOf(me, "a", "1").ID, jobOf(her, "b", "2").ID
	at := grid.AttemptID{Job: own, Epoch: grid.Epoch{Term: 1}, Attempt: 1}
	look := func(now grid.Tick, attempts ...grid.AttemptID) (aside []SetAside) {
		effects := append(c.Step(now, Attempts{attempts}), c.Step(now, Folders{[]grid.JobID{own, foreign}})...)
		for _, e := range effects {
			switch e := e.(type) {
			case SetAside:
				aside = append(aside, e)
			case Discard:
				t.Errorf("dropped: %+v", e)
			}
		}
		return aside
	}
	if got := look(1_000_001, at); len(got) > 0 {
		t.Errorf("at the first look: %v", got)
	}
	if got := look(1_600_001, at); !slices.Equal(got, []SetAside{{foreign, true}}) {
		t.Errorf("while its attempt is there: %v", got)
	}
	if k, kills := only[Kill](c.Step(1_600_002, Withdrawn{ID: at, Err: errors.New("torn"), Damaged: true})); !kills || k.ID != at {
		t.Error("an attempt whose token cannot be read is left")
	}
	if got := look(2_200_001); !slices.Equal(got, []SetAside{{own, false}, {foreign, true}}) {
		t.Errorf("when it is gone: %v", got)
	}
}

// A site that keeps an older result of a job puts it aside before the job comes again: its program
// must find a folder of its own.
func TestAKeptResultGivesWay(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed(grid.Record{Job: j, State: grid.Completed, Ended: 1, Tenure: grid.Tenure{Role: grid.Tombstone, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Kept: true}, Run: grid.Run{End: grid.Completed}})
	o := offerOf(j, 5, 0)
	o.Certificates = []grid.Certificate{certificate(j, her, 5, me)}
	effects := append(c.Step(1_000_001, Message{her, o}), c.Step(1_000_002, shot(1_000_002))...)
	s, aside := only[SetAside](effects)
	if got := c.jobs[j.ID].rec; !aside || s.Job != j.ID || got.Kept {
		t.Errorf("put aside %t, kept %t, it is %s", aside, got.Kept, got.Role)
	}
}
