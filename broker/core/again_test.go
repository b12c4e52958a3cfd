package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// The Offer of a job that has ended comes once more, after its tombstone went: the
// candidate prepares it anew and asks its home, which must not say that it owns it.
func TestAnEndedJobIsNotCommittedAgain(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1, Hop: 1}
	handoff := wire.HandoffID{Job: j.ID, Epoch: epoch, To: her, Digest: wire.JobDigest(j)}
	for _, m := range []wire.Message{wire.Inquire{Handoff: handoff}, wire.Ready{Handoff: handoff}} {
		c := bare(grid.Record{Job: j, State: grid.Killed, Ended: 10, CancelRequested: true, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch}, Run: grid.Run{End: grid.Killed}})
		aborted := false
		for _, e := range c.Step(1_000_001, Message{her, m}) {
			s, ok := e.(Send)
			if !ok {
				continue
			}
			switch m := s.Message.(type) {
			case wire.Commit:
				t.Errorf("a job that was KILLED is committed: %+v", m)
			case wire.InquireReply:
				aborted = m.Verdict == wire.VerdictAborted
			case wire.Abort:
				aborted = true
			}
		}
		if !aborted {
			t.Errorf("%T is not answered by an end of the offer", m)
		}
	}
}

// The candidate was READY, owned the job and lost its journal, and takes a late copy of
// the Offer for new (gsim faults, seed 5023): from another journal it is not told to own it.
func TestACommitIsForTheJournalThatWasReady(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1, Hop: 1}
	handoff := wire.HandoffID{Job: j.ID, Epoch: epoch, To: her, Digest: wire.JobDigest(j)}
	ready, other := grid.JournalID{Incarnation: 3, Sequence: 9}, grid.JournalID{Incarnation: 4, Sequence: 90}
	for _, said := range []grid.JournalID{ready, other} {
		for _, m := range []wire.Message{wire.Inquire{Handoff: handoff, Journal: said}, wire.Ready{Handoff: handoff, Journal: said}} {
			c := bare(grid.Record{
				Job:    j,
				State:  grid.Moving,
				Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch, Candidate: ready, Handoff: grid.Handoff{Phase: grid.Committed, To: her, Epoch: epoch}},
			})
			committed := false
			for _, e := range c.Step(1_000_001, Message{her, m}) {
				if s, ok := e.(Send); ok {
					_, commit := s.Message.(wire.Commit)
					role, _ := s.Message.(wire.InquireReply)
					committed = committed || commit || role.Verdict == wire.VerdictCommitted
				}
			}
			if committed != (said == ready) {
				t.Errorf("%T from journal %+v: told to own it: %v", m, said, committed)
			}
			if lost := c.jobs[j.ID].rec.Handoff.Phase == grid.NoHandoff; lost != (said == other) {
				t.Errorf("%T from journal %+v: its owner counts as lost: %v", m, said, lost)
			}
		}
	}
}

// The candidate has said Owned, then lost its journal, and takes a late copy of the
// Offer for new: it is not told a second time that it owns the job.
func TestACommitIsNotSaidAgainAfterOwned(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1, Hop: 1}
	handoff := wire.HandoffID{Job: j.ID, Epoch: epoch, To: her, Digest: wire.JobDigest(j)}
	for _, phase := range []grid.HandoffPhase{grid.NoHandoff, grid.Committed} {
		for _, m := range []wire.Message{wire.Inquire{Handoff: handoff}, wire.Ready{Handoff: handoff}} {
			c := bare(grid.Record{
				Job:    j,
				State:  grid.Running,
				Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch, Handoff: grid.Handoff{Phase: phase, To: her, Epoch: epoch}},
				Run:    grid.Run{Started: 5},
			})
			committed := false
			for _, e := range c.Step(1_000_001, Message{her, m}) {
				if s, ok := e.(Send); ok {
					_, commit := s.Message.(wire.Commit)
					role, _ := s.Message.(wire.InquireReply)
					committed = committed || commit || role.Verdict == wire.VerdictCommitted
				}
			}
			if committed != (phase == grid.Committed) {
				t.Errorf("handoff phase %d, %T: told to own it: %v", phase, m, committed)
			}
		}
	}
}

// An older Offer comes after a newer one was prepared, and the same one after it was
// declined: neither makes the candidate PREPARED again.
func TestALateOfferChangesNothing(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	for _, role := range []grid.Role{grid.Prepared, grid.Declined} {
		late := offerOf(j, 1, 0)
		if role == grid.Declined {
			late = offerOf(j, 2, 0)
		}
		c := bare(grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: role, Owner: her, Handoff: grid.Handoff{To: me, Epoch: grid.Epoch{Term: 1, Hop: 2}}}})
		c.Step(1_000_001, Message{her, late})
		c.Step(1_000_002, shot(1_000_002))
		if r := c.jobs[j.ID].rec; r.Role != role || r.Handoff.Epoch.Hop != 2 {
			t.Errorf("it was %s at hop 2, and is %s at %s", role, r.Role, r.Handoff.Epoch)
		}
	}
}

// An owner offers a job back to its home, which prepares it; then it starts and ends
// there after all, and the Abort is lost: the end is the end of the offer too.
func TestTheEndEndsAnOfferToTheHome(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1, Hop: 1}
	c := bare(grid.Record{
		Job:    j,
		State:  grid.Moving,
		Tenure: grid.Tenure{Role: grid.Prepared, Owner: her, Epoch: epoch, Report: 1, Handoff: grid.Handoff{To: me, Epoch: grid.Epoch{Term: 1, Hop: 2}}},
	})
	c.Step(1_000_001, Message{her, wire.Report{Job: j.ID, Epoch: epoch, Number: 2, State: grid.StageOut, End: grid.Completed}})
	if r := c.jobs[j.ID].rec; r.Role != grid.Watching || r.State != grid.Completed {
		t.Errorf("after the end it is %s %s", r.Role, r.State)
	}
}

// A job that is offered back to its home ends while the home looks at its batch system:
// it is not prepared any more.
func TestAnOfferToTheHomeDiesWithTheJob(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1, Hop: 1}
	certificates := []grid.Certificate{{Epoch: epoch, To: her, Signature: []byte("x")}}
	c := bare(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch, Certificates: certificates, Report: 1}})
	c.cfg.Verify = func(grid.PeerID, []byte, []byte) bool { return true }
	o := offerOf(j, 2, 0)
	o.Certificates = certificates
	c.Step(1_000_001, Message{her, o})
	c.Step(1_000_003, Message{her, wire.Report{Job: j.ID, Epoch: epoch, Number: 2, State: grid.StageOut, End: grid.Completed, Certificates: certificates}})
	c.Step(1_000_004, shot(1_000_004))
	if r := c.jobs[j.ID].rec; r.Role != grid.Watching || r.State != grid.Completed {
		t.Errorf("after its end it is %s %s", r.Role, r.State)
	}
}

// A job comes back, at a newer term, to a site where it had run and ended: what the
// tombstone said is not said of the new attempt, and OWNED is saved before Owned leaves.
func TestAJobThatComesBackBeginsAnew(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	next := grid.Epoch{Term: 2, Hop: 1}
	c := bare(grid.Record{
		Job:    j,
		State:  grid.Moving,
		Reason: "waits until its home answers",
		Tenure: grid.Tenure{Role: grid.Prepared, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}, Handoff: grid.Handoff{To: me, Epoch: next}, Closed: true, Kept: true},
		Run:    grid.Run{Attempt: 1, Started: 5, Finished: 6, End: grid.Failed, HasExit: true, ExitCode: 3, Signal: 9, Usage: grid.Usage{CPU: 7}, Outputs: grid.Manifest{{Path: "out"}}},
	})
	c.jobs[j.ID].stalled = true
	saved := false
	for _, e := range c.Step(1_000_001, Message{her, wire.Commit{Handoff: wire.HandoffID{Job: j.ID, Epoch: next, To: me, Digest: wire.JobDigest(j)}}}) {
		switch e := e.(type) {
		case Save:
			_, r, _ := e.Change.Job()
			saved = r.Role == grid.Owning
		case Send:
			if r, ok := e.Message.(wire.Report); ok && (r.End != 0 || r.HasExit || r.Started.Known) {
				t.Errorf("its report says %+v", r)
			}
			if _, ok := e.Message.(wire.Owned); ok && !saved {
				t.Error("Owned leaves, and nothing is saved")
			}
		}
	}
	r := c.jobs[j.ID].rec
	if r.Role != grid.Owning || r.Closed || r.Kept || r.End != 0 || r.HasExit || r.ExitCode != 0 || r.Signal != 0 || r.Usage != (grid.Usage{}) || r.Started != 0 || r.Finished != 0 || r.Outputs != nil {
		t.Errorf("it is now %+v", r)
	}
}

// A job was KILLED when its site was forgotten, fenced off. The site comes back with the
// job in its queue: it must let it go, not take the home's answer for leave to start it.
func TestWhatWasEndedByForgetIsLetGo(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1, Hop: 1}
	c := bare(grid.Record{Job: j, State: grid.Killed, CancelRequested: true, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch}, Run: grid.Run{End: grid.Killed}, AtHome: grid.AtHome{Trail: []grid.PeerID{her}}})
	let := false
	for _, e := range c.Step(1_000_001, Message{her, wire.Report{Job: j.ID, Epoch: epoch, Number: 4, State: grid.Assigned, Attempt: 1}}) {
		if s, ok := e.(Send); ok {
			m, superseded := s.Message.(wire.Superseded)
			let = let || superseded && m.Of == epoch
			if _, ack := s.Message.(wire.ReportAck); ack {
				t.Errorf("acknowledged: %+v", s.Message)
			}
		}
	}
	if !let {
		t.Error("the owner is not told that its ownership is over")
	}
}

// A former owner repeats a Commit to a site that is gone: once that is forgotten here, the
// home is told instead.
func TestACommitToAForgottenSiteEnds(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	epoch := grid.Epoch{Term: 1, Hop: 2}
	c := bare(grid.Record{
		Job:    j,
		State:  grid.Moving,
		Tenure: grid.Tenure{Role: grid.Tombstone, Owner: him, Epoch: epoch, Telling: true, Certificates: []grid.Certificate{{Epoch: epoch, To: him, Signature: []byte("x")}}, Handoff: grid.Handoff{Phase: grid.Committed, To: him, Epoch: epoch}},
	})
	told := false
	for _, e := range c.Step(1_000_001, Forget{Site: him, By: "root"}) {
		if s, ok := e.(Send); ok && s.To == her {
			_, moved := s.Message.(wire.Moved)
			told = told || moved
		}
	}
	if r := c.jobs[j.ID].rec; r.Handoff.Phase != grid.NoHandoff || !told {
		t.Errorf("handoff phase %d; the home is told: %v", r.Handoff.Phase, told)
	}
}

// A site that was forgotten comes back when its home has dropped the job, which has run
// again and ended: it is not learnt anew, to run a second time.
func TestAJobThatWasDroppedIsNotLearntAgain(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	certificates := []grid.Certificate{certificate(j, me, 1, her)}
	for _, k := range []struct {
		name  string
		seen  wire.Seen
		state grid.State
		over  bool
	}{
		{"it waits there", wire.Seen{}, grid.Assigned, true},
		{"its result is there", wire.Seen{}, grid.StageOut, true},
		{"this journal replaces one that was lost", wire.Seen{Journals: []grid.JournalID{{Incarnation: 9, Sequence: 3}}}, grid.Assigned, false},
	} {
		c := signed()
		for _, m := range c.members {
			m.told = false
		}
		c.Step(2_000_000, Tick{})
		report := wire.Report{Job: j.ID, Epoch: at, Number: 3, State: k.state, Certificates: certificates}
		if k.state == grid.StageOut {
			report.End, report.Started = grid.Completed, wire.Ago{Span: 5, Known: true}
		}
		if early := sentTo(c.Step(2_000_001, Message{her, report}), her); len(early) != 1 || early[0].Kind() != wire.KindRecall {
			t.Errorf("%s: before all have said what they saw of the journal: %+v", k.name, early)
		}
		for _, p := range []grid.PeerID{her, him, it} {
			c.Step(2_000_001, Message{p, k.seen})
		}
		answers := sentTo(c.Step(2_000_002, Message{her, report}), her)
		over := wire.Superseded{Job: j.ID, Of: at, Epoch: at, Keep: k.state == grid.StageOut, Answers: 3}
		if len(answers) != 1 || (answers[0] == wire.Message(over)) != k.over {
			t.Errorf("%s: answered %+v", k.name, answers)
		}
		c.Step(2_000_003, Message{her, wire.Recalled{Job: j, Epoch: at, Owning: true, Certificates: certificates}})
		if learnt := c.jobs[j.ID] != nil; learnt == k.over {
			t.Errorf("%s: learnt %t", k.name, learnt)
		}
	}
}

// Copies of an Offer and of its Commit come when the job has been here, has gone on and
// ended, and its tombstone has been let go: it is not owned a second time.
func TestALateCommitMakesNoOwner(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed()
	o := offerOf(j, 1, 0)
	commit := wire.Commit{Handoff: o.Handoff, Certificate: certificate(j, her, 1, me), Journal: grid.JournalID{Incarnation: 5, Sequence: 20}}
	prepare := func() {
		c.Step(c.now+1, Message{her, o})
		c.Step(c.now+1, shot(c.now+1))
	}
	prepare()
	c.Step(c.now+1, Message{her, commit})
	k := c.jobs[j.ID]
	if k == nil || k.rec.Role != grid.Owning {
		t.Fatalf("it is not owned: %+v", k)
	}
	c.Step(c.now+1, Message{her, wire.Cancel{Job: j.ID, Epoch: k.rec.Epoch}})
	c.Step(c.now+1, Withdrawn{ID: c.attempt(k), Done: true})
	c.Step(c.now+1, Message{her, wire.ReportAck{Job: j.ID, Epoch: k.rec.Epoch, Number: k.rec.Report, Closed: true}})
	if !k.ended() {
		t.Fatalf("it has not ended: %+v", k.rec)
	}
	c.drop(k) // as when its retention ends
	prepare()
	for _, e := range c.Step(c.now+1, Message{her, commit}) {
		if l, ok := e.(Launch); ok {
			t.Errorf("it was told KILLED, and is launched: %s", l.Submission.ID)
		}
	}
	commit.Journal.Sequence++ // a new one
	c.Step(c.now+1, Message{her, commit})
	if k := c.jobs[j.ID]; k == nil || k.rec.Role != grid.Owning {
		t.Errorf("a commit that was made since is not taken: %+v", k)
	}
}

// A Commit of an owner that is not the home may be older than what the home has done
// since: one that comes late starts nothing before the home was heard.
func TestALateCommitWaitsForTheHome(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	handoff := wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}, To: me, Digest: wire.JobDigest(j)}
	for late, launches := range map[grid.Tick]bool{grid.Second: true, grid.Minute: false} {
		c := signed(grid.Record{
			Job:    j,
			State:  grid.Moving,
			Tenure: grid.Tenure{Role: grid.Prepared, Owner: him, Handoff: grid.Handoff{To: me, Epoch: handoff.Epoch}, Certificates: []grid.Certificate{certificate(j, her, 1, him)}},
		})
		c.jobs[j.ID].recovered = false
		_, launched := only[Launch](c.Step(1_000_000+late, Message{him, wire.Commit{Handoff: handoff, Certificate: certificate(j, him, 2, me)}}))
		if r := c.jobs[j.ID].rec; r.Role != grid.Owning || launched != launches {
			t.Errorf("%d ms after it was PREPARED: %s, launched %t", late, r.Role, launched)
		}
		_, launched = only[Launch](c.Step(1_090_000, Message{her, wire.ReportAck{Job: j.ID, Epoch: handoff.Epoch, Number: c.jobs[j.ID].rec.Report}}))
		if launched == launches {
			t.Errorf("%d ms after it was PREPARED: launched %t when its home is heard", late, launched)
		}
	}
}

// This site owned the job, lost its journal, and takes a late copy of the Offer for new
// (gsim faults, seed 4001). The owner, which was not running meanwhile, says Commit again: it
// is asked whether it means this journal.
func TestACommitToAnotherJournalMakesNoOwner(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		ready grid.JournalID
		owns  bool
	}{
		{grid.JournalID{Incarnation: 2, Sequence: 40}, false},
		{grid.JournalID{Incarnation: 3, Sequence: 1}, true},
		{grid.JournalID{}, true}, // an older broker does not tell
	} {
		c := signed()
		c.cfg.Journal = grid.JournalID{Incarnation: 3, Sequence: 7}
		o := offerOf(jobOf(her, "b", "1"), 1, 0)
		c.Step(c.now+1, Message{her, o})
		c.Step(c.now+1, shot(c.now+1))
		asked := false
		for _, e := range c.Step(c.now+1, Message{her, wire.Commit{Handoff: o.Handoff, Certificate: certificate(jobOf(her, "b", "1"), her, 1, me), Ready: k.ready}}) {
			if s, ok := e.(Send); ok {
				i, inquires := s.Message.(wire.Inquire)
				asked = asked || inquires && i.Journal == c.cfg.Journal
			}
		}
		if owns := c.jobs[o.Handoff.Job].rec.Role == grid.Owning; owns != k.owns || asked == k.owns {
			t.Errorf("ready was %+v: owned %v, asked %v", k.ready, owns, asked)
		}
	}
}

// A Commit names the journal that was READY, also in the next life of the owner.
func TestACommitNamesTheJournalThatWasReady(t *testing.T) {
	t.Parallel()
	ready := grid.JournalID{Incarnation: 3, Sequence: 9}
	epoch := grid.Epoch{Term: 1, Hop: 1}
	c := bare(grid.Record{
		Job:    jobOf(me, "a", "1"),
		State:  grid.Moving,
		Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch, Candidate: ready, Handoff: grid.Handoff{Phase: grid.Committed, To: her, Epoch: epoch}},
	})
	var m wire.Commit
	for _, sent := range sentTo(append(c.Step(1_000_001, Boot{}), c.Step(1_100_000, Tick{})...), her) {
		if k, ok := sent.(wire.Commit); ok {
			m = k
		}
	}
	if m.Ready != ready {
		t.Errorf("said %+v", m)
	}
}
