package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// tombstone is what is left at this site of a job of b that it ran to its end.
func tombstone() grid.Record {
	j := jobOf(her, "b", "1")
	return grid.Record{
		Job:    j,
		State:  grid.Completed,
		Ended:  30,
		Tenure: grid.Tenure{Role: grid.Tombstone, Closed: true, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 7, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
		Run:    grid.Run{End: grid.Completed, ExitCode: 3, HasExit: true, Started: 10, Finished: 20},
	}
}

// reportIn is the one report among messages.
func reportIn(list []wire.Message) (found wire.Report, ok bool) {
	for _, m := range list {
		if r, is := m.(wire.Report); is {
			found, ok = r, true
		}
	}
	return found, ok
}

// A home that was restored hears of the jobs that ended here since, and can have them
// told with their ends; another home does not hear of them.
func TestATombstoneTellsTheEndAgain(t *testing.T) {
	t.Parallel()
	r := tombstone()
	other := r
	other.Job = jobOf(her, "b", "2")
	other.Closed = false // let go, as superseded: its end was not ours to tell
	c := signed(r, other)
	claims := func(from grid.PeerID) []wire.Claim {
		for _, m := range sentTo(c.Step(1_000_001, Message{from, wire.Recount{Sequence: 4}}), from) {
			if a, ok := m.(wire.Recounted); ok {
				return a.Claims
			}
		}
		t.Fatal("no answer")
		return nil
	}
	if got := claims(her); len(got) != 1 || got[0] != (wire.Claim{Job: r.Job.ID, Epoch: r.Epoch, Ended: true}) {
		t.Errorf("claims %+v", got)
	}
	if got := claims(him); len(got) != 0 {
		t.Errorf("claims %+v to a site that is not its home", got)
	}
	told := sent(c.Step(1_000_002, Message{her, wire.Recall{Job: r.Job.ID}}))
	again, ok := reportIn(told)
	if !ok || again.State != grid.StageOut || again.End != grid.Completed || again.ExitCode != 3 || len(again.Certificates) != 1 || again.Number != 7 {
		t.Errorf("told %+v", told)
	}
	if k, ok := told[0].(wire.Recalled); !ok || !k.Owning || k.Epoch != r.Epoch {
		t.Errorf("told %+v", told)
	}
}

// The latest ends are claimed first: there may be more than one message holds.
func TestTheLatestTombstonesComeFirst(t *testing.T) {
	t.Parallel()
	old, late := tombstone(), tombstone()
	late.Job, late.Ended = jobOf(her, "b", "2"), 40
	c := signed(old, late)
	if got := c.recovery.tombstones(her); len(got) != 2 || got[0].rec.Job.ID != late.Job.ID {
		t.Errorf("%d, the first %v", len(got), got[0].rec.Job.ID)
	}
}

// What ended here before it started is kept too: KILLED must stay true.
func TestTheTombstoneOfWhatNeverStartedStays(t *testing.T) {
	t.Parallel()
	r := tombstone()
	r.End, r.State, r.Started = grid.Killed, grid.Killed, 0
	c := signed(r)
	c.Step(1_000_001, Message{her, wire.Closed{Job: r.Job.ID, Term: 1}})
	if c.jobs[r.Job.ID] == nil {
		t.Error("it is gone")
	}
}

// A restored home does not go on before it has the ends that it lacks: from a backup in
// which the job was its own, was with the one who ran it, or was not there at all.
func TestARestoredHomeLearnsTheEnd(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	one := []grid.Certificate{certificate(j, me, 1, her)}
	at := grid.Epoch{Term: 1, Hop: 1}
	for name, before := range map[string][]grid.Record{
		"its own":       {{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}},
		"with that one": {{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at, Report: 2, Certificates: one}}},
		"with another": {{
			Job:    j,
			State:  grid.Assigned,
			Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 0, Hop: 4}, Report: 2, Certificates: []grid.Certificate{{Epoch: grid.Epoch{Term: 0, Hop: 4}, To: him}}},
		}},
		"not there": nil,
	} {
		c := signed(before...)
		c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		c.Step(1_000_002, Message{him, wire.Recounted{}})
		c.Step(1_000_002, Message{it, wire.Recounted{}})
		claim := wire.Recounted{Claims: []wire.Claim{{Job: j.ID, Epoch: at, Ended: true}}}
		asked := sent(c.Step(1_000_003, Message{her, claim}))
		if len(asked) != 1 || asked[0] != wire.Message(wire.Recall{Job: j.ID}) || c.recovery.rolled == nil {
			t.Errorf("%s: asked %+v, waiting %t", name, asked, c.recovery.rolled != nil)
			continue
		}
		c.Step(1_000_004, Message{her, wire.Recalled{Job: j, Epoch: at, Owning: true, Certificates: one}})
		c.Step(1_000_005, Message{her, wire.Report{
			Job: j.ID, Epoch: at, Number: 7, State: grid.StageOut, Attempt: 1, End: grid.Completed, ExitCode: 3, HasExit: true,
			Started: wire.Ago{Span: 90, Known: true}, Finished: wire.Ago{Span: 80, Known: true}, Certificates: one,
		}})
		if r := c.jobs[j.ID].rec; r.State != grid.Completed || r.ExitCode != 3 || r.Epoch != at {
			t.Errorf("%s: %s, exit code %d, epoch %s: %s", name, r.State, r.ExitCode, r.Epoch, r.Reason)
		}
		c.Step(1_000_006, Message{her, claim})
		if c.recovery.rolled != nil {
			t.Errorf("%s: it has the end, and still waits", name)
		}
	}
}

// A claim of an end that the home knows, has gone beyond, or has no say in asks for nothing.
func TestAnEndThatIsKnown(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	for name, k := range map[string]struct {
		record grid.Record
		job    grid.JobID
	}{
		"ended":                 {grid.Record{Job: j, State: grid.Completed, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at}}, j.ID},
		"ended, and by another": {grid.Record{Job: j, State: grid.Completed, Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 0}}}, j.ID},
		"given up":              {grid.Record{Job: j, State: grid.Lost, Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 0}}}, j.ID},
		"begun again":           {grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 2}}}, j.ID},
		"with another":          {grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: at}}, j.ID},
		"of another home":       {grid.Record{Job: j, State: grid.Completed, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at}}, jobOf(him, "c", "9").ID},
	} {
		c := signed(k.record)
		c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		for _, m := range sent(c.Step(1_000_002, Message{her, wire.Recounted{Claims: []wire.Claim{{Job: k.job, Epoch: at, Ended: true}}}})) {
			t.Errorf("%s: %+v", name, m)
		}
		if c.recovery.rolled.waiting[her] {
			t.Errorf("%s: it waits", name)
		}
	}
}

// A home is put back to where it had given up a site, and was to start the job again; the end that this site reported after all, and that its
// user was told, is in the part that is lost. It is the job's, if it may be by its rules, as long as nothing has started again.
func TestARestoredHomeLearnsTheEndOfAnOlderTerm(t *testing.T) {
	t.Parallel()
	old := grid.Epoch{Term: 1, Hop: 1}
	for _, k := range []struct {
		name       string
		rerunnable bool
		attempt    uint32
		state      grid.State
		asked      bool
		becomes    grid.State
	}{
		{"it waits", false, 0, grid.Ready, true, grid.Failed},
		{"it may run twice", true, 0, grid.Ready, true, grid.Ready},
		{"it has started again", false, 1, grid.Running, false, grid.Running},
	} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = k.rerunnable
		one := []grid.Certificate{certificate(j, me, 1, her)}
		c := signed(grid.Record{
			Job: j, State: k.state, Run: grid.Run{Attempt: k.attempt}, AtHome: grid.AtHome{Trail: []grid.PeerID{her}},
			Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 2}},
		})
		c.Step(1_000_001, Message{him, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		c.Step(1_000_002, Message{him, wire.Recounted{}})
		c.Step(1_000_002, Message{it, wire.Recounted{}})
		waits := func() bool { return c.recovery.rolled != nil && c.recovery.rolled.waiting[her] }
		claim := wire.Recounted{Claims: []wire.Claim{{Job: j.ID, Epoch: old, Ended: true}}}
		asked := sent(c.Step(1_000_003, Message{her, claim}))
		if (len(asked) == 1 && asked[0] == wire.Message(wire.Recall{Job: j.ID})) != k.asked || waits() != k.asked {
			t.Errorf("%s: asked %+v", k.name, asked)
			continue
		}
		if k.asked {
			c.Step(1_000_004, Message{her, wire.Recalled{Job: j, Epoch: old, Owning: true, Certificates: one}})
			c.Step(1_000_005, Message{her, wire.Report{
				Job: j.ID, Epoch: old, Number: 7, State: grid.StageOut, Attempt: 1, End: grid.Failed, Reason: "its program vanished",
				Started: wire.Ago{Span: 90, Known: true}, Finished: wire.Ago{Span: 80, Known: true}, Certificates: one,
			}})
			c.Step(1_000_006, Message{her, claim})
		}
		if r := c.job(j.ID).rec; r.State != k.becomes {
			t.Errorf("%s: %s: %s", k.name, r.State, r.Reason)
		}
		if waits() {
			t.Errorf("%s: it waits for ever", k.name)
		}
	}
}

// A home is put back to where another had the job; in the part that is lost it came back, and the end that a former owner told after all was the job's. That
// one is heard before it turns out that the job has come back: he is asked again.
func TestAnEndOfAJobThatTurnsOutToBeHere(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	old, back := grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{Term: 1, Hop: 3}
	hers := []grid.Certificate{certificate(j, me, 1, her)}
	his := []grid.Certificate{certificate(j, me, 2, him), certificate(j, him, 3, me)}
	c := signed(grid.Record{
		Job: j, State: grid.Assigned, AtHome: grid.AtHome{Trail: []grid.PeerID{her, him}},
		Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 2}, Report: 2, Certificates: his[:1]},
	})
	c.Step(c.now+1, Message{him, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	c.Step(c.now+1, Message{it, wire.Recounted{}})
	claim := Message{her, wire.Recounted{Claims: []wire.Claim{{Job: j.ID, Epoch: old, Ended: true}}}}
	if c.Step(c.now+1, claim); c.recovery.rolled.waiting[her] {
		t.Error("it is waited for, and another may have the job for long")
	}
	c.Step(c.now+1, Message{him, wire.Moved{Job: j.ID, Certificates: his}})
	if r := c.jobs[j.ID].rec; r.Role != grid.Owning || r.Epoch != back {
		t.Fatalf("it is %s at %s", r.Role, r.Epoch)
	}
	c.Step(c.now+1, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
	c.Step(c.now+1, Message{him, wire.Recounted{Claims: []wire.Claim{{Job: j.ID, Epoch: back, Yours: true}}}})
	if c.recovery.rolled == nil || !c.recovery.rolled.waiting[her] {
		t.Fatal("it goes on, and its user was told an end")
	}
	if m := sentTo(c.Step(c.now+1, claim), her); len(m) != 1 || m[0] != wire.Message(wire.Recall{Job: j.ID}) {
		t.Fatalf("it asks %+v", m)
	}
	c.Step(c.now+1, Message{her, wire.Report{
		Job: j.ID, Epoch: old, Number: 7, State: grid.StageOut, Attempt: 1, End: grid.Completed, HasExit: true,
		Started: wire.Ago{Span: 90, Known: true}, Finished: wire.Ago{Span: 80, Known: true}, Certificates: hers,
	}})
	c.Step(c.now+1, claim)
	if r := c.job(j.ID).rec; r.State != grid.Completed || c.recovery.rolled != nil {
		t.Errorf("it is %s: %s; rolled back %t", r.State, r.Reason, c.recovery.rolled != nil)
	}
}
