package core

import (
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// Certificates that this home has not signed prove nothing, though they be of a newer term.
func TestACertificateOfANewerTermIsSignedAtHome(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	at := grid.Epoch{Term: 2, Hop: 1}
	for name, by := range map[string]grid.PeerID{"ours": me, "theirs": him} {
		d := grid.Certificate{Epoch: at, To: her, Signature: signature(by, wire.CertificateText(j.ID, wire.JobDigest(j), at, her))}
		c := signed(grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 3}})
		c.Step(1_000_001, Message{her, wire.Report{Job: j.ID, Epoch: at, Number: 1, State: grid.Assigned, Attempt: 1, Certificates: []grid.Certificate{d}}})
		ours := by == me
		if r := c.jobs[j.ID].rec; (r.Owner == her) != ours || (c.recovery.rolled != nil) != ours {
			t.Errorf("%s: owned by %s, rolled back %t", name, r.Owner, c.recovery.rolled != nil)
		}
	}
}

// Until the members have spoken, a job that was in the journal is not launched again: the
// journal may be an old one. What is handed in now is.
func TestAfterAStartTheMembersSpeakFirst(t *testing.T) {
	t.Parallel()
	old := jobOf(me, "a", "1")
	record := grid.Record{Job: old, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: 1}}
	for name, k := range map[string]struct {
		at     grid.Tick
		speaks bool
		known  bool
		waits  bool
	}{
		"nobody has spoken":           {1_000_100, false, true, true},
		"all have":                    {1_000_100, true, true, false},
		"it is not from the journal":  {1_000_100, false, false, false},
		"nobody speaks, for too long": {1_120_000, false, true, false},
	} {
		c := bare(record)
		for _, p := range []grid.PeerID{her, him} {
			c.Step(1_000_001, PeerChanged{p, grid.Alive})
			if k.speaks {
				c.Step(1_000_002, Message{p, wire.Seen{}})
			}
		}
		c.jobs[old.ID].recovered = k.known
		_, launched := only[Launch](c.Step(k.at, Withdrawn{ID: c.attempt(c.jobs[old.ID]), Done: true}))
		if launched == k.waits {
			t.Errorf("%s: launched %t", name, launched)
		}
	}
}

// A home that was restored, and did not count the owner among its neighbours just then,
// refuses the report: the next one proves by certificates what the home has forgotten.
func TestARefusedReportShowsItsCertificatesAgain(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed(grid.Record{
		Job:    j,
		State:  grid.Running,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Report: 2, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
		Run:    grid.Run{Attempt: 1},
	})
	c.Step(1_000_001, Message{her, wire.ReportAck{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: c.jobs[j.ID].rec.Report}})
	if m := c.home.reportOf(c.jobs[j.ID]); len(m.Certificates) != 0 {
		t.Fatal("it shows its certificates to a home that knows them")
	}
	c.Step(1_000_002, Message{him, wire.Error{Of: wire.KindReport, Job: j.ID, Why: "I say so"}})
	if m := c.home.reportOf(c.jobs[j.ID]); len(m.Certificates) != 0 {
		t.Error("it heeds one that is not its home")
	}
	c.Step(1_000_002, Message{her, wire.Error{Of: wire.KindReport, Job: j.ID, Why: "its home owns it"}})
	if m := c.home.reportOf(c.jobs[j.ID]); len(m.Certificates) != 1 {
		t.Error("it is refused, and keeps its certificates to itself")
	}
}

// A journal was restored in which a job still waits that may have run here since, to its end,
// as its home alone would know. That home is forgotten and does not live: it is not started
// again, in this life or the next; once the home has spoken it is.
func TestARestoredOwnerStartsNothingWithoutTheHome(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	was := grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: []grid.Certificate{certificate(j, her, 1, me)}}}
	for _, restored := range []bool{true, false} {
		c := signed(was)
		c.Step(1_000_001, PeerChanged{her, grid.Dead})
		if restored {
			c.Step(1_000_002, Message{him, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
			one := c.jobs[j.ID]
			c.Step(1_000_003, Progressed{Progress: grid.Progress{ID: c.attempt(one), Phase: grid.Unknown}})
			c.Step(1_000_004, Withdrawn{ID: c.attempt(one), Done: true})
			c.Step(1_000_005, Message{him, wire.Recounted{}})
			c.Step(1_000_005, Message{it, wire.Recounted{}})
		}
		c.Step(1_000_006, Forget{Token: 1, Site: her, By: "root"})
		for now := grid.Tick(1_000_007); c.recovery.rolled != nil && now < 1_060_000; now += 500 {
			c.Step(now, Tick{})
		}
		if c.recovery.rolled != nil {
			t.Fatal("it does not go on")
		}
		for life := range 2 {
			one := c.jobs[j.ID]
			if waits := c.gates.beforeStart(one) != open; waits != restored {
				t.Errorf("restored %v, life %d: waits for its home: %v", restored, life, waits)
			}
			if life == 0 {
				c = signed(one.rec)
				c.Step(1_000_001, PeerChanged{her, grid.Dead})
			}
		}
		one := c.jobs[j.ID]
		c.Step(1_000_002, Message{her, wire.ReportAck{Job: j.ID, Epoch: one.rec.Epoch, Number: one.rec.Report}})
		if why := c.gates.beforeStart(one); why != open || one.rec.Uncertain {
			t.Errorf("restored %v: its home has spoken, and it still %s", restored, why)
		}
	}
}

// Its administrator says that it had a duplicate, before it has noticed that itself.
func TestHadADuplicate(t *testing.T) {
	t.Parallel()
	c := signed()
	answer, _ := only[Answer](c.Step(1_000_001, HadDuplicate{Token: 4}))
	if c.recovery.rolled == nil || len(c.recovery.rolled.waiting) != 3 || answer.Token != 4 || answer.Err != nil {
		t.Fatalf("it asks nobody: %+v; answered %+v", c.recovery.rolled, answer)
	}
	// Said again, all are asked again: the duplicate may have acted since they answered. Only who will not
	// come back is not waited for.
	c.Step(1_000_002, Message{her, wire.Recounted{}})
	c.Step(1_000_002, Forget{Site: him, By: "root"})
	effects := c.Step(1_000_003, HadDuplicate{Token: 5})
	if c.recovery.rolled == nil || !c.recovery.rolled.waiting[her] || c.recovery.rolled.waiting[him] || len(c.recovery.rolled.unheard) != 1 || len(sentTo(effects, her)) == 0 {
		t.Errorf("said again, it waits for %+v, and sends %+v", c.recovery.rolled, effects)
	}
}

// What the duplicate has submitted stands in the control directory, also of a job that came in this life: a wish to cancel
// waits for that, and is not told to be obeyed while it waits in the batch system.
func TestWhatADuplicateHasSubmitted(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"asked for the first time": false, "asked while an answer of before is on its way": true} {
		c := signed()
		c.Step(1_000_001, Reconciled{All: true})
		c.Step(1_000_002, Submit{Token: 1, Job: jobOf(me, "a", "1")})
		if late {
			c.recovery.reconciling = true
		}
		id := jobOf(me, "a", "1").ID
		effects := c.Step(1_000_003, HadDuplicate{Token: 2})
		if late {
			effects = c.Step(1_000_004, Reconciled{Jobs: []grid.JobID{id}, All: true})
		}
		if r, asks := only[Reconcile](effects); !asks || !slices.Contains(r.Jobs, id) {
			t.Errorf("%s: its control directory is not asked for: %+v", name, effects)
		}
		for _, p := range []grid.PeerID{her, him, it} {
			c.Step(1_000_005, Forget{Site: p, Fenced: true, By: "root"})
		}
		c.Step(1_000_006, CancelRequest{Token: 3, Job: id, By: "alice"})
		if r := c.jobs[id].rec; r.State.Terminal() || c.recovery.rolled == nil {
			t.Fatalf("%s: before the directory was read it is %s, rolled back: %t", name, r.State, c.recovery.rolled != nil)
		}
		a := grid.AttemptID{Job: id, Epoch: grid.Epoch{Term: 1}, Attempt: 3}
		effects = c.Step(1_000_007, Reconciled{Jobs: []grid.JobID{id}, All: true, Attempts: []grid.AttemptID{a}})
		if r := c.jobs[id].rec; r.State != grid.Assigned || r.Attempt != 3 {
			t.Errorf("%s: it is %s of attempt %d: %+v", name, r.State, r.Attempt, effects)
		}
	}
}

// What is still to be asked is told anew with each answer.
func TestTheAlarmOfARollbackCountsDown(t *testing.T) {
	t.Parallel()
	c := signed()
	for _, k := range []struct {
		ev    Event
		alarm string
		over  bool
	}{
		{Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: c.cfg.Journal.Incarnation, Sequence: c.cfg.Journal.Sequence + 50}}}}, "asking neighbours (3 of 3 left: b, c, d)", false},
		{Message{him, wire.Recounted{}}, "asking neighbours (2 of 3 left: b, d)", false},
		{Message{it, wire.Recounted{}}, "asking neighbours (1 of 3 left: b)", false},
		{Message{her, wire.Recounted{}}, "", true},
	} {
		effects := c.Step(1_000_002, k.ev)
		a, raised := only[Alarm](effects)
		if raised == k.over || !strings.Contains(a.Text, k.alarm) {
			t.Errorf("%+v: the alarm is %q, and should say %q", k.ev, a.Text, k.alarm)
		}
		if _, over := only[AlarmOver](effects); over != k.over {
			t.Errorf("%+v: the alarm is over: %t", k.ev, over)
		}
	}
}

// A machine was put back to a snapshot, and nobody has said so yet: the first that comes is the
// wish to cancel a job that has ended elsewhere meanwhile.
func TestAJobOfBeforeTheStartIsCancelledWhenAllHaveSpoken(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}},
		[]grid.Record{{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}})
	begin(c)
	c.Step(1_000_000, PeerChanged{her, grid.Alive})
	c.Step(1_000_010, CancelRequest{Token: 1, Job: j.ID, By: "alice"})
	if r := c.jobs[j.ID].rec; r.State.Terminal() || !r.CancelRequested {
		t.Fatalf("before b has said what it saw of this journal it is %s, cancel requested: %t", r.State, r.CancelRequested)
	}
	c.Step(1_000_020, Message{her, wire.Seen{}})
	for at := grid.Tick(1_000_020); at < 1_000_020+grid.Minute; at += grid.Second {
		c.Step(at, Tick{})
	}
	if r := c.jobs[j.ID].rec; r.State != grid.Killed {
		t.Errorf("when b has, it is %s", r.State)
	}
}

// A refusal of a report that showed its certificates puts off the next one, as they are of no use now; any other leaves it when it is due.
func TestWhenARefusedReportIsSaidAgain(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		role  grid.Role
		known bool
		off   bool
	}{
		"its certificates were shown":   {grid.Owning, false, true},
		"they were not":                 {grid.Owning, true, false},
		"they were, and it has gone on": {grid.Tombstone, false, false},
	} {
		o := &others{}
		of := jobOf(her, "b", "1")
		kern := kernelOf(o, grid.Record{Job: of, State: grid.Running, Tenure: grid.Tenure{Role: k.role, Owner: me}})
		m := &home{kernel: kern, budgets: o, estimator: o, execution: o, gates: o, ownership: o, recovery: o, search: o, terms: o}
		j := kern.jobs[of.ID]
		j.known = k.known
		kern.arm(j, onReport, 1)
		want := kern.now + 1
		if k.off {
			want = kern.now + kern.cfg.Digest
		}
		if m.reportRefused(her, wire.Error{Of: wire.KindReport, Job: of.ID}); j.due[onReport] != want {
			t.Errorf("%s: the next is said at %d, not at %d", name, j.due[onReport], want)
		}
	}
}
