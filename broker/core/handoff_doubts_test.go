package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A candidate says that it will never own what it was offered: the offer is dead at once, and the job stays.
func TestAnOfferIsDeclined(t *testing.T) {
	t.Parallel()
	c, j, handoff := offering(grid.Offering)
	c.Step(c.now+1, Message{him, wire.Declined{Handoff: handoff}})
	if j.rec.Handoff.Phase != grid.NoHandoff || j.rec.Role != grid.Owning || j.rec.State != grid.Assigned || j.rec.Handoff.Epoch != handoff.Epoch {
		t.Errorf("it is %s %v, phase %d, epoch %s", j.rec.Role, j.rec.State, j.rec.Handoff.Phase, j.rec.Handoff.Epoch)
	}
}

// passedOn is a job of b that this site has committed to c, which was READY in the journal 3.
func passedOn(off Rules) (*Core, *job, wire.HandoffID) {
	r, handoff := onItsWay(grid.Committed)
	r.Role, r.Owner, r.Epoch = grid.Tombstone, him, handoff.Epoch
	r.Certificates = append(r.Certificates, certificate(r.Job, me, 2, him))
	r.Candidate, r.Telling = in(3, 5), true
	r.Candidate.Incarnation = 3
	cfg := signer(me, "a")
	cfg.Broken = off
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, []grid.Record{r})
	begin(c)
	for _, p := range []grid.PeerID{her, him} {
		c.Step(1_000_000, PeerChanged{p, grid.Alive})
		c.Step(1_000_000, Message{p, wire.Seen{}})
	}
	return c, c.job(r.Job.ID), handoff
}

// The candidate of a commit speaks from another journal than the one that was READY: it may have owned the job and lost that. So the
// job is not taken back; who gave it away stops saying Commit, and its home hears who has it.
func TestTheOwnerHasLostItsJournal(t *testing.T) {
	t.Parallel()
	other := grid.JournalID{Incarnation: 9, Life: 1, Sequence: 1}
	for name, word := range map[string]func(wire.HandoffID) wire.Message{
		"declined": func(b wire.HandoffID) wire.Message { return wire.Declined{Handoff: b, Journal: other} },
		"unknown":  func(b wire.HandoffID) wire.Message { return wire.Unknown{Handoff: b, Journal: other} },
		"inquires": func(b wire.HandoffID) wire.Message { return wire.Inquire{Handoff: b, Journal: other} },
	} {
		c, j, b := passedOn(0)
		moved := false
		for _, m := range sentTo(c.Step(c.now+1, Message{him, word(b)}), her) {
			w, is := m.(wire.Moved)
			moved = moved || is && len(w.Certificates) == 2 && w.Certificates[1].To == him
		}
		if j.rec.Role != grid.Tombstone || j.rec.Owner != him || j.rec.Handoff.Phase != grid.NoHandoff || j.rec.Ended != c.now || j.rec.Reason != "c, its owner, has lost its journal" || !moved {
			t.Errorf("%s: it is %s of %s, phase %d, %q; its home is told %t", name, j.rec.Role, j.rec.Owner, j.rec.Handoff.Phase, j.rec.Reason, moved)
		}
		for now := c.now; now < 1_000_000+5*grid.Minute; {
			now, _ = c.Next()
			if committed(c.Step(now, Tick{})) {
				t.Fatalf("%s: Commit is said on", name)
			}
		}
	}
	c, j, b := passedOn(UnknownTakenBack)
	c.Step(c.now+1, Message{him, wire.Unknown{Handoff: b, Journal: other}})
	if j.rec.Role != grid.Owning || j.rec.Owner != me || !b.Epoch.Before(j.rec.Epoch) {
		t.Errorf("without that rule it is %s of %s at %s", j.rec.Role, j.rec.Owner, j.rec.Epoch)
	}
}

// Commit is said until it is answered, unless that rule is off.
func TestCommitIsRepeated(t *testing.T) {
	t.Parallel()
	for off, repeated := range map[Rules]bool{0: true, CommitNotRepeated: false} {
		c, _, _ := passedOn(off)
		n := 0
		for now := c.now; now < 1_000_000+grid.Minute; {
			now, _ = c.Next()
			if committed(c.Step(now, Tick{})) {
				n++
			}
		}
		if n > 2 != repeated {
			t.Errorf("rules off %b: said %d times in a minute", off, n)
		}
	}
}

// A candidate asks what became of a handoff: of a job of this site of which nothing is known its offer is dead, once this broker knows
// what its journal lacks; until then the candidate is asked for what it has.
func TestInquiriesAboutAJobThatIsGone(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		job  grid.Job
		lost bool
		want wire.Message
	}{
		{jobOf(me, "a", "1"), false, wire.InquireReply{Verdict: wire.VerdictAborted}},
		{jobOf(me, "a", "1"), true, wire.Recall{}},
		{jobOf(her, "b", "1"), false, wire.InquireReply{Verdict: wire.VerdictUnknown}},
	} {
		c := signed()
		if k.lost {
			c.recovery.bereft = true
		}
		b := wire.HandoffID{Job: k.job.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}, To: him, Digest: wire.JobDigest(k.job)}
		got := sentTo(c.Step(1_000_001+grid.Minute, Message{him, wire.Inquire{Handoff: b}}), him)
		if len(got) == 0 || got[0].Kind() != k.want.Kind() {
			t.Errorf("%s, lost %t: answered %+v", k.job.ID, k.lost, got)
			continue
		}
		if r, is := got[0].(wire.InquireReply); is && r.Verdict != k.want.(wire.InquireReply).Verdict {
			t.Errorf("%s, lost %t: verdict %d", k.job.ID, k.lost, r.Verdict)
		}
		if stranger := sentTo(c.Step(c.now+1, Message{her, wire.Inquire{Handoff: b}}), her); len(stranger) > 0 {
			t.Errorf("one who is not the candidate is answered %+v", stranger)
		}
	}
}

// A job was offered back to its home by an owner, who gives it to another meanwhile: the home hears that from a former owner, drops the
// offer and watches the new owner. That it has the job itself is told by the Commit alone.
func TestAnOfferHomeIsOvertaken(t *testing.T) {
	t.Parallel()
	back := func() (*Core, *job, grid.Job) {
		j := jobOf(me, "a", "1")
		c := signed(grid.Record{
			Job: j, State: grid.Assigned, AtHome: grid.AtHome{Trail: []grid.PeerID{her}},
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: []grid.Certificate{certificate(j, me, 1, her)}},
		})
		o := offerOf(j, 2, 0)
		o.Certificates = []grid.Certificate{certificate(j, me, 1, her)}
		c.Step(c.now+1, Message{her, o})
		c.Step(c.now+1, shot(c.now+1))
		return c, c.job(j.ID), j
	}
	c, k, j := back()
	if k.rec.Role != grid.Prepared {
		t.Fatalf("it is %s", k.rec.Role)
	}
	to := func(hop uint32, p grid.PeerID) wire.Moved {
		return wire.Moved{Job: j.ID, Version: wire.JobDigest(j), Certificates: []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, hop, p)}}
	}
	if got := sentTo(c.Step(c.now+1, Message{her, to(2, me)}), her); len(got) > 0 || k.rec.Role != grid.Prepared {
		t.Errorf("told that it has the job itself, it answers %+v and is %s", got, k.rec.Role)
	}
	got := sentTo(c.Step(c.now+1, Message{her, to(3, him)}), her)
	if len(got) != 1 || got[0] != wire.Message(wire.MovedAck{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 3}}) {
		t.Errorf("answered %+v", got)
	}
	if k.rec.Role != grid.Watching || k.rec.Owner != him || len(k.rec.Trail) != 2 {
		t.Errorf("it is %s of %s, trail %v", k.rec.Role, k.rec.Owner, k.rec.Trail)
	}
	for now := c.now; now < 1_000_000+10*grid.Minute; {
		now, _ = c.Next()
		for _, m := range sent(c.Step(now, Tick{})) {
			if m.Kind() == wire.KindInquire || m.Kind() == wire.KindDeclined {
				t.Fatalf("it still asks about the offer: %+v", m)
			}
		}
	}
	c, k, j = back()
	forged := to(3, him)
	forged.Certificates[1].Signature = []byte("no")
	if got := sentTo(c.Step(c.now+1, Message{her, forged}), her); len(got) != 1 || got[0].Kind() != wire.KindError || k.rec.Role != grid.Prepared {
		t.Errorf("forged, it is answered %+v and is %s", got, k.rec.Role)
	}
	c, k, j = back()
	c.Step(c.now+1, CancelRequest{Token: 1, Job: j.ID, By: "alice"})
	cancelled := false
	for _, m := range sentTo(c.Step(c.now+1, Message{her, to(3, him)}), him) {
		w, is := m.(wire.Cancel)
		cancelled = cancelled || is && w.Epoch == grid.Epoch{Term: 1, Hop: 3}
	}
	if !cancelled || !k.rec.CancelRequested {
		t.Error("the new owner does not hear that its user wants its end")
	}
}

// Certificates prove to whom a job was given last, and nothing of anyone else.
func TestWhomCertificatesProve(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	verify := signer(me, "a").Verify
	chain := []grid.Certificate{certificate(j, her, 1, me), certificate(j, me, 2, him)}
	long := []grid.Certificate{}
	for hop := uint32(1); len(long) <= grid.MaxCertificates; hop++ {
		long = append(long, certificate(j, her, hop, her))
	}
	for name, k := range map[string]struct {
		by    grid.PeerID
		chain []grid.Certificate
		want  bool
	}{
		"the last": {him, chain, true}, "one before": {me, chain, false}, "none": {him, nil, false}, "not signed": {him, chain[1:], false},
		"as many as may be": {her, long[:grid.MaxCertificates], true}, "too many": {her, long, false},
	} {
		if got := Owned(verify, j.ID, her, k.by, wire.JobDigest(j), k.chain); got != k.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A home that owns a job takes no offer of it, though who offers it shows certificates that were good once.
func TestAHomeThatOwnsAJobIsNotOfferedIt(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	o := offerOf(j, 6, 0)
	o.Certificates = []grid.Certificate{certificate(j, me, 5, him)}
	got := sentTo(c.Step(c.now+1, Message{him, o}), him)
	if len(got) != 1 || got[0].Kind() != wire.KindError || got[0].(wire.Error).Why != homeOwns.String() {
		t.Errorf("answered %+v", got)
	}
	if len(c.ownership.offers) > 0 {
		t.Error("its offer is considered")
	}
}

// A candidate fetches what a job asks for from elsewhere before it is READY; a source that cannot be had is no site's fault, and refused
// for good. The owner may give up meanwhile.
func TestACandidateFetchesFromElsewhere(t *testing.T) {
	t.Parallel()
	accepting := func() (*Core, wire.Offer, Fetch) {
		j := jobOf(her, "b", "1")
		j.Sources = []grid.Source{{Path: "x", URI: "https://h/x"}}
		c := signed()
		o := offerOf(j, 1, grid.Hour)
		c.Step(c.now+1, Message{her, o})
		effects := c.Step(c.now+1, shot(c.now+1))
		f, fetches := only[Fetch](effects)
		if !fetches || f.With == nil || f.With.ID != j.ID || c.job(j.ID) != nil {
			t.Fatalf("it fetches %+v, known %t", f, c.job(j.ID) != nil)
		}
		return c, o, f
	}
	c, o, f := accepting()
	c.Step(c.now+1, Fetched{Job: f.Job, Epoch: grid.Epoch{Term: 1, Hop: 9}, Set: InputFiles})
	if c.job(f.Job) != nil {
		t.Fatal("files of another offer make it READY")
	}
	ready := sentTo(c.Step(c.now+1, Fetched{Job: f.Job, Epoch: f.Epoch, Set: InputFiles}), her)
	if len(ready) != 1 || ready[0].Kind() != wire.KindReady {
		t.Errorf("it says %+v", ready)
	}
	for source, kind := range map[bool]grid.RefusalKind{true: grid.Permanent, false: grid.Temporary} {
		c, _, f = accepting()
		effects := c.Step(c.now+1, Fetched{Job: f.Job, Epoch: f.Epoch, Set: InputFiles, Err: errors.New("no such file"), Source: source})
		said := sentTo(effects, her)
		if r, is := said[len(said)-1].(wire.Refuse); !is || r.Estimate.Refusal.Kind != kind {
			t.Errorf("source %t: it says %+v", source, said)
		}
		if _, is := only[Discard](effects); !is || len(c.accepted) > 0 {
			t.Errorf("source %t: what was fetched is kept", source)
		}
	}
	c, o, f = accepting()
	late := o.Handoff
	late.Epoch.Hop = 0
	c.Step(c.now+1, Message{her, wire.Abort{Handoff: late}})
	c.Step(c.now+1, Message{him, wire.Abort{Handoff: o.Handoff}})
	if c.accepted[f.Job] == nil {
		t.Fatal("the word of another ends it")
	}
	if _, is := only[Discard](c.Step(c.now+1, Message{her, wire.Abort{Handoff: o.Handoff}})); !is || c.accepted[f.Job] != nil {
		t.Error("given up by its owner, it is fetched on")
	}
}

// Two offers of one job wait for the same look at the batch system: it is fetched for the first alone, as its owner makes a new one when
// that dies.
func TestTwoOffersOfOneJob(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	j.Inputs = grid.Manifest{{Path: "in", Size: 5, Ranges: make([]grid.Hash, 1)}}
	c := signed()
	c.Step(c.now+1, Message{her, offerOf(j, 1, grid.Hour)})
	c.Step(c.now+1, Message{her, offerOf(j, 2, grid.Hour)})
	var fetched []Fetch
	for _, e := range c.Step(c.now+1, shot(c.now+1)) {
		if f, is := e.(Fetch); is {
			fetched = append(fetched, f)
		}
	}
	if len(fetched) != 1 || fetched[0].Epoch.Hop != 1 {
		t.Errorf("fetched for %+v", fetched)
	}
}

// While the batch system cannot be seen, or the disk is full, questions and offers are refused for now, with why.
func TestNothingIsPromisedUnseen(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		look Looked
		why  string
	}{"no answer": {Looked{Err: errors.New("it is down")}, noLook}, "full": {Looked{Full: true}, diskFull}} {
		c := signed()
		j, l := jobOf(her, "b", "1"), jobOf(her, "b", "2")
		c.Step(c.now+1, Message{her, offerOf(j, 1, grid.Hour)})
		c.Step(c.now+1, Message{her, wire.EstimateRequest{Round: 7, Questions: []wire.Question{{Job: l.ID, Demand: l.Demand, Walltime: l.Walltime}}}})
		c.Step(c.now+1, Message{her, wire.Slots{Of: l.ID, Round: 8, Demand: l.Demand, Walltime: l.Walltime, To: grid.Hour}})
		k.look.Snapshot = shot(c.now + 1).Snapshot
		said := map[wire.Kind]*grid.Refusal{}
		for _, m := range sentTo(c.Step(c.now+1, k.look), her) {
			switch m := m.(type) {
			case wire.EstimateReply:
				said[m.Kind()] = m.Answers[0].Estimate.Refusal
			case wire.Refuse:
				said[m.Kind()] = m.Estimate.Refusal
			case wire.SlotsReply:
				said[m.Kind()] = m.Refusal
			}
		}
		for _, kind := range []wire.Kind{wire.KindEstimateReply, wire.KindRefuse, wire.KindSlotsReply} {
			if why := said[kind]; why == nil || why.Reason != k.why || why.Kind != grid.Temporary {
				t.Errorf("%s: %v says %+v", name, kind, why)
			}
		}
		if len(c.accepted) > 0 || c.job(j.ID) != nil {
			t.Errorf("%s: the offer is taken", name)
		}
	}
}

// So many offers wait for a look that no member alone can have made them: one more is refused for now.
func TestTooManyOffersWait(t *testing.T) {
	t.Parallel()
	c := signed()
	c.ownership.offers = make([]pendingOffer, maxPending-1)
	c.Step(c.now+1, Message{her, offerOf(jobOf(her, "b", "1"), 1, grid.Hour)})
	if n := len(c.ownership.offers); n != maxPending {
		t.Fatalf("%d wait", n)
	}
	got := sentTo(c.Step(c.now+1, Message{her, offerOf(jobOf(her, "b", "2"), 1, grid.Hour)}), her)
	if len(got) != 1 || got[0].(wire.Refuse).Estimate.Refusal.Reason != tooMany || len(c.ownership.offers) != maxPending {
		t.Errorf("answered %+v, %d wait", got, len(c.ownership.offers))
	}
}
