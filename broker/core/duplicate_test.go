package core

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// sent are the messages among effects.
func sent(effects []Effect) (list []wire.Message) {
	for _, e := range effects {
		if s, ok := e.(Send); ok {
			list = append(list, s.Message)
		}
	}
	return list
}

// only finds the one effect of a type.
func only[E Effect](effects []Effect) (found E, ok bool) {
	for _, e := range effects {
		if f, is := e.(E); is {
			found, ok = f, true
		}
	}
	return found, ok
}

// lived is a Core with a boot nonce and a journal.
func lived(boot uint64, j grid.JournalID, records ...grid.Record) *Core {
	c := New(Config{Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 1}, Boot: boot, Journal: j}, []grid.Member{
		{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, records)
	begin(c)
	return c
}

// Two brokers run under one identity: each hears, from whoever met both, of another
// life after its own, and stops. A broker that was only restarted does not.
func TestADuplicateStopsEverything(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		name      string
		boots     []uint64
		duplicate bool
	}{
		{"another life after ours", []uint64{7, 8}, true},
		{"another life before ours", []uint64{8, 7}, false},
		{"both by turns", []uint64{7, 8, 7}, true},
		{"we were not heard yet", []uint64{8, 9}, false},
		{"nobody was heard", nil, false},
	} {
		c := lived(7, grid.JournalID{Incarnation: 1})
		_, alarm := only[Alarm](c.Step(1_000_001, Message{her, wire.Seen{Boots: k.boots}}))
		if alarm != k.duplicate {
			t.Errorf("%s: alarm %t", k.name, alarm)
		}
	}
}

func TestADuplicateOnlyAnswers(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := lived(7, grid.JournalID{Incarnation: 1}, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	c.Step(1_000_001, Message{her, wire.Seen{Boots: []uint64{7, 8}}})
	events := []Event{
		Submit{Token: 1, Job: jobOf(me, "a", "2")}, CancelRequest{Token: 2, Job: j.ID}, RemoveRequest{Token: 3, Job: j.ID},
		Uploaded{Token: 4, Job: j.ID}, Forget{Token: 5, Site: her}, Forward{Token: 6, To: her, Wish: Wish{Job: j.ID}}, DrainRequest{Token: 7, On: true}, HadDuplicate{Token: 8},
	}
	for i, ev := range events {
		effects := c.Step(1_000_002, ev)
		a, ok := only[Answer](effects)
		if !ok || len(effects) != 1 || !errors.Is(a.Err, grid.ErrUnavailable) || !strings.Contains(a.Err.Error(), "resume") || a.Token != Token(i+1) {
			t.Errorf("%T: %+v", ev, effects)
		}
	}
	for _, ev := range []Event{Tick{}, shot(2_000_000), PeerChanged{her, grid.Alive}, Message{her, wire.Recall{Job: j.ID}}} {
		if effects := c.Step(2_000_000, ev); len(effects) != 0 {
			t.Errorf("%T: %+v", ev, effects)
		}
	}
	if _, ok := c.Next(); ok {
		t.Error("it wants to be woken")
	}
	effects := c.Step(2_000_001, Resume{Token: 9})
	if _, again := only[Restart](effects); !again {
		t.Errorf("resumed: %+v", effects)
	}
}

// What peers remember of journals, and what each of their words means to us.
func TestAJournalThatWentBack(t *testing.T) {
	t.Parallel()
	ours := grid.JournalID{Incarnation: 5, Sequence: 100}
	for _, k := range []struct {
		name           string
		seen           []grid.JournalID
		rolled, bereft bool
	}{
		{"nothing", nil, false, false},
		{"as far as it is", []grid.JournalID{ours}, false, false},
		{"farther", []grid.JournalID{{Incarnation: 5, Sequence: 101}}, true, false},
		{"an earlier one, which is lost", []grid.JournalID{{Incarnation: 4, Sequence: 900}, ours}, false, true},
		{"an earlier one, and not yet this", []grid.JournalID{{Incarnation: 4, Sequence: 900}}, false, true},
		{"farther than any journal comes", []grid.JournalID{{Incarnation: 5, Sequence: 1 << 63}}, false, false},
		{"a later one: this is the older one, put back", []grid.JournalID{{Incarnation: 5, Sequence: 3}, {Incarnation: 6, Sequence: 1}}, true, false},
	} {
		c := lived(7, ours)
		c.Step(1_000_001, Message{her, wire.Seen{Journals: k.seen}})
		if (c.recovery.rolled != nil) != k.rolled || c.recovery.bereft != k.bereft {
			t.Errorf("%s: rolled back %t, lost %t", k.name, c.recovery.rolled != nil, c.recovery.bereft)
		}
	}
}

// What was seen of a member is kept, durably, and told to it.
func TestWhatWasSeenIsTold(t *testing.T) {
	t.Parallel()
	c := lived(7, grid.JournalID{Incarnation: 5, Sequence: 100})
	effects := c.Step(1_000_001, PeerJournal{her, grid.JournalID{Incarnation: 1, Sequence: 10}, 70})
	if s, ok := only[Saw](effects); !ok || s.Journal.Sequence != 10 {
		t.Errorf("not kept: %+v", effects)
	}
	c.Step(1_000_002, Message{her, wire.Ready{Journal: grid.JournalID{Incarnation: 1, Sequence: 12}}})
	c.Step(1_000_003, PeerJournal{her, grid.JournalID{Incarnation: 1, Sequence: 4}, 71})
	c.Step(1_000_004, PeerJournal{her, grid.JournalID{Incarnation: 2, Sequence: 1}, 71})
	want := wire.Seen{
		Journals: []grid.JournalID{{Incarnation: 1, Sequence: 12}, {Incarnation: 2, Sequence: 1}},
		Boots:    []uint64{70, 71}, Mine: grid.JournalID{Incarnation: 5, Sequence: 101},
	}
	c.Durable(101)
	got := sent(c.Step(1_000_005, Message{her, wire.Seen{WantsReply: true}}))
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	if s := got[0].(wire.Seen); !slices.Equal(s.Journals, want.Journals) || !slices.Equal(s.Boots, want.Boots) || s.Mine != want.Mine || s.WantsReply {
		t.Errorf("told %+v", s)
	}
	again := New(Config{Self: me, Seen: map[grid.PeerID][]grid.JournalID{her: want.Journals}}, []grid.Member{{Name: "b", Peer: her}}, nil)
	if !slices.Equal(again.recovery.highWater[her], want.Journals) {
		t.Errorf("the next life has %v", again.recovery.highWater[her])
	}
}

// Whoever is asked says what it holds for the one who asks, and nothing of others.
func TestRecount(t *testing.T) {
	t.Parallel()
	owned, watched, his := jobOf(her, "b", "1"), jobOf(me, "a", "2"), jobOf(him, "c", "3")
	at := grid.Epoch{Term: 1, Hop: 2}
	c := bare(
		grid.Record{Job: owned, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at}, Run: grid.Run{Attempt: 1}},
		grid.Record{Job: watched, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at}},
		grid.Record{Job: his, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at}, Run: grid.Run{Attempt: 1}})
	got := sent(c.Step(1_000_001, Message{her, wire.Recount{Sequence: 4}}))
	want := []wire.Claim{{Job: watched.ID, Epoch: at, Yours: true}, {Job: owned.ID, Epoch: at}}
	for _, m := range got {
		if r, ok := m.(wire.Recounted); ok && !slices.Equal(r.Claims, want) {
			t.Errorf("claims %+v", r.Claims)
		}
	}
	if len(got) != 2 { // the report, and the claims
		t.Errorf("%+v", got)
	}
}

// What has run here to its end is told once more: a home that was restored from a backup
// would start it again. It learns the end, also where it knows nothing of the job.
func TestARestoredHomeHearsOfEnds(t *testing.T) {
	t.Parallel()
	job := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	here := grid.Record{
		Job:    job,
		State:  grid.Completed,
		Ended:  900_000,
		Tenure: grid.Tenure{Role: grid.Tombstone, Owner: me, Epoch: at, Closed: true, Report: 4, Certificates: []grid.Certificate{certificate(job, her, 1, me)}},
		Run:    grid.Run{End: grid.Completed, Attempt: 1, Started: 5, Finished: 900_000},
	}
	never, old, handedOn := here, here, here
	never.Job, never.Started = jobOf(her, "b", "2"), 0
	old.Job, old.Ended = jobOf(her, "b", "3"), 1
	handedOn.Job, handedOn.Closed, handedOn.Owner = jobOf(her, "b", "4"), false, him
	c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{here, never, old, handedOn})
	c.Step(keyLife+2, Boot{})
	if told := sentTo(c.Step(keyLife+2, Message{her, wire.Recount{Sequence: 4}}), her); len(told) != 0 {
		t.Errorf("it answers %+v, and has not read its control directories", told)
	}
	c.Step(keyLife+2, Reconciled{All: true})
	told := sentTo(c.Step(keyLife+2, Message{her, wire.Recount{Sequence: 4}}), her)
	told = append(told, sentTo(c.Step(keyLife+3, Message{her, wire.Recall{Job: job.ID}}), her)...)
	if len(told) != 3 {
		t.Fatalf("told %+v", told)
	}
	if m := told[0].(wire.Recounted); !slices.Equal(m.Claims, []wire.Claim{{Job: job.ID, Epoch: at, Ended: true}, {Job: never.Job.ID, Epoch: at, Ended: true}}) {
		t.Errorf("claims %+v", m.Claims)
	}
	for _, records := range [][]grid.Record{{{Job: job, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: her, Epoch: grid.Epoch{Term: 1}}}}, nil} {
		home := New(signer(her, "b"), []grid.Member{{Name: "a", Peer: me, Send: true}}, records)
		home.Step(1_000_000, Boot{})
		home.Step(1_000_000, Message{me, wire.Seen{Journals: []grid.JournalID{{Sequence: 9}}}})
		home.Step(1_000_001, Message{me, wire.Recounted{Claims: told[0].(wire.Recounted).Claims[:1]}})
		if home.recovery.rolled == nil {
			t.Error("it goes on before it has heard of the end")
		}
		for _, m := range []wire.Message{told[1], told[2], wire.Recounted{Claims: told[0].(wire.Recounted).Claims[:1]}} {
			home.Step(home.now+1, Message{me, m})
		}
		if k := home.jobs[job.ID]; k == nil || k.rec.State != grid.Completed || home.recovery.rolled != nil {
			t.Errorf("%+v, still asking %t", k, home.recovery.rolled != nil)
		}
	}
}

// Who was committed to, and is told later that the offer is dead, says that it owned the
// job, also when it has ended: the owner's journal was rolled back.
func TestAnAbortAfterTheCommitIsAnswered(t *testing.T) {
	t.Parallel()
	job := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 1}
	c := signed(grid.Record{
		Job:    job,
		State:  grid.Completed,
		Ended:  6,
		Tenure: grid.Tenure{Role: grid.Tombstone, Owner: me, Epoch: at, Closed: true, Certificates: []grid.Certificate{certificate(job, her, 1, me)}},
		Run:    grid.Run{End: grid.Completed, Started: 5},
	})
	handoff := wire.HandoffID{Job: job.ID, Epoch: at, To: me, Digest: wire.JobDigest(job)}
	answers := sentTo(c.Step(1_000_001, Message{her, wire.Abort{Handoff: handoff}}), her)
	if len(answers) != 1 || answers[0].Kind() != wire.KindOwned {
		t.Fatalf("answered %+v", answers)
	}
	home := New(signer(her, "b"), []grid.Member{{Name: "a", Peer: me, Send: true}},
		[]grid.Record{{Job: job, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: her, Epoch: grid.Epoch{Term: 1}}}})
	home.Step(1_000_000, Boot{})
	if home.Step(1_000_001, Message{me, answers[0]}); home.recovery.rolled == nil {
		t.Error("its own certificate does not show it that its journal was rolled back")
	}
	handoff.Epoch.Hop = 2
	if answers := sentTo(c.Step(1_000_002, Message{her, wire.Abort{Handoff: handoff}}), her); len(answers) != 0 {
		t.Errorf("an offer that was never committed: %+v", answers)
	}
}

// A claim that is newer than the record is not settled before the record is; one that
// this site has lost is denied.
func TestRecountedIsHeldAgainstTheRecords(t *testing.T) {
	t.Parallel()
	mine, theirs := jobOf(me, "a", "1"), jobOf(her, "b", "2")
	c := lived(7, grid.JournalID{Incarnation: 5, Sequence: 1}, grid.Record{Job: mine, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Local: "l", Attempt: 1}})
	c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 5, Sequence: 50}}}})
	c.Step(1_000_001, Progressed{Progress: grid.Progress{ID: c.attempt(c.jobs[mine.ID]), Phase: grid.Waiting}})
	newer := wire.Recounted{Claims: []wire.Claim{{Job: mine.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}}}}
	c.Step(1_000_002, Message{her, newer})
	if c.recovery.rolled == nil || !c.recovery.rolled.waiting[her] {
		t.Fatal("settled, and another owns at a newer epoch")
	}
	effects := c.Step(1_000_003, Message{her, wire.Recounted{Claims: []wire.Claim{{Job: theirs.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Yours: true}}}})
	if u, ok := sent(effects)[0].(wire.Unknown); !ok || u.Handoff.Job != theirs.ID {
		t.Errorf("a job that is not here any more: %+v", effects)
	}
	effects = c.Step(1_000_004, Message{him, wire.Recounted{}})
	if c.recovery.rolled != nil || !c.recovery.settled(grid.JournalID{Incarnation: 5, Sequence: 50}) || c.recovery.settled(grid.JournalID{Incarnation: 5, Sequence: 51}) {
		t.Errorf("all have answered: %+v", effects)
	}
	if c.Step(1_000_005, Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 5, Sequence: 50}}}}); c.recovery.rolled != nil {
		t.Error("what all were asked about is news again")
	}
}

// Neither a start nor a handoff while others are still to be asked.
func TestARolledBackBrokerStartsNothing(t *testing.T) {
	t.Parallel()
	ready := jobOf(me, "a", "1")
	c := lived(7, grid.JournalID{Incarnation: 5, Sequence: 1}, grid.Record{Job: ready, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 5, Sequence: 50}}}})
	now := grid.Tick(1_000_002)
	for n := 0; n < 200; n++ {
		at, _ := c.Next()
		now = max(now, at)
		for _, ev := range []Event{Tick{}, shot(now)} {
			for _, e := range c.Step(now, ev) {
				switch e := e.(type) {
				case Launch:
					t.Fatalf("launched %v", e.Submission.ID)
				case Send:
					if _, offer := e.Message.(wire.Offer); offer {
						t.Fatal("offered")
					}
				}
			}
		}
	}
	c.Step(now, Forget{Site: her, Fenced: true, By: "root"})
	c.Step(now, Forget{Site: him, Fenced: true, By: "root"})
	id := c.attempt(c.jobs[ready.ID])
	c.Step(now, Progressed{Progress: grid.Progress{ID: id, Phase: grid.Unknown}})
	c.Step(now, Withdrawn{ID: id, Done: true})
	launched := false
	for n := 0; n < 50 && !launched; n++ {
		at, _ := c.Next()
		now = max(now, at)
		for _, ev := range []Event{Tick{}, shot(now)} {
			_, ok := only[Launch](c.Step(now, ev))
			launched = launched || ok
		}
	}
	if !launched {
		t.Error("an administrator has said that it may go on")
	}
}

// A member that says it owns what it was only offered is believed by our own certificate
// alone: else one liar could stop this broker.
func TestOwnedProvesARollbackOnlyByOurCertificate(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	next := grid.Epoch{Term: 1, Hop: 1}
	text := wire.CertificateText(j.ID, wire.JobDigest(j), next, her)
	for name, k := range map[string]struct {
		certificate grid.Certificate
		rolled      bool
	}{
		"no certificate": {grid.Certificate{}, false},
		"its own":        {grid.Certificate{Epoch: next, To: her, Signature: signature(her, text)}, false},
		"of another":     {grid.Certificate{Epoch: next, To: him, Signature: signature(me, wire.CertificateText(j.ID, wire.JobDigest(j), next, him))}, false},
		"of then":        {grid.Certificate{Epoch: grid.Epoch{Term: 1}, To: her, Signature: signature(me, wire.CertificateText(j.ID, wire.JobDigest(j), grid.Epoch{Term: 1}, her))}, false},
		"ours, as is":    {grid.Certificate{Epoch: next, To: her, Signature: signature(me, text)}, true},
	} {
		c := New(Config{
			Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 1},
			Verify: func(by grid.PeerID, text, sig []byte) bool { return string(signature(by, text)) == string(sig) },
		}, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{
			{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}})
		c.Step(1_000_000, Boot{})
		c.ownership.makeOffer(c.jobs[j.ID], her, 0, 0)
		c.Step(1_000_001, Message{her, wire.Owned{Handoff: c.ownership.handoffID(c.jobs[j.ID]), Owner: her, Certificate: k.certificate}})
		if (c.recovery.rolled != nil) != k.rolled {
			t.Errorf("%s: rolled back %t", name, c.recovery.rolled != nil)
		}
	}
}
