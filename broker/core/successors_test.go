package core

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// given is a job of this home that may run once and waits at c, as far as the home knows.
func given() grid.Record {
	return grid.Record{
		Job: jobOf(me, "a", "1"), State: grid.Assigned, AtHome: grid.AtHome{Trail: []grid.PeerID{him}},
		Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 5}},
	}
}

// c, which is gone for ever, had given a job to b, and the home has not heard of it; b has run it, and its journal was put back to before
// that. Nothing of the job runs at c, says the administrator; but b's control directory knows that it was there.
func TestASuccessorThatLostItsJournalIsAsked(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		traced grid.Epoch
		lost   bool
	}{
		"it had it after c":      {grid.Epoch{Term: 1, Hop: 9}, true},
		"it had it before c":     {grid.Epoch{Term: 1, Hop: 2}, false},
		"it has never had it":    {},
		"it had one of the same": {grid.Epoch{Term: 1, Hop: 5}, false},
	} {
		r := given()
		hers := New(signer(her, "b"), []grid.Member{{Name: "a", Peer: me, Send: true}}, nil)
		hers.Step(1_000_000, Boot{})
		var there []grid.AttemptID
		if k.traced != (grid.Epoch{}) {
			there = []grid.AttemptID{{Job: r.Job.ID, Epoch: k.traced, Attempt: 1}}
		}
		hers.Step(1_000_000, Reconciled{Attempts: there, All: true})
		c := signed(r)
		c.Step(1_000_001, Forget{Site: him, Fenced: true, By: "root"})
		asked := 0
		for now := c.now; asked == 0 && now < 1_000_001+2*silence*c.cfg.Digest; {
			now, _ = c.Next()
			for _, m := range sentTo(c.Step(now, Tick{}), her) {
				for _, answer := range sentTo(hers.Step(now, Message{me, m}), me) {
					asked++
					if n, is := only[Note](c.Step(now, Message{her, answer})); is {
						t.Errorf("%s: an answer is noted as a mistake: %s", name, n.Text)
					}
				}
			}
		}
		if got := c.jobs[r.Job.ID].rec; asked == 0 || (got.State == grid.Lost) != k.lost || !k.lost && got.State != grid.Ready {
			t.Errorf("%s: asked %d times, it is %s: %s", name, asked, got.State, got.Reason)
		}
	}
}

// Who did not hear the question, or has not read its directories yet, is asked again as long as the job waits; and nobody's word
// counts once it has been started.
func TestSuccessorsAreAskedAgain(t *testing.T) {
	t.Parallel()
	r := given()
	c := signed(r)
	c.Step(1_000_001, Forget{Site: him, Fenced: true, By: "root"})
	asked := 0
	for now := grid.Tick(1_000_001); now < 1_000_001+2*silence*c.cfg.Digest; {
		now, _ = c.Next()
		for _, m := range sentTo(c.Step(now, Tick{}), her) {
			if _, is := m.(wire.Recall); is {
				asked++
			}
		}
	}
	if asked < 3 {
		t.Errorf("asked again %d times", asked)
	}
	j := c.jobs[r.Job.ID]
	j.rec.Attempt = 1
	c.Step(c.now+1, Message{her, wire.Error{Of: wire.KindRecall, Job: r.Job.ID, Had: grid.Epoch{Term: 1, Hop: 9}}})
	if j.rec.State == grid.Lost {
		t.Error("LOST by a word about an older term, and an attempt was made")
	}
}

// hear steps c for so long that all are asked for a job; those say that there is none of it with them. It gives when they were asked first.
func hear(c *Core, who ...grid.PeerID) (asked grid.Tick) {
	for until := c.now + 2*silence*c.cfg.Digest; c.now < until; {
		now, _ := c.Next()
		for _, e := range c.Step(now, Tick{}) {
			s, _ := e.(Send)
			if m, is := s.Message.(wire.Recall); is && slices.Contains(who, s.To) {
				c.Step(now, Message{s.To, wire.Error{Of: wire.KindRecall, Job: m.Job, At: m.At}})
				asked = cmp.Or(asked, now)
			}
		}
	}
	return asked
}

// That a successor cannot be reached is no word. Its administrator may give him up: what may run once is LOST then, unless it is said that nothing runs there.
func TestASuccessorWhoIsGivenUp(t *testing.T) {
	t.Parallel()
	others := []grid.Member{{Name: "c", Peer: him, Send: true}, {Name: "d", Peer: it, Send: true}}
	for name, k := range map[string]struct {
		word      Event
		cancelled bool
		want      grid.State // 0: it may start
	}{
		"cut off":              {PeerChanged{her, grid.Dead}, false, grid.Ready},
		"cut off, cancelled":   {PeerChanged{her, grid.Dead}, true, grid.Ready},
		"forgotten":            {Forget{Site: her}, false, grid.Lost},
		"forgotten, cancelled": {Forget{Site: her}, true, grid.Lost},
		"as if":                {Forget{Site: her, DryRun: true}, true, grid.Ready},
		"removed":              {MembersChanged{others}, false, grid.Lost},
		"fenced off":           {Forget{Site: her, Fenced: true}, false, 0},
		"fenced, cancelled":    {Forget{Site: her, Fenced: true}, true, grid.Killed},
	} {
		r := given()
		r.CancelRequested = k.cancelled
		c := signed(r)
		c.Step(1_000_001, Forget{Site: him, Fenced: true})
		c.Step(1_000_002, Message{her, wire.Error{Of: wire.KindRecall, Job: r.Job.ID, At: c.jobs[r.Job.ID].rec.Epoch}}) // of before: she may get it still
		c.Step(1_000_003, k.word)
		hear(c, it)
		got, hold := c.jobs[r.Job.ID].rec, c.gates.beforeStart(c.jobs[r.Job.ID])
		if k.want == 0 && hold != open || k.want != 0 && got.State != k.want || k.want == grid.Ready && !strings.Contains(got.Why(), "gbroker forget b") {
			t.Errorf("%s: it is %s, %s: %s", name, got.State, hold, got.Why())
		}
	}
}

// One that has not read its control directories cannot say that it had no attempt of a job.
func TestWhoHasReadNothingIsNoWitness(t *testing.T) {
	t.Parallel()
	r := given()
	hers := New(signer(her, "b"), []grid.Member{{Name: "a", Peer: me, Send: true}}, nil)
	hers.Step(1_000_000, Boot{})
	if said := sentTo(hers.Step(1_000_001, Message{me, wire.Recall{Job: r.Job.ID}}), me); len(said) > 0 {
		t.Errorf("it says %+v", said)
	}
	hers.Step(1_000_002, Reconciled{All: true})
	if said := sentTo(hers.Step(1_000_003, Message{me, wire.Recall{Job: r.Job.ID}}), me); len(said) != 1 {
		t.Errorf("it has read all, and says %+v", said)
	}
}

// One that has handed a job on says so, and that there is nothing of it with him when the home has heard that, and with the epoch of the
// last attempt, where no record of his tells of it.
func TestAFormerOwnerAsAWitness(t *testing.T) {
	t.Parallel()
	j, at := jobOf(me, "a", "1"), grid.Epoch{Term: 9}
	for name, k := range map[string]struct {
		telling bool
		traced  grid.Epoch
		role    grid.Role
		none    bool
		had     grid.Epoch
	}{
		"the home has heard of it":    {role: grid.Tombstone, none: true},
		"it has not":                  {role: grid.Tombstone, telling: true},
		"he has had it again":         {role: grid.Tombstone, traced: grid.Epoch{Term: 1, Hop: 7}, none: true, had: grid.Epoch{Term: 1, Hop: 7}},
		"he had it before":            {role: grid.Tombstone, traced: grid.Epoch{Term: 1, Hop: 1}, none: true},
		"he has declined it":          {role: grid.Declined, none: true},
		"and has had it all the same": {role: grid.Declined, traced: grid.Epoch{Term: 1, Hop: 7}, none: true, had: grid.Epoch{Term: 1, Hop: 7}},
	} {
		r := watched(j, grid.Epoch{Term: 1, Hop: 2})
		r.Role, r.Telling, r.Handoff = k.role, k.telling, grid.Handoff{To: her, Epoch: r.Epoch}
		his := New(signer(him, "c"), []grid.Member{{Name: "a", Peer: me, Send: true}}, []grid.Record{r})
		his.Step(1_000_000, Boot{})
		var there []grid.AttemptID
		if k.traced != (grid.Epoch{}) {
			there = []grid.AttemptID{{Job: j.ID, Epoch: k.traced, Attempt: 1}}
		}
		his.Step(1_000_001, Reconciled{Attempts: there, All: true})
		var no wire.Error
		none := false
		for _, m := range sentTo(his.Step(1_000_002, Message{me, wire.Recall{Job: j.ID, At: at}}), me) {
			if e, is := m.(wire.Error); is {
				no, none = e, true
			}
		}
		if none != k.none || no.Had != k.had || none && no.At != at {
			t.Errorf("%s: it says %+v (%t)", name, no, none)
		}
	}
}

// The home is started anew while it waits for the word of those: it goes on waiting.
func TestARestartDoesNotCutTheWaitForSuccessorsShort(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		epoch grid.Epoch
		again bool
		waits bool
	}{
		"its term was raised":      {grid.Epoch{Term: 70}, false, true},
		"it may run twice":         {grid.Epoch{Term: 70}, true, false},
		"it was never given away":  {grid.Epoch{Term: 1}, false, false},
		"it has come back by hops": {grid.Epoch{Term: 70, Hop: 80}, false, false},
	} {
		j := jobOf(me, "a", "1")
		j.Rerunnable = k.again
		c := signed(grid.Record{
			Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: k.epoch}, AtHome: grid.AtHome{Trail: []grid.PeerID{her, him}},
		})
		if got := c.gates.beforeStart(c.jobs[j.ID]); (got == untilReported) != k.waits {
			t.Errorf("%s: %s", name, got)
		}
		if successors := c.jobs[j.ID].successors; k.waits && (len(successors) != 2 || successors[him]) {
			t.Errorf("%s: it waits for the word of %v, and c, who had it last, was forgotten", name, successors)
		}
	}
}

// Nor does it forget what was known when the term was raised: who had the job before that, and has lost its journal since, had it as was known.
// (gsim faults, seed 1795964817471443: it was LOST.)
func TestARestartKeepsWhatWasKnownOfSuccessors(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		for hop, lost := range map[uint32]bool{2: false, 9: true} {
			r := given()
			c := signed(r)
			c.Step(1_000_001, Forget{Site: him, Fenced: true, By: "root"})
			if restart {
				c = signed(c.jobs[r.Job.ID].rec)
			}
			j := c.jobs[r.Job.ID]
			c.Step(c.now+1, Message{her, wire.Error{Of: wire.KindRecall, Job: r.Job.ID, At: j.rec.Epoch, Had: grid.Epoch{Term: 1, Hop: hop}}})
			if is := j.rec.State == grid.Lost; is != lost {
				t.Errorf("restarted %t, it was there at hop %d: it is %s (%s)", restart, hop, j.rec.State, j.rec.Reason)
			}
		}
	}
}

// Who got a job from the site that was forgotten was put back to before it had the certificate of that, and has run it, as its control directory
// tells: it proves nothing, but it has started, and may not start again. Nothing of a cancelled one runs once that has ended.
func TestASuccessorThatProvesNothing(t *testing.T) {
	t.Parallel()
	ago := wire.Ago{Span: 90, Known: true}
	for _, k := range []struct {
		name      string
		hop       uint32
		rerun     bool
		cancelled bool
		state     grid.State
		started   wire.Ago
		lost      bool
	}{
		{"it runs there", 9, false, false, grid.Running, ago, true},
		{"it has ended there", 9, false, false, grid.StageOut, ago, true},
		{"it waits there", 9, false, false, grid.Assigned, wire.Ago{}, false},
		{"it was there before", 2, false, false, grid.Running, ago, false},
		{"it may run twice", 9, true, false, grid.Running, ago, false},
		{"it is cancelled", 9, false, true, grid.Running, ago, false},
	} {
		r := given()
		r.Job.Rerunnable, r.CancelRequested = k.rerun, k.cancelled
		c := signed(r)
		c.Step(1_000_001, Forget{Site: him, Fenced: true, By: "root"})
		m := wire.Report{Job: r.Job.ID, Epoch: grid.Epoch{Term: 1, Hop: k.hop}, Number: 4, State: k.state, Attempt: 1, Started: k.started, Version: wire.JobDigest(r.Job)}
		if k.state == grid.StageOut {
			m.End = grid.Failed
		}
		said, _ := only[Send](c.Step(1_000_002, Message{her, m}))
		got := c.job(r.Job.ID).rec
		if over, is := said.Message.(wire.Superseded); (got.State == grid.Lost) != k.lost || !is || (over.Epoch == m.Epoch) != k.lost {
			t.Errorf("%s: it is %s: %s; told %+v", k.name, got.State, got.Reason, said.Message)
		}
	}
}

// Who got a job from the site that was forgotten has given it to one that is no neighbour of its home any more: nobody can ask that one, and it
// has begun with the job, perhaps.
func TestASuccessorThatIsNoMember(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		to   grid.PeerID
		by   grid.PeerID
		last uint32
		want grid.State
	}{
		"no member":          {"peer-x", her, 9, grid.Lost},
		"a member":           {it, her, 9, grid.Ready},
		"nobody signed that": {"peer-x", it, 9, grid.Ready},
		"it has it no more":  {"peer-x", me, 2, grid.Ready},
		"it was that one":    {him, her, 9, grid.Ready},
		"it has come back":   {me, her, 9, grid.Ready},
	} {
		r := given()
		c := signed(r)
		c.Step(1_000_001, Forget{Site: him, Fenced: true, By: "root"})
		chain := []grid.Certificate{certificate(r.Job, me, 5, him), certificate(r.Job, him, 7, her), certificate(r.Job, k.by, k.last, k.to)}
		if k.last < 5 {
			chain = chain[2:]
		}
		effects := c.Step(1_000_002, Message{her, wire.Moved{Job: r.Job.ID, Certificates: chain, Version: c.jobs[r.Job.ID].sum()}})
		ack := false
		for _, m := range sentTo(effects, her) {
			ack = ack || m.Kind() == wire.KindMovedAck
		}
		if got := c.jobs[r.Job.ID].rec; got.State != k.want || !ack {
			t.Errorf("%s: it is %s: %s; acknowledged %t", name, got.State, got.Reason, ack)
		}
	}
}
