package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// reconciling is the jobs whose control directories a Core asks for at its start.
func reconciling(t *testing.T, records ...grid.Record) (*Core, []grid.JobID) {
	t.Helper()
	c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, records)
	e, _ := only[Reconcile](c.Step(1_000_000, Boot{}))
	c.Step(1_000_000, PeerChanged{her, grid.Alive})
	c.Step(1_000_000, Message{her, wire.Seen{}})
	return c, e.Jobs
}

// A backup that was put back minutes later, and nobody has seen the part that is lost:
// the control directory has.
func TestAControlDirectoryKnowsMoreThanTheJournal(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	r := grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}
	for name, k := range map[string]struct {
		attempts []grid.AttemptID
		probes   grid.AttemptID
	}{
		"none":          {},
		"the same job":  {[]grid.AttemptID{{Job: j.ID, Epoch: r.Epoch, Attempt: 2}, {Job: j.ID, Epoch: r.Epoch, Attempt: 1}}, grid.AttemptID{Job: j.ID, Epoch: r.Epoch, Attempt: 2}},
		"it came back":  {[]grid.AttemptID{{Job: j.ID, Epoch: r.Epoch, Attempt: 2}, {Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}, Attempt: 1}}, grid.AttemptID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}, Attempt: 1}},
		"another's job": {attempts: []grid.AttemptID{{Job: "a.2", Epoch: r.Epoch, Attempt: 2}}},
	} {
		c, jobs := reconciling(t, r)
		if len(jobs) != 1 || jobs[0] != j.ID {
			t.Fatalf("asked for %v", jobs)
		}
		if why := c.gates.beforeStart(c.jobs[j.ID]); why == open {
			t.Fatal("it starts before its control directory was read")
		}
		effects := c.Step(1_000_001, Reconciled{Jobs: jobs, Attempts: k.attempts})
		p, _ := only[Probe](effects)
		if c.recovery.rolled != nil != (k.probes.Attempt > 0) || p.ID != k.probes {
			t.Errorf("%s: rolled back %t, asks for %v", name, c.recovery.rolled != nil, p.ID)
		}
	}
}

// What could not be read is asked for again, and waits.
func TestAControlDirectoryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c, _ := reconciling(t, grid.Record{Job: j, State: grid.Ready, CancelRequested: true, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	c.Step(1_000_001, Reconciled{})
	again := false
	for now := grid.Tick(1_000_002); now < 1_060_000; now += 500 {
		effects := c.Step(now, Tick{})
		_, is := only[Reconcile](effects)
		again = again || is
	}
	if !again || c.jobs[j.ID].rec.State == grid.Killed {
		t.Errorf("asked again %t; it is %s: its attempt may run", again, c.jobs[j.ID].rec.State)
	}
}

// After a rollback no epoch is used again that the members have seen.
func TestNoEpochIsUsedAgainAfterARollback(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	c.members[her].told = false // it is the first word of this life
	c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}, Stamp: 77}})
	k := c.jobs[j.ID]
	for _, p := range []grid.PeerID{her, him, it} {
		c.Step(1_000_004, Message{p, wire.Recounted{}})
	}
	if c.recovery.rolled != nil {
		t.Fatal("it does not go on")
	}
	c.ownership.makeOffer(k, her, 0, 0)
	if e := k.rec.Handoff.Epoch; e.Term != 1 || e.Hop != 78 {
		t.Errorf("offered at %s", e)
	}
}

// A member that may have got a job in the lost part does not answer, and its
// administrator's patience ends: what may not run twice is given up, unless nothing can
// run there; all else goes on at a term that nobody has heard of.
func TestAJobThatAnUnheardMemberMayHave(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		rerunnable, fenced bool
		lost               bool
	}{
		"may run once":                         {lost: true},
		"may run once, and that site is empty": {fenced: true},
		"may run again":                        {rerunnable: true},
	} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = k.rerunnable
		c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		c.members[her].told = false
		c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}, Stamp: 99}})
		c.jobs[j.ID].reconciled = false
		one := c.jobs[j.ID]
		c.Step(1_000_002, Message{her, wire.Recounted{}})
		c.Step(1_000_002, Message{it, wire.Recounted{}})
		c.Step(1_000_003, Forget{Token: 1, Site: him, Fenced: k.fenced, By: "root"})
		if c.recovery.rolled == nil {
			t.Fatalf("%s: it goes on before its control directory was read", name)
		}
		c.Step(1_000_004, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
		for now := grid.Tick(1_000_006); c.recovery.rolled != nil && now < 1_060_000; now += 500 {
			c.Step(now, Tick{})
		}
		if r := one.rec; (r.State == grid.Lost) != k.lost || !k.lost && r.Epoch.Term < 100 || r.Uncertain {
			t.Errorf("%s: %s at %s, uncertain %t", name, r.State, r.Epoch, r.Uncertain)
		}
	}
}

// An owner that is not the home has given a job away, and forgotten that: the next owner
// tells it, with its own certificate.
func TestAFormerOwnerIsToldThatItIsOne(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	chain := []grid.Certificate{certificate(j, her, 1, me), certificate(j, me, 2, him)}
	now := bareAs(him, "c", grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 2}, Certificates: chain}, Run: grid.Run{Attempt: 1}})
	c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: chain[:1]}, Run: grid.Run{Attempt: 1}})
	c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	told := sentTo(now.Step(1_000_002, Message{me, wire.Recount{Sequence: 50}}), me)
	for _, m := range told {
		if r, is := m.(wire.Recounted); is {
			c.Step(1_000_003, Message{him, r})
			if !c.recovery.rolled.waiting[him] {
				t.Error("it does not wait for what it lacks")
			}
		}
	}
	for _, m := range told {
		c.Step(1_000_004, Message{him, m})
	}
	if r := c.jobs[j.ID].rec; r.Role != grid.Tombstone || r.Owner != him {
		t.Errorf("told %+v: %s, owned by %s", told, r.Role, r.Owner)
	}
}

// bareAs is the Core of another site, with a as a neighbour.
func bareAs(self grid.PeerID, name grid.SiteName, records ...grid.Record) *Core {
	c := New(signer(self, name), []grid.Member{{Name: "a", Peer: me, Send: true}}, records)
	begin(c)
	return c
}

// The job has come back home in the lost part: its former owner tells the home.
func TestAHomeIsToldThatAJobHasComeBack(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	chain := []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, 2, me)}
	former := bareAs(her, "b", grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Tombstone, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 2}, Certificates: chain}})
	c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	for _, m := range sentTo(former.Step(1_000_002, Message{me, wire.Recount{Sequence: 50}}), me) {
		c.Step(1_000_003, Message{her, m})
	}
	if r := c.jobs[j.ID].rec; r.Role != grid.Owning || r.Epoch != (grid.Epoch{Term: 1, Hop: 2}) || !c.jobs[j.ID].unreconciled() {
		t.Errorf("%s at %s, its control directory is asked again %t", r.Role, r.Epoch, c.jobs[j.ID].unreconciled())
	}
}

// The home has raised the term in the lost part, and its owner has let the job go at that word, also where it was offered again since and
// that offer died: the home owns it, starts nothing before all have answered, and loses what may run once if one of them is not heard.
func TestAHomeIsToldThatItHasRaisedTheTerm(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	one := []grid.Certificate{certificate(j, me, 1, her)}
	at, later := grid.Epoch{Term: 1, Hop: 1}, grid.Epoch{Term: 4}
	for name, offered := range map[string]bool{"it let it go": false, "and was offered it again": true} {
		former := bareAs(her, "b", grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: her, Epoch: at, Certificates: one}})
		former.Step(1_000_001, Message{me, wire.Superseded{Job: j.ID, Of: at, Epoch: later, Owner: me}})
		if offered {
			o := offerOf(j, 6, 0)
			o.Handoff.Epoch.Term, o.Handoff.To = 4, her
			former.Step(1_000_002, Message{me, o})
			former.Step(1_000_002, shot(1_000_002))
			former.Step(1_000_003, Message{me, wire.Abort{Handoff: o.Handoff}})
		}
		if r := former.jobs[j.ID].rec; r.Role != grid.Tombstone || r.Owner != her {
			t.Fatalf("%s: %s of %s", name, r.Role, r.Owner)
		}
		for unheard, end := range map[bool]grid.State{false: 0, true: grid.Lost} {
			c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at, Report: 2, Certificates: one}})
			c.Step(1_000_004, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}, Stamp: 9}})
			for _, m := range sentTo(former.Step(1_000_005, Message{me, wire.Recount{Sequence: 50}}), me) {
				c.Step(1_000_006, Message{her, m})
			}
			if r := c.jobs[j.ID].rec; r.Role != grid.Owning || r.Epoch != later || !r.Uncertain || c.gates.beforeStart(c.jobs[j.ID]) != untilAll {
				t.Errorf("%s: %s at %s, uncertain %t", name, r.Role, r.Epoch, r.Uncertain)
				continue
			}
			c.Step(1_000_007, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
			c.Step(1_000_008, Message{him, wire.Recounted{}})
			if unheard {
				c.Step(1_000_009, Forget{Site: it, By: "root"})
			} else {
				c.Step(1_000_009, Message{it, wire.Recounted{}})
			}
			if r := c.jobs[j.ID].rec; c.recovery.rolled != nil || r.Uncertain || r.End != end {
				t.Errorf("%s, one unheard %t: asking %t, uncertain %t, end %q", name, unheard, c.recovery.rolled != nil, r.Uncertain, r.End)
			}
		}
	}
}

// The journal was put back to before the files of a job had come, and a member is not heard, or had it and has forgotten it: without its files
// the job is not started again.
func TestWhatLacksItsFilesDoesNotStartAgain(t *testing.T) {
	t.Parallel()
	for _, trace := range []grid.Epoch{{}, {Term: 1, Hop: 7}, {Term: 4}} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = true
		c := signed(grid.Record{Job: j, State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
		c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}, Stamp: 9}})
		word := wire.Recounted{}
		if trace != (grid.Epoch{}) {
			word.Traces = []wire.Trace{{Job: j.ID, Epoch: trace}}
		}
		c.Step(1_000_002, Message{her, wire.Recounted{}})
		c.Step(1_000_002, Message{him, word})
		c.Step(1_000_003, Reconciled{Jobs: []grid.JobID{j.ID}, All: true})
		c.Step(1_000_003, Message{him, word}) // asked again, where it tells of a term
		c.Step(1_000_004, Forget{Site: it, By: "root"})
		if r := c.jobs[j.ID].rec; c.recovery.rolled != nil || r.State != grid.StageIn || r.Uncertain || r.Epoch.Term < max(2, trace.Term) {
			t.Errorf("trace %s: asking %t, %s at %s, uncertain %t", trace, c.recovery.rolled != nil, r.State, r.Epoch, r.Uncertain)
		}
	}
}

// A broker that was rolled back removes no folder: its journal may lack the job.
func TestARolledBackBrokerSweepsNothing(t *testing.T) {
	t.Parallel()
	for rolled, discards := range map[bool]bool{false: true, true: false} {
		c := signed()
		if rolled {
			c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		}
		if _, is := only[SetAside](c.Step(1_000_002, Folders{[]grid.JobID{"b.1"}})); is {
			t.Error("puts aside at the first look: its duplicate may have that job")
		}
		if _, is := only[SetAside](c.Step(1_600_002, Folders{[]grid.JobID{"b.1"}})); is != discards {
			t.Errorf("rolled back %t: puts aside %t", rolled, is)
		}
	}
}

// Who had a duplicate goes on as one that was rolled back, also where it is only started again.
func TestWhoHadADuplicateIsRolledBack(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := lived(7, grid.JournalID{Incarnation: 5, Sequence: 9}, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	var state grid.SiteState
	var record grid.Record
	for _, e := range c.Step(1_000_001, Message{her, wire.Seen{Boots: []uint64{7, 8}}}) {
		switch e := e.(type) {
		case Save:
			switch r := e.Change.Record.(type) {
			case *grid.SiteState:
				state = *r
			case *grid.Record:
				record = *r
			}
		case Alarm:
		default:
			t.Errorf("it has a duplicate, and does %+v", e)
		}
	}
	next := New(Config{Self: me, Site: grid.Site{Name: "a"}, State: state, Boot: 9}, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{record})
	next.Step(1_000_002, Boot{})
	if next.recovery.rolled == nil || !record.Uncertain {
		t.Errorf("rolled back %t, uncertain %t", next.recovery.rolled != nil, record.Uncertain)
	}
}

// A home whose journal was put back may have given the job to itself since: an owner that has
// not started it hears nothing before the control directory has spoken.
func TestNoOwnerStartsBeforeTheControlDirectorySpeaks(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	epoch := grid.Epoch{Term: 1, Hop: 1}
	report := func(c *Core, now grid.Tick, s grid.State) bool {
		effects := c.Step(now, Message{her, wire.Report{Job: j.ID, Epoch: epoch, Number: 2, State: s}})
		for _, e := range effects {
			if m, is := e.(Send); is {
				if _, acks := m.Message.(wire.ReportAck); acks {
					return true
				}
			}
		}
		return false
	}
	home := func() (*Core, []grid.JobID) {
		return reconciling(t, grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: epoch, Report: 1}})
	}
	c, jobs := home()
	if report(c, 1_000_001, grid.Assigned) {
		t.Error("it is told to go on, and this site may have run the job")
	}
	c.Step(1_000_002, Reconciled{Jobs: jobs, All: true})
	if !report(c, 1_000_003, grid.Assigned) {
		t.Error("it is told nothing, and this site has not run the job")
	}
	if c, _ := home(); !report(c, 1_000_001, grid.Running) {
		t.Error("what runs there waits for its acknowledgement")
	}
}

// The token of an attempt is asked for while the control directory tells of a later one, which the journal
// lacks: the answer is about the older, and that of the later is asked for all the same.
func TestALaterAttemptIsWithdrawnWhileAnOlderOneIs(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	older := grid.AttemptID{Job: j.ID, Epoch: grid.Epoch{Term: 1}, Attempt: 1}
	later := older
	later.Attempt = 2
	c, jobs := reconciling(t, grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: older.Epoch}, Run: grid.Run{Attempt: 1}})
	if w, _ := only[Withdraw](c.Step(1_000_001, Progressed{Progress: grid.Progress{ID: older, Phase: grid.Withdrawn}})); w.ID != older {
		t.Fatalf("%v is withdrawn", w.ID)
	}
	c.Step(1_000_002, Reconciled{Jobs: jobs, Attempts: []grid.AttemptID{older, later}})
	c.Step(1_000_003, Withdrawn{ID: older, Done: true})
	if w, _ := only[Withdraw](c.Step(1_000_004, Progressed{Progress: grid.Progress{ID: later, Phase: grid.Unknown}})); w.ID != later {
		t.Errorf("of the later one the token is not asked for, but that of %v", w.ID)
	}
}

// The machine was put back with its control directories, and the batch system has both attempts: the older may start
// by the token that was put back, and then it is the job's.
func TestAnOlderAttemptIsTheJobsIfItHasStarted(t *testing.T) {
	t.Parallel()
	for _, never := range []bool{true, false} {
		j := jobOf(me, "a", "1")
		older := grid.AttemptID{Job: j.ID, Epoch: grid.Epoch{Term: 1}, Attempt: 1}
		later := older
		later.Attempt = 2
		c, jobs := reconciling(t, grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: older.Epoch}, Run: grid.Run{Attempt: 1}})
		if w, _ := only[Withdraw](c.Step(1_000_001, Reconciled{Jobs: jobs, Attempts: []grid.AttemptID{older, later}})); w.ID != older {
			t.Fatalf("withdrawn is %v", w.ID)
		}
		if got := c.jobs[j.ID].rec; got.Attempt != 1 || c.recovery.rolled == nil || c.gates.beforeStart(c.jobs[j.ID]) == open {
			t.Errorf("before the token has spoken it is at attempt %d, and may start", got.Attempt)
		}
		want := later
		if !never {
			want = older
		}
		if p, _ := only[Probe](c.Step(1_000_002, Withdrawn{ID: older, Done: never})); p.ID != want {
			t.Errorf("never starts %t: asked after is %v", never, p.ID)
		}
		if got := c.jobs[j.ID]; got.rec.Attempt != want.Attempt || got.unreconciled() {
			t.Errorf("never starts %t: it is at attempt %d", never, got.rec.Attempt)
		}
	}
}

// A home keeps a run of an older epoch, and is put back to that: an attempt that it has submitted since is of its own epoch.
func TestAnAttemptSinceARunThatWasKept(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	at := grid.Epoch{Term: 9}
	c := New(signer(me, "a"), nil, []grid.Record{{
		Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at},
		Run: grid.Run{Attempt: 1, Started: 900_000, Adopted: grid.Epoch{Term: 1, Hop: 5}},
	}})
	c.Step(1_000_000, Boot{})
	last := grid.AttemptID{Job: j.ID, Epoch: at, Attempt: 2}
	probe, _ := only[Probe](c.Step(c.now+1, Reconciled{All: true, Jobs: []grid.JobID{j.ID}, Attempts: []grid.AttemptID{last}}))
	if probe.ID != last {
		t.Errorf("asked after is %v, want %v", probe.ID, last)
	}
}
