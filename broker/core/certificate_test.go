package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

const it = grid.PeerID("peer-d")

// signer is the configuration of a broker that signs and verifies.
func signer(self grid.PeerID, name grid.SiteName) Config {
	return Config{
		Self: self, Site: grid.Site{Name: name, Processes: 4, Speed: 1},
		Sign:   func(text []byte) []byte { return signature(self, text) },
		Verify: func(by grid.PeerID, text, sig []byte) bool { return string(signature(by, text)) == string(sig) },
	}
}

// signed is a core of site a (peer me) with the neighbours b, c and d, which live.
func signed(records ...grid.Record) *Core {
	c := New(signer(me, "a"), []grid.Member{
		{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}, {Name: "d", Peer: it, Send: true}}, records)
	begin(c)
	for _, p := range []grid.PeerID{her, him, it} {
		c.Step(1_000_000, PeerChanged{p, grid.Alive})
		c.Step(1_000_000, Message{p, wire.Seen{}})
	}
	return c
}

// certificate is one by a peer.
func certificate(j grid.Job, by grid.PeerID, hop uint32, to grid.PeerID) grid.Certificate {
	e := grid.Epoch{Term: 1, Hop: hop}
	return grid.Certificate{Epoch: e, To: to, Signature: signature(by, wire.CertificateText(j.ID, wire.JobDigest(j), e, to))}
}

func sentTo(effects []Effect, to grid.PeerID) (list []wire.Message) {
	for _, e := range effects {
		if s, ok := e.(Send); ok && s.To == to {
			list = append(list, s.Message)
		}
	}
	return list
}

// forgeries are chains by which c would show that it owns a job of b's at 1.2.
func forgeries(j grid.Job) map[string][]grid.Certificate {
	good := []grid.Certificate{certificate(j, her, 1, it), certificate(j, it, 2, him)}
	other := j
	other.Rerunnable = true
	return map[string][]grid.Certificate{
		"none":                {},
		"own word":            {certificate(j, him, 2, him)},
		"not from the home":   {certificate(j, it, 1, him)},
		"a link is missing":   {good[1]},
		"ends elsewhere":      good[:1],
		"descends":            {certificate(j, her, 5, it), certificate(j, it, 2, him)},
		"stands still":        {certificate(j, her, 2, it), certificate(j, it, 2, him)},
		"of another job":      {certificate(other, her, 1, it), certificate(other, it, 2, him)},
		"two terms":           {{Epoch: grid.Epoch{Hop: 1}, To: it, Signature: signature(her, wire.CertificateText(j.ID, wire.JobDigest(j), grid.Epoch{Hop: 1}, it))}, good[1]},
		"signed by who gains": {good[0], {Epoch: good[1].Epoch, To: him, Signature: signature(him, wire.CertificateText(j.ID, wire.JobDigest(j), good[1].Epoch, him))}},
		"epoch changed":       {good[0], {Epoch: grid.Epoch{Term: 1, Hop: 3}, To: him, Signature: good[1].Signature}},
		"receiver changed":    {{Epoch: good[0].Epoch, To: him, Signature: good[0].Signature}},
	}
}

// An offer of an owner elsewhere than home is taken with a chain of certificates, and with
// nothing else.
func TestAnOfferNeedsCertificates(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	offers := map[string]wire.Offer{}
	for name, chain := range forgeries(j) {
		o := offerOf(j, 9, 0)
		o.Certificates = chain
		offers[name] = o
	}
	good := []grid.Certificate{certificate(j, her, 1, it), certificate(j, it, 2, him)}
	late := offerOf(j, 2, 0)
	late.Certificates = good
	offers["no later epoch"] = late
	term := offerOf(j, 9, 0)
	term.Handoff.Epoch.Term = 2
	term.Certificates = good
	offers["another term"] = term
	for name, o := range offers {
		c := signed()
		effects := c.Step(1_000_001, Message{him, o})
		effects = append(effects, c.Step(1_000_002, shot(1_000_002))...)
		answers := sentTo(effects, him)
		if len(answers) != 1 || c.jobs[j.ID] != nil || len(c.accepted) > 0 {
			t.Errorf("%s: answered %+v, record %+v", name, answers, c.jobs[j.ID])
		} else if _, ok := answers[0].(wire.Error); !ok {
			t.Errorf("%s: answered %+v", name, answers[0])
		}
	}
	c := signed()
	o := offerOf(j, 9, 0)
	o.Certificates, o.Hops = good, 3
	c.Step(1_000_001, Message{him, o})
	c.Step(1_000_002, shot(1_000_002))
	if k := c.jobs[j.ID]; k == nil || k.rec.Role != grid.Prepared || k.rec.Hops != 3 {
		t.Errorf("with good certificates it is not prepared: %+v", k)
	}
}

// The commit of such an owner is taken with its certificate alone, and the new owner can
// show the whole chain.
func TestACommitNeedsItsCertificate(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed()
	o := offerOf(j, 9, 0)
	o.Certificates = []grid.Certificate{certificate(j, her, 1, it), certificate(j, it, 2, him)}
	c.Step(1_000_001, Message{him, o})
	c.Step(1_000_002, shot(1_000_002))
	for _, d := range []grid.Certificate{{}, certificate(j, it, 9, me), certificate(j, him, 8, me), certificate(j, him, 9, it)} {
		effects := c.Step(1_000_003, Message{him, wire.Commit{Handoff: o.Handoff, Certificate: d}})
		if c.jobs[j.ID].rec.Role != grid.Prepared {
			t.Fatalf("owned by the certificate %+v", d)
		}
		if _, ok := sentTo(effects, him)[0].(wire.Error); !ok {
			t.Errorf("answered %+v", effects)
		}
		c.Step(1_000_003, Message{him, wire.InquireReply{Handoff: o.Handoff, Verdict: wire.VerdictCommitted, Certificate: d}})
		if c.jobs[j.ID].rec.Role != grid.Prepared {
			t.Fatalf("owned, on being asked, by the certificate %+v", d)
		}
	}
	effects := c.Step(1_000_004, Message{him, wire.Commit{Handoff: o.Handoff, Certificate: certificate(j, him, 9, me)}})
	k := c.jobs[j.ID]
	if k.rec.Role != grid.Owning || len(k.rec.Certificates) != 3 || !c.ownership.mayHandOn(k) {
		t.Fatalf("%+v", k.rec)
	}
	for _, m := range sentTo(effects, her) {
		if r, ok := m.(wire.Report); ok && !slices.EqualFunc(r.Certificates, k.rec.Certificates, sameCertificate) {
			t.Errorf("it reports with the certificates %+v", r.Certificates)
		}
	}
	c.Step(1_000_005, Message{her, wire.ReportAck{Job: j.ID, Epoch: k.rec.Epoch, Number: k.rec.Report}})
	if len(c.home.reportOf(k).Certificates) > 0 {
		t.Error("a home that knows its owner is shown the certificates again")
	}
}

func sameCertificate(a, b grid.Certificate) bool {
	return a.Epoch == b.Epoch && a.To == b.To && string(a.Signature) == string(b.Signature)
}

// A home that cannot sign commits; what it gave away can go nowhere but back to it.
func TestACommitOfTheHomeNeedsNoCertificate(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed()
	o := offerOf(j, 1, 0)
	c.Step(1_000_001, Message{her, o})
	c.Step(1_000_002, shot(1_000_002))
	c.Step(1_000_003, Message{her, wire.Commit{Handoff: o.Handoff}})
	k := c.jobs[j.ID]
	if k.rec.Role != grid.Owning || c.ownership.mayHandOn(k) {
		t.Errorf("%+v", k.rec)
	}
}

// The home believes a new owner, and a former one, by certificates that come from the owner
// it knows.
func TestTheHomeBelievesCertificates(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	watched := grid.Record{
		Job:    j,
		State:  grid.Assigned,
		Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 3}, Report: 7},
		AtHome: grid.AtHome{Trail: []grid.PeerID{her}},
	}
	home := []grid.Certificate{certificate(j, me, 1, it), certificate(j, it, 3, her)}
	bad := map[string][]grid.Certificate{
		"one that it knows to have given it on": {certificate(j, me, 1, it), certificate(j, it, 5, him)},
		"its own certificate of old":            {certificate(j, me, 4, him)},
		"no certificate of the owner":           append(slices.Clip(home), certificate(j, him, 5, him)),
		"of another term":                       append(slices.Clip(home), grid.Certificate{Epoch: grid.Epoch{Term: 2, Hop: 5}, To: him, Signature: []byte("x")}),
		"for somebody else":                     append(slices.Clip(home), certificate(j, her, 5, it)),
		"of another epoch":                      append(slices.Clip(home), certificate(j, her, 4, him)),
		"no certificates":                       nil,
	}
	for name, chain := range bad {
		c := signed(watched)
		c.Step(1_000_001, Message{him, wire.Report{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 5}, Number: 1, State: grid.StageOut, End: grid.Completed, Certificates: chain}})
		if r := c.jobs[j.ID].rec; r.Owner != her || r.State != grid.Assigned {
			t.Errorf("%s: it is now %s, owned by %s", name, r.State, r.Owner)
		}
	}
	good := append(slices.Clip(home), certificate(j, her, 5, him))
	report := wire.Report{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 5}, Number: 1, State: grid.Running, Certificates: good}
	moved := wire.Moved{Job: j.ID, Certificates: good}
	ack := wire.MovedAck{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 5}}
	for _, order := range [][]Message{
		{{him, report}}, {{her, moved}}, {{her, moved}, {him, report}}, {{him, report}, {her, moved}}, {{him, report}, {it, wire.Moved{Job: j.ID, Certificates: home}}},
	} {
		c := signed(watched)
		for _, m := range order {
			effects := c.Step(1_000_001, m)
			if told, ok := m.Message.(wire.Moved); ok {
				want := ack
				want.Epoch = told.Certificates[len(told.Certificates)-1].Epoch
				if answers := sentTo(effects, m.From); len(answers) == 0 || answers[len(answers)-1] != wire.Message(want) {
					t.Errorf("%T is answered %+v", m.Message, answers)
				}
			}
		}
		r := c.jobs[j.ID].rec
		if r.Owner != him || r.Epoch.Hop != 5 || !slices.Contains(r.Trail, it) || !slices.Contains(r.Trail, him) {
			t.Errorf("after %+v: owner %s, epoch %s, trail %v", order, r.Owner, r.Epoch, r.Trail)
		}
	}
}

// A job that was declined after the commit is owned again by a certificate to oneself, and
// the next owner's chain holds at the home.
func TestTakingBackIsCertified(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed(grid.Record{
		Job:    j,
		State:  grid.Assigned,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
		Run:    grid.Run{Attempt: 1, Local: "l"},
	})
	k := c.jobs[j.ID]
	k.homeHeard = c.now
	for n := range 3 {
		to := []grid.PeerID{him, it, him}[n]
		c.ownership.makeOffer(k, to, 0, 1)
		b := c.ownership.handoffID(k)
		c.Step(c.now+1, Message{to, wire.Ready{Handoff: b}})
		c.Step(c.now+1, Withdrawn{ID: c.attempt(k), Done: true})
		c.Step(c.now+1, Message{to, wire.Declined{Handoff: b}})
		if k.rec.Role != grid.Owning || k.rec.Telling {
			t.Fatalf("%+v", k.rec)
		}
		if n := len(k.rec.Certificates); n != 2 || k.rec.Certificates[1].To != me || k.rec.Certificates[1].Epoch != k.rec.Epoch {
			t.Fatalf("owned at %s by %d certificates: %+v", k.rec.Epoch, n, k.rec.Certificates)
		}
		if why := c.ownership.unproven(&k.rec.Job, k.sum(), k.rec.Certificates); why != believed {
			t.Fatal(why)
		}
	}
	home := New(signer(her, "b"), []grid.Member{{Name: "a", Peer: me, Send: true}}, []grid.Record{
		{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}}})
	home.Step(1, Boot{})
	home.Step(2, Message{me, c.home.reportOf(k)})
	if r := home.jobs[j.ID].rec; r.Epoch != k.rec.Epoch || r.Owner != me {
		t.Errorf("the home knows epoch %s of %s", r.Epoch, r.Owner)
	}
}

// A tombstone outlives an offer that comes to nothing: its word still counts.
func TestATombstoneOutlivesAnOffer(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	chain := []grid.Certificate{certificate(j, her, 1, me), certificate(j, me, 2, him)}
	c := signed(grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Tombstone, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 2}, Certificates: chain, Telling: true}})
	o := offerOf(j, 3, 0)
	o.Certificates = chain
	c.Step(1_000_001, Message{him, o})
	c.Step(1_000_002, shot(1_000_002))
	if c.jobs[j.ID].rec.Role != grid.Prepared {
		t.Fatal("it is not prepared")
	}
	c.Step(1_000_003, Message{him, wire.Abort{Handoff: o.Handoff}})
	k := c.jobs[j.ID]
	if k == nil || k.rec.Role != grid.Tombstone || !k.rec.Telling {
		t.Fatalf("its word that it owned the job is gone: %+v", k)
	}
	effects := c.Step(1_000_004, Message{her, wire.Commit{Handoff: wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, To: me}}})
	if m, ok := sentTo(effects, her)[0].(wire.Owned); !ok || m.Owner != him {
		t.Errorf("a late commit is answered %+v", effects)
	}
}

// A member says that it owns a job which this journal never committed to it: only a
// certificate of ours shows that the journal has forgotten something.
func TestNobodyStopsABrokerByAWord(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	handoff := wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 4}, To: him, Digest: wire.JobDigest(j)}
	for name, c := range map[string]struct {
		certificate grid.Certificate
		rolled      bool
	}{
		"no certificate":        {},
		"of somebody else":      {certificate: certificate(j, him, 4, him)},
		"for somebody else":     {certificate: certificate(j, me, 4, it)},
		"of another epoch":      {certificate: certificate(j, me, 3, him)},
		"signed by this broker": {certificate: certificate(j, me, 4, him), rolled: true},
	} {
		core := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: 1, Local: "l"}})
		core.Step(1_000_001, Message{him, wire.Owned{Handoff: handoff, Owner: him, Certificate: c.certificate}})
		if got := core.recovery.rolled != nil; got != c.rolled {
			t.Errorf("%s: rolled back %t", name, got)
		}
	}
}
