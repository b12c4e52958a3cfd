package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A home learns a job from its owner's tombstone, and crashes before it has heard the end.
// The owner reports nothing any more: it is asked, each time after a while, as long as it lives.
func TestASilentOwnerIsAsked(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	for _, c := range []struct {
		name  string
		does  func(k *Core)
		state grid.State
		asked int
	}{
		{"it lives and says nothing", func(*Core) {}, grid.Running, 3},
		{"it reports", func(k *Core) { k.jobs[j.ID].heard = k.now }, grid.Running, 0},
		{"it is dead", func(k *Core) { k.Step(k.now, PeerChanged{her, grid.Dead}) }, grid.Running, 0},
		{"the job has ended", func(*Core) {}, grid.Completed, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := bare(grid.Record{Job: j, State: c.state, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}})
			k.Step(1_000_001, PeerChanged{her, grid.Alive})
			asked, begin := 0, k.now
			for k.now < begin+3*silence*k.cfg.Digest+2*k.cfg.Refresh {
				c.does(k)
				for _, m := range sentTo(k.Step(k.now+grid.Second, Tick{}), her) {
					if r, is := m.(wire.Recall); is && r.Job == j.ID {
						asked++
					}
				}
			}
			if asked != c.asked {
				t.Errorf("asked %d times, want %d", asked, c.asked)
			}
		})
	}
}

// Who should own a job, and says that it does not, is named as its reason, so that an
// administrator can decide. From anybody else, or unasked, the word counts for nothing.
func TestAnOwnerThatDoesNotKnowTheJobIsNamed(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	k := bare(grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}})
	no := wire.Error{Of: wire.KindRecall, Job: j.ID, Why: "no job of that home here"}
	k.Step(1_000_001, Message{her, no})
	k.jobs[j.ID].asked = 1_000_002
	k.jobs[j.ID].heard = 1_000_000
	k.Step(1_000_003, Message{him, no})
	k.Step(1_000_003, Message{her, wire.Error{Of: wire.KindReport, Job: j.ID}})
	if why := k.jobs[j.ID].rec.Reason; why != "" {
		t.Fatalf("it is said to be %q", why)
	}
	saves, saved := only[Save](k.Step(1_000_004, Message{her, no}))
	if !saved || saves.Change.Record.(*grid.Record).Reason != "b, which should have it, does not know it" {
		t.Errorf("its reason is %q", k.jobs[j.ID].rec.Reason)
	}
	if _, again := only[Save](k.Step(1_000_005, Message{her, no})); again {
		t.Error("it is saved each time")
	}
}

// One that is asked for a job that it has handed on says to whom; to its home alone.
func TestAFormerOwnerSaysWhoHasIt(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	certificates := []grid.Certificate{certificate(j, her, 1, me), certificate(j, me, 2, him)}
	c := signed(grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Tombstone, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 2}, Certificates: certificates}})
	told := func(by grid.PeerID) (moved bool) {
		for _, m := range sentTo(c.Step(c.now+1, Message{by, wire.Recall{Job: j.ID}}), by) {
			k, is := m.(wire.Moved)
			moved = moved || is && len(k.Certificates) == 2
		}
		return moved
	}
	if !told(her) {
		t.Error("its home is not told who has the job")
	}
	if told(him) {
		t.Error("one that is not its home is told")
	}
}

// The journal of an owner is put back to where its job ran. The job has ended there, its home
// has its output, and the control directory is gone: only the home can say so.
func TestTheHomeTellsAnOwnerItsEnd(t *testing.T) {
	t.Parallel()
	epoch := grid.Epoch{Term: 1, Hop: 1}
	j := jobOf(me, "a", "1")
	for _, c := range []struct {
		name     string
		state    grid.State
		finished grid.Tick
		report   grid.State
		told     bool
	}{
		{"it had reported its end", grid.Completed, 900_000, grid.Running, true},
		{"and its journal says that it waits", grid.Completed, 900_000, grid.Assigned, true},
		{"it was ended by forget", grid.Killed, 0, grid.Running, false},
		{"it is LOST, and may gain a result", grid.Lost, 900_000, grid.Running, false},
	} {
		k := bare(grid.Record{Job: j, State: c.state, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch, Report: 5}, Run: grid.Run{End: c.state, ExitCode: 3, HasExit: true, Finished: c.finished}})
		told := false
		for _, m := range sentTo(k.Step(1_000_001, Message{her, wire.Report{Job: j.ID, Epoch: epoch, Number: 7, State: c.report, Attempt: 1}}), her) {
			a, is := m.(wire.ReportAck)
			told = told || is && a.Closed && a.End == c.state && a.ExitCode == 3 && a.HasExit
		}
		if told != c.told {
			t.Errorf("%s: the end is told: %v", c.name, told)
		}
	}
}

// The owner takes it as its own: what may be left of the program goes, and the job is no more.
// Without an end, Closed lets go of no job that still runs.
func TestAnOwnerThatWasSetBackTakesItsEnd(t *testing.T) {
	t.Parallel()
	epoch := grid.Epoch{Term: 1, Hop: 1}
	j := jobOf(her, "b", "1")
	for _, state := range []grid.State{grid.Running, grid.Assigned} {
		for _, end := range []grid.State{grid.Completed, 0} {
			c := signed(grid.Record{Job: j, State: state, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: epoch, Report: 3, Certificates: []grid.Certificate{certificate(j, her, 1, me)}}, Run: grid.Run{Attempt: 1}})
			effects := c.Step(1_000_001, Message{her, wire.ReportAck{Job: j.ID, Epoch: epoch, Number: 3, Closed: true, End: end, ExitCode: 3, HasExit: true}})
			kill, killed := only[Kill](effects)
			_, discarded := only[Discard](effects)
			r := c.jobs[j.ID].rec
			if gone := r.Role == grid.Tombstone && r.Closed && r.State == grid.Completed && r.ExitCode == 3 && r.HasExit; gone != (end != 0) || killed != gone || discarded != gone || killed && kill.ID.Attempt != 1 {
				t.Errorf("%s, told %s: %s %s closed %v, killed %v, discarded %v", state, end, r.Role, r.State, r.Closed, killed, discarded)
			}
		}
	}
}

// An owner whose journal was set back counts its reports anew. The end that it tells counts all
// the same, and what it said before, and comes late, does not.
func TestAnEndCountsWhateverItsNumber(t *testing.T) {
	t.Parallel()
	epoch := grid.Epoch{Term: 1, Hop: 1}
	j := jobOf(me, "a", "1")
	c := bare(grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch, Report: 5}, Run: grid.Run{Started: 900_000}})
	c.Step(1_000_001, PeerChanged{her, grid.Alive})
	c.Step(1_000_002, Message{her, wire.Report{Job: j.ID, Epoch: epoch, Number: 4, State: grid.Assigned}})
	if r := c.jobs[j.ID].rec; r.State != grid.Running {
		t.Errorf("an older report counts: %s", r.State)
	}
	end := wire.Report{
		Job: j.ID, Epoch: epoch, Number: 4, State: grid.StageOut, End: grid.Completed, Started: wire.Ago{Span: 100, Known: true}, Finished: wire.Ago{Span: 1, Known: true},
		Outputs: grid.Manifest{{Path: "stdout", Size: 1, Mode: 0o644, Ranges: make([]grid.Hash, 1)}},
	}
	if _, fetches := only[Fetch](c.Step(1_000_003, Message{her, end})); !fetches || c.jobs[j.ID].rec.State != grid.StageOut {
		t.Errorf("its end does not count: %s", c.jobs[j.ID].rec.State)
	}
	c.Step(1_000_004, Message{her, wire.Report{Job: j.ID, Epoch: epoch, Number: 5, State: grid.Running}})
	if r := c.jobs[j.ID].rec; r.State != grid.StageOut {
		t.Errorf("a late report takes the end back: %s", r.State)
	}
}

// A job that was declined is offered again: of its tombstone, which has lost the program and the
// inputs, nothing goes into the record, and what is READY is the job that was offered.
func TestAJobThatWasDeclinedComesWhole(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := bare(grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Prepared, Owner: her, Handoff: grid.Handoff{To: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}}})
	c.ownership.decline(c.jobs[j.ID], "no word from its owner for too long")
	c.jobs[j.ID].digest = grid.Hash{} // as after a restart
	offer := offerOf(j, 2, 0)
	ready := false
	for _, e := range append(c.Step(1_000_001, Message{her, offer}), c.Step(1_000_002, shot(1_000_002))...) {
		if s, ok := e.(Send); ok {
			m, is := s.Message.(wire.Ready)
			ready = ready || is && m.Handoff == offer.Handoff
		}
	}
	r := c.jobs[j.ID].rec
	if r.Role != grid.Prepared || wire.JobDigest(r.Job) != wire.JobDigest(j) || !ready {
		t.Errorf("it is %s, ready for the job that was offered: %v; its program is %+v", r.Role, ready, r.Job.Program)
	}
}
