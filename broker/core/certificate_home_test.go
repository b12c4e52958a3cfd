package core

import (
	"fmt"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A former owner tells the home until it is heard, also after a restart.
func TestAFormerOwnerTellsTheHome(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	certificates := []grid.Certificate{certificate(j, her, 1, me)}
	c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: certificates}, Run: grid.Run{Attempt: 1, Local: "l"}})
	k := c.jobs[j.ID]
	k.homeHeard = c.now
	c.ownership.makeOffer(k, him, 0, 1)
	b := c.ownership.handoffID(k)
	c.Step(1_000_001, Message{him, wire.Ready{Handoff: b}})
	c.Step(1_000_002, Withdrawn{ID: c.attempt(k), Done: true})
	if k.rec.Role != grid.Tombstone || !k.rec.Telling {
		t.Fatalf("%+v", k.rec)
	}
	told := func(effects []Effect) (n int) {
		for _, m := range sentTo(effects, her) {
			if m, ok := m.(wire.Moved); ok && len(m.Certificates) == 2 && m.Certificates[1].To == him {
				n++
			}
		}
		return n
	}
	if told(c.Step(1_000_003, Tick{})) > 0 {
		t.Error("told before the candidate has owned it: it may yet decline")
	}
	owned := c.Step(1_000_004, Message{him, wire.Owned{Handoff: b, Owner: him}})
	if told(owned) != 1 {
		t.Error("not told")
	}
	if _, gone := only[Discard](owned); gone {
		t.Error("its files are gone, and on disk the handoff is open: after a crash it may be declined, and run here")
	}
	again := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{k.rec})
	if told(again.Step(1_000_100, Boot{})) != 1 {
		t.Error("not told after a restart")
	}
	n := 0
	for now := grid.Tick(1_000_100); now < 1_000_100+grid.Minute; {
		now, _ = again.Next()
		n += told(again.Step(now, Tick{}))
	}
	if n < 3 {
		t.Errorf("repeated %d times in a minute", n)
	}
	again.Step(1_000_200+grid.Minute, Message{him, wire.MovedAck{Job: j.ID, Epoch: b.Epoch}})
	if !again.jobs[j.ID].rec.Telling {
		t.Error("acknowledged by somebody else than the home")
	}
	heard := again.Step(1_000_200+grid.Minute, Message{her, wire.MovedAck{Job: j.ID, Epoch: b.Epoch}})
	if again.jobs[j.ID].rec.Telling || again.live[j.ID] != nil {
		t.Error("acknowledged, and it is told on")
	}
	if _, gone := only[Discard](heard); !gone {
		t.Error("its files stay")
	}
}

// A chain has an end: then only the home takes the job, and begins a new one.
func TestAFullChainGoesHome(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	chain := []grid.Certificate{certificate(j, her, 1, it)}
	for hop := uint32(2); len(chain) < grid.MaxCertificates-2; hop++ {
		chain = append(chain, certificate(j, it, hop, it))
	}
	c := signed()
	k := &job{rec: grid.Record{Job: j, Tenure: grid.Tenure{Certificates: chain}}}
	if !c.ownership.mayHandOn(k) {
		t.Errorf("with %d certificates it can not be handed on", len(chain))
	}
	k.rec.Certificates = append(slices.Clip(chain), certificate(j, it, 99, me))
	if c.ownership.mayHandOn(k) {
		t.Errorf("with %d certificates it can be handed on", len(k.rec.Certificates))
	}
	r := &round{replies: map[grid.PeerID]*reply{}}
	for _, p := range []grid.PeerID{me, her, him} {
		r.replies[p] = &reply{site: grid.Site{Speed: 1}, answers: make([]grid.Estimate, 1), take: 1}
	}
	refused := ""
	for _, row := range c.search.candidates(k, r, 0) {
		if row.Refusal != nil && row.Refusal.Reason == unprovable {
			refused += fmt.Sprint(row.Site)
		}
	}
	if refused != "cd" {
		t.Errorf("refused by that reason: %q, want c and d: b is its home", refused)
	}
}

// A site takes no job of a home that it does not know: the result could not get home.
func TestAJobOfAStrangersHomeIsRefused(t *testing.T) {
	t.Parallel()
	unknown := grid.PeerID("peer-x")
	j := jobOf(unknown, "x", "1")
	c := signed()
	o := offerOf(j, 2, 0)
	o.Certificates = []grid.Certificate{certificate(j, unknown, 1, him)}
	effects := c.Step(1_000_001, Message{him, o})
	effects = append(effects, c.Step(1_000_001, Message{him, wire.EstimateRequest{Round: 3, Questions: []wire.Question{
		{Job: j.ID, Demand: j.Demand, Walltime: j.Walltime, Home: unknown}, {Job: j.ID, Demand: j.Demand, Walltime: j.Walltime}, {Job: j.ID, Demand: j.Demand, Walltime: j.Walltime, Home: it}}}})...)
	effects = append(effects, c.Step(1_000_002, shot(1_000_002))...)
	for _, m := range sentTo(effects, him) {
		switch m := m.(type) {
		case wire.Refuse:
			if m.Estimate.Refusal.Reason != stranger {
				t.Errorf("refused: %s", m.Estimate.Refusal.Reason)
			}
		case wire.EstimateReply:
			for i, a := range m.Answers {
				if refused := a.Estimate.Refusal != nil; refused != (i == 0) {
					t.Errorf("answer %d is %+v", i, a.Estimate)
				}
			}
		default:
			t.Errorf("answered %+v", m)
		}
	}
	if len(sentTo(effects, him)) != 2 || c.jobs[j.ID] != nil {
		t.Error("not answered, or taken")
	}
}

// A job comes home, and its inputs are there: nothing is fetched, and a new chain begins.
func TestAJobComesHome(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	j.Inputs = grid.Manifest{{Path: "data", Size: 1, Mode: 0o644, Ranges: make([]grid.Hash, 1)}}
	watched := grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}, AtHome: grid.AtHome{Trail: []grid.PeerID{her}}}
	o := offerOf(j, 2, 0)
	o.Certificates = []grid.Certificate{certificate(j, me, 1, her)}
	c := signed(watched)
	effects := c.Step(1_100_001, Message{her, o})
	for _, e := range append(effects, c.Step(1_100_002, shot(1_100_002))...) {
		if _, ok := e.(Fetch); ok {
			t.Error("its files are fetched from elsewhere")
		}
	}
	k := c.jobs[j.ID]
	c.Step(1_100_003, Message{her, wire.Commit{Handoff: o.Handoff, Certificate: certificate(j, her, 2, me)}})
	if k.rec.Role != grid.Owning || k.rec.State != grid.Assigned || len(k.rec.Certificates) > 0 || !c.ownership.mayHandOn(k) {
		t.Errorf("%+v", k.rec)
	}
	c = signed(watched) // and an offer that dies leaves all as it was
	c.Step(1_100_001, Message{her, o})
	c.Step(1_100_002, shot(1_100_002))
	effects = c.Step(1_100_003, Message{her, wire.Abort{Handoff: o.Handoff}})
	if k := c.jobs[j.ID]; k == nil || k.rec.Role != grid.Watching || k.rec.Owner != her {
		t.Errorf("%+v", k)
	}
	for _, e := range effects {
		if _, ok := e.(Discard); ok {
			t.Error("the files of its home are dropped")
		}
	}
	other := j
	other.Rerunnable = true
	o = offerOf(other, 2, 0)
	o.Certificates = []grid.Certificate{certificate(other, me, 1, her)}
	c = signed(watched)
	c.Step(1_100_001, Message{her, o})
	c.Step(1_100_002, shot(1_100_002))
	if c.jobs[j.ID].rec.Role != grid.Watching {
		t.Error("another job under the same identifier is taken")
	}
}

// A late copy of an offer back to the home that has died changes nothing there, and
// while one is open the home knows the job's state by its owner's reports.
func TestALateOfferHomeChangesNothing(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}, AtHome: grid.AtHome{Trail: []grid.PeerID{her}}})
	k := c.jobs[j.ID]
	o := offerOf(j, 2, 0)
	o.Certificates = []grid.Certificate{certificate(j, me, 1, her)}
	report := func(n uint64, s, end grid.State) {
		c.Step(c.now+1, Message{her, wire.Report{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 1}, Number: n, State: s, End: end, Outputs: grid.Manifest{{Path: "out"}}}})
	}
	c.Step(c.now+1, Message{her, o})
	c.Step(c.now+1, shot(c.now+1))
	if k.rec.Role != grid.Prepared || k.rec.State != grid.Assigned {
		t.Errorf("prepared, and the owner's word is gone: %s %s", k.rec.Role, k.rec.State)
	}
	c.Step(c.now+1, Message{her, wire.Abort{Handoff: o.Handoff}})
	report(1, grid.StageOut, grid.Completed)
	c.Step(c.now+1, Message{her, o})
	c.Step(c.now+1, shot(c.now+1))
	if k.rec.Role != grid.Watching || k.rec.State != grid.StageOut {
		t.Errorf("after a late offer it is %s %s", k.rec.Role, k.rec.State)
	}
}

// A candidate that is committed to and never heard again may be gone for ever: the
// home is told all the same, and believes the former owner if it takes the job back.
func TestTheHomeHearsOfASilentOwner(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed(grid.Record{
		Job:    j,
		State:  grid.Assigned,
		Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: []grid.Certificate{certificate(j, her, 1, me)}},
		Run:    grid.Run{Attempt: 1, Local: "l"},
	})
	home := New(signer(her, "b"), []grid.Member{{Name: "a", Peer: me, Send: true}, {Name: "c", Peer: him, Send: true}}, []grid.Record{
		{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Watching, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, Certificates: []grid.Certificate{certificate(j, her, 1, me)}, Report: 5}}})
	home.Step(1, Boot{})
	k, h := c.jobs[j.ID], home.jobs[j.ID]
	k.homeHeard = c.now
	c.ownership.makeOffer(k, him, 0, 1)
	b := c.ownership.handoffID(k)
	c.Step(c.now+1, Message{him, wire.Ready{Handoff: b}})
	c.Step(c.now+1, Withdrawn{ID: c.attempt(k), Done: true})
	committed := c.now
	var moved wire.Message
	for now := c.now; moved == nil; {
		now, _ = c.Next()
		if now > committed+2*grid.Minute {
			t.Fatal("the home is not told")
		}
		for _, m := range sentTo(c.Step(now, Tick{}), her) {
			if _, ok := m.(wire.Moved); ok {
				moved = m
			}
		}
	}
	if c.now-committed <= c.cfg.Lease {
		t.Errorf("told after %v s: it may yet decline", (c.now - committed).Seconds())
	}
	home.Step(2, Message{me, moved})
	if h.rec.Owner != him {
		t.Fatalf("the home looks at %s", h.rec.Owner)
	}
	c.Step(c.now+1, Message{him, wire.Declined{Handoff: b}})
	back := c.home.reportOf(k)
	home.Step(3, Message{me, back})
	if h.rec.Owner != me || h.rec.Epoch != k.rec.Epoch {
		t.Errorf("taken back, and the home looks at %s, epoch %s", h.rec.Owner, h.rec.Epoch)
	}

	h.rec.Owner, h.rec.Epoch, h.rec.Certificates, h.rec.Report = him, b.Epoch, append(slices.Clone(k.rec.Certificates[:1]), certificate(j, me, b.Epoch.Hop, him)), 1
	home.Step(4, Message{me, back})
	if h.rec.Owner != him {
		t.Error("an owner that has reported is not robbed by the one before")
	}
}

// A candidate asks the home, which has heard of the commit from the one who made it.
func TestTheHomeAnswersByACertificate(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	handoff := wire.HandoffID{Job: j.ID, Epoch: grid.Epoch{Term: 1, Hop: 2}, To: him, Digest: wire.JobDigest(j)}
	for reports, want := range []wire.Verdict{wire.VerdictCommitted, wire.VerdictAborted} {
		c := signed(grid.Record{
			Job:    j,
			State:  grid.Assigned,
			Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: handoff.Epoch, Certificates: []grid.Certificate{certificate(j, me, 1, her), certificate(j, her, 2, him)}, Report: uint64(reports)},
		})
		answers := sentTo(c.Step(1_000_001, Message{him, wire.Inquire{Handoff: handoff}}), him)
		if len(answers) != 1 {
			t.Fatalf("answered %+v", answers)
		}
		if s, ok := answers[0].(wire.InquireReply); !ok || s.Verdict != want || want == wire.VerdictCommitted && s.Certificate.To != him {
			t.Errorf("with %d reports of its it is answered %+v", reports, answers[0])
		}
	}
}
