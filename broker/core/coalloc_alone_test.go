package core

import (
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A branch of the journal that is lost has found one site for a whole, in whatever round this journal has it: it goes on there alone, is cancelled
// as any other job, and what is left of the round is taken back, again and again.
func TestALostBranchHasSentAWholeToOneSite(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(r *grid.Record){
		"another site has it":   func(r *grid.Record) { r.Role, r.State, r.Owner = grid.Watching, grid.Assigned, "c" },
		"its attempt waits":     func(r *grid.Record) { r.State, r.Attempt = grid.Assigned, 1 },
		"its attempt has begun": func(r *grid.Record) { r.State, r.Attempt = grid.Running, 1 },
	} {
		for _, state := range []grid.AllocationState{grid.Planned, grid.Reserving, grid.Confirming, grid.Gathering, grid.Going} {
			c := newCoallocated(t, 0, nil)
			if state > grid.Planned {
				c.upTo(state)
			}
			c.settled()
			whole := c.f.records[theWhole]
			at(whole)
			c.m.saved(&whole.Job)
			got := c.settled()
			if c.rec().State != grid.OneSite || c.m.has(whole) || !strings.Contains(got, "pursue") || strings.Contains(got, "end ") {
				t.Fatalf("%s, %v: %v, %s", name, state, c.rec().State, got)
			}
			c.pass(grid.Second)
			again := c.settled()
			for _, p := range c.m.all[theWhole].current() {
				release, cancel := "Release>"+string(p.Peer), "cancel "+string(p.Job[len(theWhole)+1:])
				if p.Made && !strings.Contains(got, cancel) || !p.Made && p.Asked && !strings.Contains(again, release) {
					t.Errorf("%s, %v: the part at %s is left: %s; then %s", name, state, p.Peer, got, again)
				}
			}
		}
	}
}

// A whole whose parts have all begun runs without an attempt of its own.
func TestAWholeThatRunsByItsPartsHasNoPlace(t *testing.T) {
	t.Parallel()
	c := newCoallocated(t, 0, nil)
	c.upTo(grid.Together)
	whole := c.f.records[theWhole]
	whole.State = grid.Running
	c.m.saved(&whole.Job)
	if c.settled(); c.rec().State != grid.Together || !c.m.has(whole) {
		t.Errorf("it is %v", c.rec().State)
	}
}

// The journal has a whole that waits for several sites, and an attempt of it, which a branch that is lost had made, or is in the control directory
// alone: that is asked after, and the job ends with it.
func TestTheAttemptOfAWholeIsLookedAfter(t *testing.T) {
	t.Parallel()
	for name, has := range map[string]bool{"the journal has it": true, "its directory has it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := wholeRecord()
			attempt := grid.AttemptID{Job: whole.Job.ID, Epoch: whole.Epoch, Attempt: 1}
			if has {
				whole.State, whole.Attempt = grid.Assigned, 1
			}
			c := restored(whole, grid.Planned)
			c.job(whole.Job.ID).reconciled = false
			effects := c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{whole.Job.ID}, Attempts: []grid.AttemptID{attempt}, All: true})
			if !has && !slices.Contains(effects, Effect(Probe{attempt})) {
				t.Errorf("its attempt is not asked after: %v", effects)
			}
			if k := c.job(whole.Job.ID); k.due[onBatch] == 0 || c.wholes.all[whole.Job.ID].rec.State != grid.OneSite {
				t.Fatalf("nobody looks after it: it is %v", c.wholes.all[whole.Job.ID].rec.State)
			}
			c.Step(1_000_002, Progressed{Progress: grid.Progress{ID: attempt, Phase: grid.Started, Started: 5}})
			c.Step(1_000_003, Progressed{Progress: grid.Progress{ID: attempt, Phase: grid.Ended, Started: 5, Cause: grid.Disappeared}})
			if r := c.job(whole.Job.ID).rec; r.End != grid.Failed && r.State != grid.Failed {
				t.Errorf("its program has vanished, and it is %v", r.State)
			}
		})
	}
}

// restored is a broker that finds a whole in its journal, in that state.
func restored(whole grid.Record, state grid.AllocationState) *Core {
	cfg := signer(me, "a")
	cfg.Allocations = []grid.Allocation{{Of: whole.Job.ID, State: state, Round: 1, Last: 2}}
	c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{whole})
	begin(c)
	c.Step(1_000_000, PeerChanged{her, grid.Alive})
	c.Step(1_000_000, Message{her, wire.Seen{}})
	return c
}

// The journal of a home was put back to before a whole had its place. Until all were asked nobody is told that it never started, and no part is
// told to go.
func TestAWholeWaitsUntilAllWereAsked(t *testing.T) {
	t.Parallel()
	whole := wholeRecord()
	c := restored(whole, grid.Planned)
	c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{whole.Job.ID}, All: true})
	c.Step(1_000_002, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
	c.Step(1_000_003, CancelRequest{Token: 1, Job: whole.Job.ID, By: "u"})
	if s := c.job(whole.Job.ID).rec.State; s.Terminal() {
		t.Errorf("it is told to be %v", s)
	}
	if c.gates.beforeGo(2, 2) == open {
		t.Error("parts are told to go")
	}
	c.Step(1_000_004, Message{her, wire.Recounted{}})
	c.Step(1_010_000, Tick{})
	if s := c.job(whole.Job.ID).rec.State; s != grid.Killed || c.gates.beforeGo(2, 2) != open {
		t.Errorf("all were asked, and it is %v", s)
	}
}

// The one site that a whole was sent to has gone from the neighbours, and no other is large enough: several are chosen again. What a site refuses
// for another reason is over, as for any job.
func TestAWholeWhoseOneSiteIsGone(t *testing.T) {
	t.Parallel()
	small := &grid.Refusal{Kind: grid.Permanent, Reason: "too few processors", Asked: "9", Available: "8", TooWide: true}
	no := func(reason, asked string) *grid.Refusal {
		return &grid.Refusal{Kind: grid.Permanent, Reason: reason, Asked: asked}
	}
	for _, k := range []struct {
		own, other *grid.Refusal
		over       bool
	}{
		{small, small, false},
		{small, &grid.Refusal{Kind: grid.Permanent, Reason: "zu wenig Speicher", TooWide: true}, false}, // whatever its words
		{small, no("too few processors", "9"), true},                                                    // an older broker, or one piece is too large
		{small, no("an input cannot be had", ""), true},
		{small, no("wrong architecture", "arm"), true},
		{no("no such queue", "q"), no("no such queue", "q"), true},
		{no("longer than the queue's limit", "9 s"), no("beyond a limit: of the grid", "9"), true},
	} {
		whole := wholeRecord()
		c := restored(whole, grid.OneSite)
		j := c.job(whole.Job.ID)
		c.Step(1_000_001, Reconciled{Jobs: []grid.JobID{whole.Job.ID}, All: true})
		c.search.nobody(j, grid.Decision{Candidates: []grid.Candidate{{Site: "a", Refusal: k.own}, {Site: "b", Refusal: k.other}}})
		a := c.wholes.all[whole.Job.ID].rec
		if j.rec.State.Terminal() != k.over || !k.over && (a.State != grid.Planned || c.gates.kept(j) != untilChosen) {
			t.Errorf("%s: it is %v, %v", k.other.Reason, j.rec.State, a.State)
		}
		if k.over {
			continue
		}
		asked := false
		for now := grid.Tick(1_001_000); now < 1_060_000; now += grid.Second {
			for _, m := range sentTo(c.Step(now, Tick{}), her) {
				asked = asked || m.Kind() == wire.KindSlots
			}
		}
		if !asked {
			t.Error("no sites are asked")
		}
	}
}

// What no single site is large enough for any more, nor several together, ends after some choices that came to nothing: not where a site may have it
// later, nor where its user waits for one that does.
func TestAWholeThatFitsNowhereAnyMore(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		name    string
		refusal *grid.Refusal
		anyway  bool
		over    bool
	}{
		{"they are too small together", nil, false, true},
		{"one holds no piece", &grid.Refusal{Kind: grid.Permanent, Reason: "no node holds a piece of it"}, false, true},
		{"one starts nothing now", forNow("it starts no jobs now"), false, false},
		{"its user waits", nil, true, false},
	} {
		c := newCoallocated(t, 0, nil)
		c.f.records[theWhole].Anyway = k.anyway
		c.rec().State = grid.OneSite
		c.m.severalAgain(theWhole)
		choices := 0
		for ; choices < 3*mostVain && c.rec().State == grid.Planned; choices++ {
			c.pass(c.m.cfg.Rest)
			c.settled()
			c.slots("b", 0, 2)
			c.refuses("c", k.refusal)
			c.settled()
		}
		if over := c.f.records[theWhole].State == grid.Failed; over != k.over || over && choices < 3 {
			t.Errorf("%s: after %d choices it is %v: %s", k.name, choices, c.f.records[theWhole].State, c.rec().Reason)
		}
	}
}

// refuses answers for a site that has one node at most.
func (c *coallocated) refuses(from grid.PeerID, why *grid.Refusal) {
	c.m.onSlotsReply(from, wire.SlotsReply{
		Of: theWhole, Round: c.f.rounds, Site: grid.Site{Name: grid.SiteName(from + from), Processes: 16, Speed: 1}, Refusal: why,
		Clock: wire.Clocks{Asked: c.f.now, Received: c.f.now, Answered: c.f.now}, Estimate: grid.Estimate{Refusal: forNow("too wide")},
	})
}
