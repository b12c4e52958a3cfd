package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// hers is the report of b, to which this home has given the job at 1.1, in a part of its journal that is lost.
func hers(j grid.Job, state grid.State) wire.Report {
	m := wire.Report{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: 7, State: state, Certificates: []grid.Certificate{certificate(j, me, 1, her)}}
	if state >= grid.Running {
		m.Started = wire.Ago{Span: 10, Known: true}
	}
	return m
}

// heardOf steps a message of b and tells what b hears.
func heardOf(c *Core, m wire.Message) (acknowledged, superseded bool, effects []Effect) {
	effects = c.Step(c.now+1, Message{her, m})
	for _, m := range sentTo(effects, her) {
		switch m.(type) {
		case wire.ReportAck, wire.MovedAck:
			acknowledged = true
		case wire.Superseded:
			superseded = true
		}
	}
	return
}

// A home has lost that it gave a job away, and has submitted it since. Its own start token decides, before the other
// is acknowledged, and so may start: what has started here goes on at a new term.
func TestTheStartTokenDecidesBeforeAnotherIsAcknowledged(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	for name, k := range map[string]struct {
		word   wire.Message
		starts bool
	}{
		"it waits there, and never started here":        {hers(j, grid.Assigned), false},
		"it waits there, and has started here":          {hers(j, grid.Assigned), true},
		"one that gave it on, and it never started":     {wire.Moved{Job: j.ID, Certificates: []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, 2, him)}, Version: wire.JobDigest(j)}, false},
		"one that gave it on, and it has started":       {wire.Moved{Job: j.ID, Certificates: []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, 2, him)}, Version: wire.JobDigest(j)}, true},
		"it was given back, and the last never started": {wire.Moved{Job: j.ID, Certificates: []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, 2, me)}, Version: wire.JobDigest(j)}, false},
		"it was given back, and the last has started":   {wire.Moved{Job: j.ID, Certificates: []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, 2, me)}, Version: wire.JobDigest(j)}, true},
	} {
		c := signed(waiting(j))
		r := &c.jobs[j.ID].rec
		c.jobs[j.ID].reconciled = false
		id := c.attempt(c.jobs[j.ID])
		if acknowledged, _, _ := heardOf(c, k.word); acknowledged || r.Role != grid.Owning || c.recovery.rolled == nil {
			t.Errorf("%s: believed before the control directory was read", name)
		}
		c.Step(c.now+1, Reconciled{Jobs: []grid.JobID{j.ID}, Attempts: []grid.AttemptID{id}, All: true})
		acknowledged, _, effects := heardOf(c, k.word)
		if w, asks := only[Withdraw](effects); acknowledged || r.Role != grid.Owning || !asks || w.ID != id {
			t.Errorf("%s: its token is not asked first", name)
		}
		c.Step(c.now+1, Withdrawn{ID: id, Done: !k.starts})
		if k.starts {
			c.Step(c.now+1, Progressed{Progress: grid.Progress{ID: id, Phase: grid.Started, Started: c.now}})
		}
		early, superseded, _ := heardOf(c, k.word)
		_, moved := k.word.(wire.Moved)
		if early && !moved {
			t.Errorf("%s: acknowledged, and not all were asked", name)
		}
		for _, p := range []grid.PeerID{her, him, it} {
			c.Step(c.now+1, Message{p, wire.Recounted{}})
		}
		acknowledged, _, _ = heardOf(c, k.word)
		stays := r.Role == grid.Owning && r.State == grid.Running && r.Epoch.Term > 1 && c.attempt(c.jobs[j.ID]) == id
		if stays != k.starts || acknowledged != (moved || !k.starts) || superseded != (k.starts && !moved) {
			t.Errorf("%s: %s of %s at %s, acknowledged %t, superseded %t", name, r.Role, r.Owner, r.Epoch, acknowledged, superseded)
		}
	}
}

// What has started with the other, as far as he tells, is the run of the job: nothing can be saved. What waits here is taken first, as its user may be told
// of an end at once.
func TestWhatHasStartedWithTheOtherIsTheRun(t *testing.T) {
	t.Parallel()
	for _, starts := range []bool{false, true} {
		j := jobOf(me, "a", "1")
		c := signed(waiting(j))
		id := c.attempt(c.jobs[j.ID])
		acknowledged, _, effects := heardOf(c, hers(j, grid.Running))
		if w, asks := only[Withdraw](effects); acknowledged || !asks || w.ID != id {
			t.Errorf("starts %t: its token is not asked first", starts)
		}
		c.Step(c.now+1, Withdrawn{ID: id, Done: !starts})
		if starts {
			c.Step(c.now+1, Progressed{Progress: grid.Progress{ID: id, Phase: grid.Started, Started: c.now}})
		}
		if acknowledged, _, _ := heardOf(c, hers(j, grid.Running)); !acknowledged || c.jobs[j.ID].rec.Owner != her {
			t.Errorf("starts %t: %s of %s", starts, c.jobs[j.ID].rec.Role, c.jobs[j.ID].rec.Owner)
		}
	}
}

// A run that goes on at a new term is asked after, ended and told by the epoch at which it began, also after a restart;
// the job starts again, should it be lost, at the new one.
func TestARunThatGoesOnAtANewTerm(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Rerunnable = true
	was := waiting(j)
	was.State, was.Started = grid.Running, 900_000
	c := signed(was)
	id := c.attempt(c.jobs[j.ID])
	if _, superseded, _ := heardOf(c, hers(j, grid.Ready)); !superseded {
		t.Fatal("the other is not superseded")
	}
	again := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{c.jobs[j.ID].rec})
	if p, probes := only[Probe](again.Step(1_000_100, Boot{})); !probes || p.ID != id {
		t.Errorf("asks after %s", p.ID)
	}
	again.Step(1_000_101, Reconciled{Jobs: []grid.JobID{j.ID}, Attempts: []grid.AttemptID{id}, All: true})
	if r := again.jobs[j.ID].rec; r.State != grid.Running {
		t.Errorf("its own attempt is taken for one of a lost part: %s", r.State)
	}
	if _, superseded, _ := heardOf(again, hers(j, grid.Ready)); !superseded {
		t.Error("the other is not superseded again")
	}
	lost := grid.Progress{ID: id, Phase: grid.Ended, Cause: grid.Disappeared, Started: 900_000}
	k := again.jobs[j.ID]
	k.recovered = false // all have said what they know
	if l, starts := only[Launch](again.Step(again.now+1, Progressed{Progress: lost})); !starts || l.Submission.ID.Epoch != k.rec.Epoch {
		t.Errorf("the next attempt is %s at %s", l.Submission.ID, k.rec.Epoch)
	}
}

// A wish to cancel is not fulfilled by taking the token, while another may have the job.
func TestACancelWaitsForWhoMayHaveTheJob(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	was := waiting(j)
	was.CancelRequested = true
	c := signed(was)
	id := c.attempt(c.jobs[j.ID])
	heardOf(c, hers(j, grid.Assigned))
	c.Step(c.now+1, Withdrawn{ID: id, Done: true})
	if r := c.jobs[j.ID].rec; r.State.Terminal() {
		t.Errorf("told %s, and b may run it", r.State)
	}
	heardOf(c, hers(j, grid.Assigned))
	if r := c.jobs[j.ID].rec; r.Owner != her || !r.CancelRequested {
		t.Errorf("%s of %s, cancelled %t", r.Role, r.Owner, r.CancelRequested)
	}
}

// A home has lost that it gave a job away, and has run it to its end. Who has it is told to let it go: no word of such a
// home lets it start.
func TestWhoClaimsAJobThatHasEndedStartsNothing(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	for state, k := range map[grid.State]struct{ told, killed bool }{grid.Completed: {true, true}, grid.Killed: {true, true}, grid.Lost: {true, false}} {
		for _, claims := range []grid.State{grid.Ready, grid.Assigned, grid.Running} {
			was := waiting(j)
			was.State, was.End, was.Ended = state, state, 900_000
			c := signed(was)
			_, superseded, effects := heardOf(c, hers(j, claims))
			for _, m := range sentTo(effects, her) {
				if s, is := m.(wire.Superseded); is && (s.Epoch != s.Of) != k.killed {
					t.Errorf("%s, %s there: what runs is ended %t", state, claims, s.Epoch != s.Of)
				}
			}
			if superseded != k.told {
				t.Errorf("%s, %s there: superseded %t", state, claims, superseded)
			}
		}
	}
	theirs := jobOf(her, "b", "1")
	c := signed(grid.Record{Job: theirs, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 3}})
	c.Step(c.now+1, Message{her, wire.ReportAck{Job: theirs.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: 9, Closed: true}})
	if k := c.jobs[theirs.ID]; c.gates.beforeStart(k) != untilHome {
		t.Errorf("its home says that it has ended, and it %s", c.gates.beforeStart(k))
	}
}

// An owner elsewhere has lost that it gave the job away, and has run it, as the home knows. Who has it is not acknowledged,
// and superseded.
func TestARunElsewhereIsKept(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		known, his grid.State
		rerunnable bool
		kept       bool
	}{
		"it runs with b":                     {known: grid.Running, his: grid.Assigned, kept: true},
		"it has ended with b":                {known: grid.StageOut, his: grid.Assigned, kept: true},
		"it waits with b":                    {known: grid.Assigned, his: grid.Assigned},
		"it runs with b, and with c":         {known: grid.Running, his: grid.Running},
		"it runs with b, and may do so anew": {known: grid.Running, his: grid.Assigned, rerunnable: true},
	} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = k.rerunnable
		was := grid.Record{
			Job: j, State: k.known, AtHome: grid.AtHome{Trail: []grid.PeerID{her}},
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 4, Certificates: []grid.Certificate{certificate(j, me, 1, her)}},
		}
		if k.known >= grid.Running {
			was.Started = 900_000
		}
		if k.known == grid.StageOut {
			was.End, was.Outputs = grid.Completed, grid.Manifest{{Path: "out", Size: 1}}
		}
		c := signed(was)
		r := &c.jobs[j.ID].rec
		m := hers(j, k.his)
		m.Epoch.Hop, m.Certificates = 2, append(m.Certificates, certificate(j, her, 2, him))
		var acknowledged, superseded bool
		for range 2 {
			for _, m := range sentTo(c.Step(c.now+1, Message{him, m}), him) {
				_, is := m.(wire.ReportAck)
				acknowledged = acknowledged || is
				_, is = m.(wire.Superseded)
				superseded = superseded || is
			}
		}
		if acknowledged == k.kept || superseded != k.kept || (r.Owner == her) != k.kept {
			t.Errorf("%s: of %s at %s, c is acknowledged %t, superseded %t", name, r.Owner, r.Epoch, acknowledged, superseded)
		}
		mine := hers(j, grid.Running)
		mine.Number = 9
		if acknowledged, superseded, _ := heardOf(c, mine); k.kept && (superseded || !acknowledged) {
			t.Errorf("%s: b is acknowledged %t, superseded %t", name, acknowledged, superseded)
		}
	}
}

// A home has lost that the job came back to it. The attempt of its record is the owner's, and no token of this home's.
func TestAJobThatCameBackIsTaken(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	was := grid.Record{
		Job: j, State: grid.Assigned, AtHome: grid.AtHome{Trail: []grid.PeerID{her}}, Run: grid.Run{Attempt: 1},
		Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 4, Certificates: []grid.Certificate{certificate(j, me, 1, her)}},
	}
	c := signed(was)
	back := wire.Moved{Job: j.ID, Certificates: []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, 2, me)}, Version: wire.JobDigest(j)}
	if acknowledged, _, _ := heardOf(c, back); !acknowledged || c.jobs[j.ID].rec.Role != grid.Owning {
		t.Errorf("acknowledged %t, %s of %s", acknowledged, c.jobs[j.ID].rec.Role, c.jobs[j.ID].rec.Owner)
	}
}
