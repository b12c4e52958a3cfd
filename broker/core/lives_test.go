package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// in is a position of the incarnation of the tests.
func in(life, sequence uint64) grid.JournalID {
	return grid.JournalID{Incarnation: 5, Life: life, Sequence: sequence}
}

// branch is a Core whose journal began its lives 1, 2 and 4 at 0, 10 and 20, and has come to 30.
// Another branch of it had the life 3.
func branch(records ...grid.Record) *Core {
	cfg := signer(me, "a")
	cfg.Journal, cfg.Lives = in(4, 30), []grid.Life{{Number: 1}, {Number: 2, First: 10}, {Number: 4, First: 20}}
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, records)
	begin(c)
	for _, p := range []grid.PeerID{her, him} {
		c.Step(1_000_000, PeerChanged{p, grid.Alive})
		c.Step(1_000_000, Message{p, wire.Seen{}})
	}
	return c
}

// A position is reached if the journal has lived it.
func TestAJournalReachesWhatItHasLived(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		at      grid.JournalID
		reached bool
	}{
		{in(1, 10), true}, {in(1, 11), false}, {in(2, 20), true}, {in(2, 21), false},
		{in(3, 12), false}, // another branch, which this one has outgrown
		{in(4, 30), true}, {in(4, 31), false},
		{in(0, 30), true}, {in(0, 31), false}, // of a broker that knows no lives
		{grid.JournalID{Incarnation: 6, Life: 1}, false},
	} {
		c := branch()
		if c.reaches(k.at) != k.reached {
			t.Errorf("%+v: reached %t", k.at, !k.reached)
		}
		if k.at.Incarnation == 5 {
			c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{k.at}}})
			if (c.recovery.rolled != nil) == k.reached {
				t.Errorf("%+v was seen: rolled back %t", k.at, c.recovery.rolled != nil)
			}
		}
	}
}

// The file beside the journal tells at the start, before anybody is met.
func TestTheWitnessTellsARollback(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		witness        grid.JournalID
		lives          int
		rolled, bereft bool
	}{
		"none":                        {grid.JournalID{}, 2, false, false},
		"as far as the journal":       {in(1, 10), 2, false, false},
		"farther":                     {in(1, 11), 2, true, false},
		"of another branch":           {in(3, 5), 2, true, false},
		"of one that was lost":        {grid.JournalID{Incarnation: 4, Life: 1, Sequence: 9}, 1, false, true},
		"of one that came after this": {grid.JournalID{Incarnation: 6, Life: 1, Sequence: 9}, 2, true, false},
	} {
		cfg := signer(me, "a")
		cfg.Journal, cfg.Lives = in(2, 10), []grid.Life{{Number: 1}, {Number: 2, First: 10}}[2-k.lives:]
		cfg.Witness.Position = k.witness
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, nil)
		c.Step(1_000_000, Boot{})
		if (c.recovery.rolled != nil) != k.rolled || c.recovery.bereft != k.bereft {
			t.Errorf("%s: rolled back %t, lost %t", name, c.recovery.rolled != nil, c.recovery.bereft)
		}
	}
}

// Set back a second time, to an instant at which it was asking about the first: what it took
// meanwhile is in doubt too. What members told before is no news.
func TestSetBackWhileItWasAsking(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	r := grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: []grid.Certificate{certificate(j, her, 1, me)}}}
	cfg := signer(me, "a")
	cfg.Journal, cfg.Lives = in(2, 10), []grid.Life{{Number: 1}, {Number: 2, First: 10}}
	cfg.State = grid.SiteState{RolledBack: 1, Behind: []grid.JournalID{in(3, 7)}}
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{r})
	begin(c)
	c.Step(1_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{in(3, 7)}}})
	if c.jobs[j.ID].rec.Uncertain {
		t.Error("what it was asking about puts in doubt what it took since")
	}
	c.Step(1_000_002, Message{her, wire.Seen{Journals: []grid.JournalID{in(8, 12)}, Stamp: 50}})
	one := c.jobs[j.ID]
	if !one.rec.Uncertain || len(c.state.Behind) != 1 && len(c.recovery.rolled.lost) != 2 {
		t.Fatalf("uncertain %t, lost %v", one.rec.Uncertain, c.recovery.rolled.lost)
	}
	if old := uint64(9); one.since <= old {
		t.Errorf("a report of number %d of the lost branch may be acknowledged as one since %d", old, one.since)
	}
}

// What one that was rolled back had offered is given up before it is answered; a Commit of
// its lost branch makes nobody an owner, and neither does one of an earlier life.
func TestWhatALostBranchHasOffered(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 9}
	handoff := wire.HandoffID{Job: j.ID, Epoch: at, To: me, Digest: wire.JobDigest(j)}
	prepared := grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Prepared, Owner: her, Handoff: grid.Handoff{To: me, Epoch: at}}}
	d := grid.Certificate{Epoch: at, To: me, Signature: signature(her, wire.CertificateText(j.ID, wire.JobDigest(j), at, me))}
	commit := wire.Commit{Handoff: handoff, Certificate: d, Journal: grid.JournalID{Incarnation: 7, Life: 1, Sequence: 40}}

	c := branch(prepared)
	c.Step(1_000_001, PeerJournal{her, grid.JournalID{Incarnation: 7, Life: 1, Sequence: 39}, 1})
	c.Step(1_000_002, PeerJournal{her, grid.JournalID{Incarnation: 7, Life: 2, Sequence: 20}, 2})
	if m := sentTo(c.Step(1_000_003, Message{her, commit}), her); len(m) != 1 || m[0].Kind() != wire.KindInquire || c.jobs[j.ID].rec.Role != grid.Prepared {
		t.Errorf("a commit of an earlier life: answered %+v, %s", m, c.jobs[j.ID].rec.Role)
	}
	declined := false
	for _, m := range sentTo(c.Step(1_000_004, Message{her, wire.Recount{Journal: grid.JournalID{Incarnation: 7, Life: 2, Sequence: 21}}}), her) {
		if m.Kind() == wire.KindRecounted && c.jobs[j.ID].rec.Role != grid.Declined {
			t.Error("it answers, and may yet own the job")
		}
		declined = declined || m.Kind() == wire.KindDeclined
	}
	c.Step(1_000_005, Message{her, commit})
	if s := c.jobs[j.ID].rec.Role; s != grid.Declined || !declined {
		t.Errorf("after the answer: %s, declined %t", s, declined)
	}
	c = branch(prepared)
	commit.Journal.Life = 3
	if c.Step(1_000_001, Message{her, commit}); c.jobs[j.ID].rec.Role != grid.Owning {
		t.Errorf("a commit as any other: %s", c.jobs[j.ID].rec.Role)
	}
}

// What was READY is not in this journal: it may have owned the job since, and forgotten that.
func TestACommitToWhatIsForgotten(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 9}
	handoff := wire.HandoffID{Job: j.ID, Epoch: at, To: me, Digest: wire.JobDigest(j)}
	d := grid.Certificate{Epoch: at, To: me, Signature: signature(her, wire.CertificateText(j.ID, wire.JobDigest(j), at, me))}
	prepared := grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Prepared, Owner: her, Handoff: grid.Handoff{To: me, Epoch: at}}}
	declined := prepared
	declined.Role = grid.Declined
	for name, k := range map[string]struct {
		record grid.Record
		ready  grid.JournalID
		answer wire.Kind
		rolled bool
	}{
		"prepared, and it is here":     {prepared, in(2, 15), wire.KindOwned, false},
		"prepared by another branch":   {prepared, in(3, 15), wire.KindUnknown, true},
		"declined, and it is here":     {declined, in(2, 15), wire.KindDeclined, false},
		"declined on another branch":   {declined, in(3, 15), wire.KindUnknown, true},
		"by a broker without lives":    {prepared, in(0, 15), wire.KindOwned, false},
		"farther than this has come":   {prepared, in(4, 31), wire.KindUnknown, true},
		"by a journal that is no more": {prepared, grid.JournalID{Incarnation: 4, Life: 1, Sequence: 3}, wire.KindInquire, false},
	} {
		c := branch(k.record)
		got := wire.Kind(0)
		for _, m := range sentTo(c.Step(1_000_001, Message{her, wire.Commit{Handoff: handoff, Certificate: d, Ready: k.ready}}), her) {
			if m.Kind() == k.answer {
				got = m.Kind()
			}
			if d, is := m.(wire.Declined); is && d.Ready != k.ready {
				t.Errorf("%s: it does not say what it reaches: %+v", name, d)
			}
		}
		if got != k.answer || (c.recovery.rolled != nil) != k.rolled {
			t.Errorf("%s: not answered by %s, rolled back %t", name, k.answer, c.recovery.rolled != nil)
		}
		c = branch(prepared)
		c.Step(1_000_001, Message{her, wire.InquireReply{Handoff: handoff, Verdict: wire.VerdictCommitted, Certificate: d, Ready: k.ready}})
		if owns := c.jobs[j.ID].rec.Role == grid.Owning; owns != (!k.rolled && k.answer != wire.KindInquire) { // a late answer is none
			t.Errorf("%s: told so by InquireReply it owns: %t", name, owns)
		}
	}
}

// What was READY is in a branch that is lost. Nobody that is asked about that branch knows of the job: who is told again that it was
// committed to him does not ask for ever, and gives his word never to own it.
func TestWhatWasReadyInALostBranchIsDeclined(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	at, lost := grid.Epoch{Term: 1, Hop: 9}, in(3, 15)
	handoff := wire.HandoffID{Job: j.ID, Epoch: at, To: me, Digest: wire.JobDigest(j)}
	d := grid.Certificate{Epoch: at, To: me, Signature: signature(her, wire.CertificateText(j.ID, wire.JobDigest(j), at, me))}
	prepared := grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Prepared, Owner: her, Handoff: grid.Handoff{To: me, Epoch: at}}}
	reply := Message{her, wire.InquireReply{Handoff: handoff, Verdict: wire.VerdictCommitted, Owner: me, Certificate: d, Ready: lost}}

	c := branch(prepared)
	c.Step(1_000_001, reply)
	if r := c.jobs[j.ID].rec.Role; r != grid.Prepared || c.recovery.rolled == nil {
		t.Fatalf("before all were asked it is %s, rolled back %t", r, c.recovery.rolled != nil)
	}
	c.Step(1_000_002, Message{her, wire.Recounted{Claims: []wire.Claim{{Job: j.ID, Epoch: at, Yours: true}}}})
	c.Step(1_000_002, Message{him, wire.Recounted{}})
	if !settled(c, 1_000_003) {
		t.Fatal("it asks for ever")
	}
	now := c.now + 1
	if m := sentTo(c.Step(now, Message{her, wire.Commit{Handoff: handoff, Certificate: d, Ready: lost}}), her); len(m) != 1 || m[0].Kind() != wire.KindUnknown || c.recovery.rolled != nil {
		t.Errorf("to the Commit it says %+v, rolled back once more %t", m, c.recovery.rolled != nil)
	}
	m := sentTo(c.Step(now+1, reply), her)
	if r := c.jobs[j.ID].rec.Role; r != grid.Declined || len(m) != 1 || m[0].Kind() != wire.KindDeclined || c.recovery.rolled != nil {
		t.Errorf("when all were asked it is %s, says %+v, rolled back once more %t", r, m, c.recovery.rolled != nil)
	}
}

// After the commit Declined gives a job back from the life that was READY, or where it says that
// its journal reaches that.
func TestDeclinedByALaterLife(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	at := grid.Epoch{Term: 1, Hop: 9}
	ready := grid.JournalID{Incarnation: 7, Life: 1, Sequence: 40}
	handoff := wire.HandoffID{Job: j.ID, Epoch: at, To: her, Digest: wire.JobDigest(j)}
	for name, k := range map[string]struct {
		m      wire.Declined
		back   bool
		asked  bool // Commit is said again
		gaveUp bool
	}{
		"the same life":               {wire.Declined{Handoff: handoff, Journal: grid.JournalID{Incarnation: 7, Life: 1, Sequence: 41}}, true, false, false},
		"a later life":                {wire.Declined{Handoff: handoff, Journal: grid.JournalID{Incarnation: 7, Life: 2, Sequence: 90}}, false, true, false},
		"a later life that says so":   {wire.Declined{Handoff: handoff, Journal: grid.JournalID{Incarnation: 7, Life: 2, Sequence: 90}, Ready: ready}, true, false, false},
		"a life that reaches another": {wire.Declined{Handoff: handoff, Journal: grid.JournalID{Incarnation: 7, Life: 2, Sequence: 90}, Ready: grid.JournalID{Incarnation: 7, Life: 1, Sequence: 39}}, false, true, false},
		"another journal":             {wire.Declined{Handoff: handoff, Journal: grid.JournalID{Incarnation: 8, Life: 1, Sequence: 90}, Ready: ready}, false, false, true},
	} {
		c := branch(grid.Record{
			Job:    j,
			State:  grid.Moving,
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at, Candidate: ready, Handoff: grid.Handoff{Phase: grid.Committed, To: her, Epoch: at}},
		})
		asked := false
		for _, m := range sentTo(c.Step(1_000_001, Message{her, k.m}), her) {
			asked = asked || m.Kind() == wire.KindCommit
		}
		r := c.jobs[j.ID].rec
		if (r.Role == grid.Owning) != k.back || asked != k.asked || (r.ContactLost != 0) != k.gaveUp {
			t.Errorf("%s: %s, asked again %t, lost %t", name, r.Role, asked, r.ContactLost != 0)
		}
	}
}

// The highest sequence of each life is kept, and the life heard last is the present one; an Offer
// has it too, before the job is PREPARED.
func TestWhatIsKeptOfLives(t *testing.T) {
	t.Parallel()
	c := branch()
	for _, at := range []grid.JournalID{in(1, 4), in(2, 5), in(1, 9), in(2, 4)} {
		c.Step(1_000_001, PeerJournal{her, at, 1})
	}
	if got := c.recovery.highWater[her]; len(got) != 2 || got[0] != in(1, 9) || got[1] != in(2, 5) || c.recovery.mark(her) != in(2, 5) {
		t.Errorf("kept %v", got)
	}
	j := jobOf(her, "b", "1")
	o := wire.Offer{Handoff: wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 9}, To: me, Digest: wire.JobDigest(j)}, Job: j, Journal: in(3, 1)}
	if s, is := only[Saw](c.Step(1_000_002, Message{her, o})); !is || s.Journal != in(3, 1) {
		t.Errorf("of an offer %+v is kept", s)
	}
}
