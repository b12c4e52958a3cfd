package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A drained site refuses estimates and offers, says so to everybody, and writes it down.
func TestADrainedSiteTakesNothing(t *testing.T) {
	t.Parallel()
	c := signed()
	effects := c.Step(1_000_001, DrainRequest{Token: 7, On: true})
	s, ok := effects[0].(Save)
	if state, is := s.Change.Record.(*grid.SiteState); !ok || !is || !state.Draining || state.Since != 1_000_001 {
		t.Errorf("first of all it is not saved: %+v", effects[0])
	}
	for _, p := range []grid.PeerID{her, him, it} {
		if m := sentTo(effects, p); len(m) != 1 || !m[0].(wire.Announce).Site.Draining {
			t.Errorf("%s hears %+v", p, m)
		}
	}
	if a, ok := effects[len(effects)-1].(Answer); !ok || a.Token != 7 || a.Err != nil {
		t.Errorf("answered %+v", effects)
	}
	again := c.Step(1_000_002, DrainRequest{Token: 8, On: true})
	if len(again) != 1 {
		t.Errorf("asked again: %+v", again)
	}
	j := jobOf(her, "b", "1")
	c.Step(1_000_003, Message{her, offerOf(j, 1, 0)})
	c.Step(1_000_003, Message{him, wire.EstimateRequest{Round: 1, Questions: []wire.Question{{Job: j.ID, Demand: j.Demand, Walltime: j.Walltime}}}})
	effects = c.Step(1_000_004, shot(1_000_004))
	if r, ok := sentTo(effects, her)[0].(wire.Refuse); !ok || r.Estimate.Refusal.Reason != drained {
		t.Errorf("the offer is answered %+v", sentTo(effects, her))
	}
	if m, ok := sentTo(effects, him)[0].(wire.EstimateReply); !ok || m.Answers[0].Estimate.Refusal.Reason != drained || !m.Site.Draining {
		t.Errorf("the question is answered %+v", sentTo(effects, him))
	}
	c.Step(1_000_005, DrainRequest{Token: 9})
	c.Step(1_000_006, Message{her, offerOf(j, 2, 0)})
	c.Step(1_000_007, shot(1_000_007))
	if c.jobs[j.ID] == nil {
		t.Error("undrained, it takes nothing")
	}
}

// Its own users' jobs go elsewhere, and wait where nobody can take them.
func TestADrainedSitePlacesElsewhere(t *testing.T) {
	t.Parallel()
	cfg := signer(me, "a")
	cfg.Draining = true
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, nil)
	c.Step(1_000_000, Boot{})
	c.Step(1_000_000, PeerChanged{her, grid.Alive})
	for n, refusal := range []*grid.Refusal{{Kind: grid.Temporary, Reason: tooMany}, nil} {
		mine := jobOf(me, "a", string(rune('1'+n)))
		at := grid.Tick(1_010_001 + n*600)
		var round uint64
		effects := c.Step(at, Submit{Job: mine, Key: string(mine.ID)})
		for _, m := range sentTo(effects, her) {
			if a, ok := m.(wire.EstimateRequest); ok {
				round = a.Round
			}
		}
		c.Step(at+1, shot(at+1))
		c.Step(at+2, Message{her, wire.EstimateReply{Round: round, Site: grid.Site{Speed: 1}, Answers: []wire.Answer{{Job: mine.ID, Estimate: grid.Estimate{Wait: grid.Hour, Refusal: refusal}}}}})
		k := c.jobs[mine.ID]
		if refusal != nil && (k.rec.State != grid.Ready || k.rec.Local != "") {
			t.Errorf("nobody can take it, and it is %s", k.rec.State)
		}
		if refusal == nil && (k.rec.State != grid.Moving || k.rec.Handoff.To != her) {
			t.Errorf("it is %s: %s", k.rec.State, k.rec.Reason)
		}
	}
}

// Waiting jobs are handed on, without margin, cool-down or hop, also those that would
// start in a moment; what runs stays.
func TestADrainedSiteHandsOn(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 3, func(r *grid.Record) { r.HopsAt, r.Hops = 999_999, 8 }, her)
	told(q, her, grid.Estimate{Wait: 100 * grid.Day})
	q.shot.Running[0].End = q.now + 7*grid.Second
	q.do(DrainRequest{On: true})
	if !q.pass(10 * grid.Second) {
		t.Fatal("nobody is asked")
	}
	q.wants("1>peer-b", "2>peer-b", "3>peer-b")
	for _, s := range q.sent {
		if o, ok := s.Message.(wire.Offer); ok && o.Hops != 8 {
			t.Errorf("a drain counts as a hop: %d", o.Hops)
		}
	}
	if i := slices.IndexFunc(q.sorted(), func(j *job) bool { return j.rec.State == grid.Moving && j.rec.Local == "" }); i >= 0 {
		t.Error("a job has left the local queue before its handoff")
	}
}

// A job that is owned after the drain (it was PREPARED before) is not put into the queue.
func TestWhatIsOwnedWhileDrainedMovesOn(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	c := signed()
	o := offerOf(j, 1, 0)
	c.Step(1_010_001, Message{her, o})
	c.Step(1_010_002, shot(1_010_002))
	c.Step(1_010_003, DrainRequest{On: true})
	effects := c.Step(1_010_004, Message{her, wire.Commit{Handoff: o.Handoff, Certificate: certificate(j, her, 1, me)}})
	k := c.jobs[j.ID]
	asked := false
	for _, m := range sentTo(effects, him) {
		_, ok := m.(wire.EstimateRequest)
		asked = asked || ok
	}
	if k.rec.Role != grid.Owning || k.rec.State != grid.Ready || !asked {
		t.Errorf("%s %s, asked %t", k.rec.Role, k.rec.State, asked)
	}
	for _, e := range effects {
		if _, ok := e.(Launch); ok {
			t.Error("it is submitted at a drained site")
		}
	}
}

// What the batch system shows of the site is told to everybody, once.
func TestASiteThatGrowsSaysSo(t *testing.T) {
	t.Parallel()
	c := signed()
	grown := c.facts()
	grown.Processes += 8
	effects := c.Step(1_000_001, OwnSite{grown})
	for _, p := range []grid.PeerID{her, him, it} {
		if m := sentTo(effects, p); len(m) != 1 || !m[0].(wire.Announce).Site.Same(grown) {
			t.Errorf("%s hears %+v", p, m)
		}
	}
	if again := c.Step(1_000_002, OwnSite{grown}); len(again) != 0 {
		t.Errorf("the same again: %+v", again)
	}
}
