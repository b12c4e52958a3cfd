package core

import (
	"errors"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// trusting is a Core at a whose neighbour b has the same users, and c has not.
func trusting(same map[grid.PeerID]bool, records ...grid.Record) *Core {
	c := New(Config{Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 1}}, []grid.Member{
		{Name: "b", Peer: her, SameUsers: same[her]}, {Name: "c", Peer: him, SameUsers: same[him]}}, records)
	c.Step(1_000_000, Boot{})
	c.Step(1_000_000+grid.Minute, Tick{})
	return c
}

func asked(c *Core, from grid.PeerID, m wire.Request) wire.Response {
	for _, s := range sent(c.Step(2_000_000, Message{from, m})) {
		if r, ok := s.(wire.Response); ok {
			return r
		}
	}
	return wire.Response{}
}

// Who may ask elsewhere: a user of the job's home, or of a site whose users are those
// of this one; never the same name of any other site.
func TestWhoMayAskElsewhere(t *testing.T) {
	t.Parallel()
	mine, hers := jobOf(me, "a", "1"), jobOf(her, "b", "2")
	records := []grid.Record{
		{Job: mine, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: 1}},
		{Job: hers, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}, Run: grid.Run{Attempt: 1}},
	}
	for _, k := range []struct {
		name  string
		same  map[grid.PeerID]bool
		from  grid.PeerID
		job   grid.JobID
		user  string
		admin bool
		want  wire.Outcome
	}{
		{"alice of a stranger", nil, her, mine.ID, "alice", false, wire.OutcomeForbidden},
		{"the administrator of a stranger", nil, her, mine.ID, "root", true, wire.OutcomeForbidden},
		{"alice of a site with the same users", map[grid.PeerID]bool{her: true}, her, mine.ID, "alice", false, wire.OutcomeDone},
		{"bob of it", map[grid.PeerID]bool{her: true}, her, mine.ID, "bob", false, wire.OutcomeForbidden},
		{"its administrator", map[grid.PeerID]bool{her: true}, her, mine.ID, "root", true, wire.OutcomeDone},
		{"the job's home", nil, her, hers.ID, "alice", false, wire.OutcomeDone},
		{"another user of the job's home", nil, her, hers.ID, "bob", false, wire.OutcomeForbidden},
		{"a third site, whose users are ours", map[grid.PeerID]bool{him: true}, him, hers.ID, "alice", false, wire.OutcomeForbidden},
		{"a third site, all with one set of users", map[grid.PeerID]bool{him: true, her: true}, him, hers.ID, "alice", false, wire.OutcomeDone},
		{"a job that is not here", nil, her, jobOf(her, "b", "9").ID, "alice", false, wire.OutcomeUnknown},
	} {
		got := asked(trusting(k.same, records...), k.from, wire.Request{Number: 1, Job: k.job, User: k.user, Administrator: k.admin})
		if got.Outcome != k.want || (got.Status != nil) != (k.want == wire.OutcomeDone) {
			t.Errorf("%s: %d (%s), want %d", k.name, got.Outcome, got.Why, k.want)
		}
		c := trusting(k.same, records...)
		asked(c, k.from, wire.Request{Number: 1, Job: k.job, User: k.user, Administrator: k.admin, Wish: wire.WishCancel})
		if j := c.jobs[k.job]; j != nil && j.rec.CancelRequested != (k.want == wire.OutcomeDone) {
			t.Errorf("%s: cancel requested %t", k.name, j.rec.CancelRequested)
		}
	}
}

// A home with a new journal does not deny what it has forgotten.
func TestANewJournalDeniesNothing(t *testing.T) {
	t.Parallel()
	id := jobOf(me, "a", "1").ID
	c := trusting(map[grid.PeerID]bool{her: true})
	if got := asked(c, her, wire.Request{Number: 1, Job: id, User: "alice"}); got.Outcome != wire.OutcomeUnknown {
		t.Errorf("outcome %d", got.Outcome)
	}
	c.Step(2_000_001, Message{her, wire.Seen{Journals: []grid.JournalID{{Incarnation: 9, Sequence: 3}}}})
	if got := asked(c, her, wire.Request{Number: 1, Job: id, User: "alice"}); got.Outcome != wire.OutcomeLater {
		t.Errorf("outcome %d (%s)", got.Outcome, got.Why)
	}
	handoff := wire.HandoffID{Job: id, Epoch: grid.Epoch{Term: 1, Hop: 1}, To: her}
	recalled := false
	for _, m := range sent(c.Step(2_000_002, Message{her, wire.Inquire{Handoff: handoff}})) {
		if s, ok := m.(wire.InquireReply); ok && s.Verdict != wire.VerdictUnknown {
			t.Errorf("verdict %d on an offer that it may have committed", s.Verdict)
		}
		_, is := m.(wire.Recall)
		recalled = recalled || is
	}
	if !recalled {
		t.Error("it does not ask for the job")
	}
}

// A request is repeated until it is answered, by the one who was asked, or too old.
func TestARequestIsRepeated(t *testing.T) {
	t.Parallel()
	job := jobOf(her, "b", "1")
	c := trusting(nil)
	first := sent(c.Step(2_000_000, Forward{Token: 5, To: her, Wish: Wish{Job: job.ID, User: "alice"}}))[0].(wire.Request)
	at, _ := c.Next()
	again := sent(c.Step(at, Tick{}))
	if len(again) == 0 || again[0] != wire.Message(first) {
		t.Fatalf("repeated: %+v", again)
	}
	done := wire.Response{Number: first.Number, Job: job.ID, Outcome: wire.OutcomeDone, Status: &wire.Status{
		User: job.User, Home: her, Owner: him, State: grid.Running, Demand: job.Demand, Walltime: job.Walltime, Started: wire.Ago{Span: 500, Known: true}}}
	if _, ok := only[Answer](c.Step(2_002_000, Message{him, done})); ok {
		t.Error("answered by another")
	}
	a, ok := only[Answer](c.Step(2_002_001, Message{her, done}))
	if !ok || a.Token != 5 || a.Record.State != grid.Running || a.Record.Started != 2_002_001-500 || a.Record.Owner != him {
		t.Errorf("%+v", a)
	}
	c.Step(2_003_000, Forward{Token: 6, To: her, Wish: Wish{Job: job.ID, User: "alice"}})
	for now := grid.Tick(2_003_000); now < 2_003_000+2*requestLimit; {
		now, _ = c.Next()
		if a, ok := only[Answer](c.Step(now, Tick{})); ok {
			if a.Token != 6 || !errors.Is(a.Err, grid.ErrUnavailable) || now < 2_003_000+requestLimit {
				t.Errorf("at %d: %+v", now, a)
			}
			return
		}
	}
	t.Error("never given up")
}

// Users who ask for more all the time put off neither that a request is repeated nor that it is given up.
func TestARequestAmongMany(t *testing.T) {
	t.Parallel()
	c := trusting(nil)
	ask := func(now grid.Tick, k Token) []Effect {
		return c.Step(now, Forward{Token: k, To: her, Wish: Wish{Job: jobOf(her, "b", "1").ID, User: "alice"}})
	}
	first, began := sent(ask(2_000_000, 1))[0], grid.Tick(2_000_000)
	repeated := 0
	for k := Token(2); k < 100; k++ {
		now := began + grid.Tick(k)*c.cfg.Retry/4
		effects := ask(now, k)
		for _, m := range sent(effects) {
			if m == first {
				repeated++
			}
		}
		if a, is := only[Answer](effects); is {
			if a.Token != 1 || now < began+requestLimit || repeated < 5 {
				t.Errorf("%d s after the first it is repeated %d times, and %d is given up: %v", (now-began)/grid.Second, repeated, a.Token, a.Err)
			}
			return
		}
	}
	t.Errorf("it is repeated %d times, and never given up", repeated)
}

// A stranger teaches a home no jobs, and none that its certificates do not prove.
func TestWhatAHomeLearns(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 1}
	signed := func(j grid.Job, by, to grid.PeerID) []grid.Certificate {
		return []grid.Certificate{{Epoch: at, To: to, Signature: signature(by, wire.CertificateText(j.ID, wire.JobDigest(j), at, to))}}
	}
	job, alien := jobOf(me, "a", "1"), jobOf(him, "a", "1")
	changed := job
	changed.Program.Executable = "/bin/false"
	for _, k := range []struct {
		name  string
		m     wire.Recalled
		learn bool
	}{
		{"with the home's own certificate", wire.Recalled{Job: job, Epoch: at, Owning: true, Certificates: signed(job, me, her)}, true},
		{"without one", wire.Recalled{Job: job, Epoch: at, Owning: true}, false},
		{"signed by itself", wire.Recalled{Job: job, Epoch: at, Owning: true, Certificates: signed(job, her, her)}, false},
		{"given to another", wire.Recalled{Job: job, Epoch: at, Owning: true, Certificates: signed(job, me, him)}, false},
		{"another content", wire.Recalled{Job: changed, Epoch: at, Owning: true, Certificates: signed(job, me, her)}, false},
		{"another epoch", wire.Recalled{Job: job, Epoch: grid.Epoch{Term: 3}, Owning: true, Certificates: signed(job, me, her)}, false},
		{"of another home", wire.Recalled{Job: alien, Epoch: at, Owning: true, Certificates: signed(alien, me, her)}, false},
		{"a mere candidate, and the journal is sure", wire.Recalled{Job: job, Epoch: at}, false},
	} {
		c := New(Config{
			Self: me, Site: grid.Site{Name: "a", Processes: 4, Speed: 1},
			Verify: func(by grid.PeerID, text, sig []byte) bool { return string(signature(by, text)) == string(sig) },
		}, []grid.Member{{Name: "b", Peer: her}}, nil)
		c.Step(1_000_000, Boot{})
		c.Step(2_000_000, Message{her, k.m})
		if got := c.jobs[k.m.Job.ID] != nil; got != k.learn {
			t.Errorf("%s: learnt %t", k.name, got)
		}
	}
}
