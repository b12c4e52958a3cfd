package core

import (
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A journal that was rolled back is put back once more, to an instant at which it was asking about the first time: the file beside it
// tells of the second branch, about which all are asked too, and what it owns is in doubt.
func TestRolledBackWhileAsking(t *testing.T) {
	t.Parallel()
	for _, off := range []Rules{0, RollbackUnseen} {
		j := jobOf(me, "a", "1")
		cfg := signer(me, "a")
		cfg.Broken = off
		cfg.Journal, cfg.Lives = in(4, 30), []grid.Life{{Number: 1}, {Number: 4, First: 20}}
		cfg.State = grid.SiteState{RolledBack: 1, Behind: []grid.JournalID{in(2, 25)}}
		cfg.Witness = grid.Witness{Position: in(3, 40)}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{{
			Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
		}})
		begin(c)
		behind := slices.Contains(c.recovery.rolled.lost, in(3, 40))
		if behind != (off == 0) || !slices.Contains(c.recovery.rolled.lost, in(2, 25)) || c.job(j.ID).rec.Uncertain != (off == 0) {
			t.Errorf("rules off %b: behind %v, uncertain %t", off, c.recovery.rolled.lost, c.job(j.ID).rec.Uncertain)
		}
	}
}

// Who waits for others tells whom by name, of many the first.
func TestManyAreWaitedFor(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "heard from b what", 3: "heard from b, c, d what", 5: "heard from b, c, d and 2 more what"} {
		o := &others{}
		k := kernelOf(o)
		k.setMembers(nil)
		m := newRecovery(k)
		m.rolled = &rollback{waiting: map[grid.PeerID]bool{}}
		for i := range n {
			p := grid.PeerID("peer-" + string(rune('b'+i)))
			k.members[p] = &member{Member: grid.Member{Name: grid.SiteName(rune('b' + i)), Peer: p}}
			m.rolled.waiting[p] = true
		}
		if got := m.asking(); !strings.Contains(got, want) || !strings.Contains(got, "gbroker forget b") {
			t.Errorf("of %d: %s", n, got)
		}
	}
}

// An answer that nobody asked for changes nothing.
func TestAnAnswerThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	c := signed()
	claims := []wire.Claim{{Job: jobOf(me, "a", "1").ID, Epoch: grid.Epoch{Term: 1, Hop: 3}, Yours: true}, {Job: jobOf(me, "a", "2").ID, Ended: true}}
	if got := c.Step(c.now+1, Message{her, wire.Recounted{Claims: claims}}); len(sent(got)) > 0 || c.recovery.rolled != nil {
		t.Errorf("it does %+v", got)
	}
	c.recovery.rolled = &rollback{waiting: map[grid.PeerID]bool{him: true}}
	if got := c.Step(c.now+1, Message{her, wire.Recounted{Claims: claims}}); len(sent(got)) > 0 || !c.recovery.rolled.waiting[him] {
		t.Errorf("while another is waited for, it does %+v", got)
	}
}

// A home that learns its jobs again is told of one that is PREPARED here at what epoch that was offered; a job of another site is no
// business of a home that hears of it.
func TestWhatAHomeIsToldOfAPreparedJob(t *testing.T) {
	t.Parallel()
	j := jobOf(her, "b", "1")
	at := grid.Epoch{Term: 1, Hop: 4}
	c := signed(grid.Record{Job: j, State: grid.Moving, Tenure: grid.Tenure{Role: grid.Prepared, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}, Handoff: grid.Handoff{To: me, Epoch: at}}})
	told, is := sentTo(c.Step(c.now+1, Message{her, wire.Recall{Job: j.ID}}), her)[0].(wire.Recalled)
	if !is || told.Owning || told.Epoch != at || told.Job.ID != j.ID {
		t.Errorf("told is %+v", told)
	}
	m := wire.Report{Job: jobOf(him, "c", "1").ID, Epoch: at, Number: 1, State: grid.Running}
	if got := sentTo(c.Step(c.now+1, Message{her, m}), her); len(got) != 1 || got[0].Kind() != wire.KindError {
		t.Errorf("of a job of c that is not known here it is told %+v", got)
	}
	m.Job = j.ID
	if got := sentTo(c.Step(c.now+1, Message{him, m}), him); len(got) != 1 || got[0].Kind() != wire.KindError {
		t.Errorf("of a job of b that is known here it is told %+v", got)
	}
}

// A trace of a job that this home knows to have ended, or that is of another home, changes nothing.
func TestTracesOfWhatIsOver(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 9}
	for name, r := range map[string]grid.Record{
		"ended":        {Job: jobOf(me, "a", "1"), State: grid.Completed, Ended: 900_000, Run: grid.Run{End: grid.Completed}, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: at}},
		"of another":   {Job: jobOf(him, "c", "1"), State: grid.Running, Run: grid.Run{Attempt: 1, Started: 5}, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 2}}},
		"not so known": {Job: jobOf(me, "a", "2"), State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: him, Epoch: grid.Epoch{Term: 1, Hop: 10}}},
	} {
		c := signed(r)
		c.Step(c.now+1, Message{her, wire.Seen{Journals: []grid.JournalID{{Sequence: 50}}}})
		before := c.job(r.Job.ID).rec
		c.recovery.traceAt(her, wire.Trace{Job: r.Job.ID, Epoch: at})
		j := c.job(r.Job.ID)
		if field, _, _ := differs(&before, &j.rec); field != "" || j.traceAt != (grid.Epoch{}) {
			t.Errorf("%s: %s has changed, traced at %s", name, field, j.traceAt)
		}
	}
}

// A broker of before told of a job that its home has given to another: after a start what is left of it is let go, and nobody is asked
// about it any more. Its result, if it has one, waits for the word of the home.
func TestSupersededBeforeAStart(t *testing.T) {
	t.Parallel()
	at := grid.Epoch{Term: 1, Hop: 1}
	for name, k := range map[string]struct {
		change func(*grid.Record)
		role   grid.Role
	}{
		"it waits": {func(*grid.Record) {}, grid.Tombstone},
		"it was offered": {func(r *grid.Record) {
			r.State, r.Handoff = grid.Moving, grid.Handoff{Phase: grid.Offering, To: him, Epoch: grid.Epoch{Term: 1, Hop: 2}}
		}, grid.Tombstone},
		"it has a result": {func(r *grid.Record) {
			r.State, r.End, r.Started, r.Finished, r.Attempt = grid.StageOut, grid.Completed, 5, 6, 1
		}, grid.Owning},
		"it is collected": {func(r *grid.Record) {
			r.State, r.End, r.Started, r.Finished, r.Attempt = grid.Finished, grid.Completed, 5, 6, 1
		}, grid.Owning},
		"it was submitted": {func(r *grid.Record) { r.State, r.Attempt, r.Local = grid.Assigned, 1, "l" }, grid.Owning},
	} {
		j := jobOf(her, "b", "1")
		r := grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: at, Superseded: grid.Epoch{Term: 2}, Certificates: []grid.Certificate{certificate(j, her, 1, me)}}}
		k.change(&r)
		c := New(signer(me, "a"), []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "c", Peer: him, Send: true}}, []grid.Record{r})
		effects := c.Step(1_000_000, Boot{})
		got := c.job(j.ID)
		_, withdraws := only[Withdraw](effects)
		_, kills := only[Kill](effects)
		if got.rec.Role != k.role || withdraws != (r.State == grid.Assigned) || kills {
			t.Errorf("%s: it is %s, withdrawn %t, killed %t", name, got.rec.Role, withdraws, kills)
		}
		if awaits := got.since != 0; awaits != (k.role == grid.Owning) {
			t.Errorf("%s: the word of its home is waited for: %t", name, awaits)
		}
	}
}

// An offer that nobody has answered when this broker stood still is said again soon after it, and not given up for the time in between.
func TestAnOfferOverAStall(t *testing.T) {
	t.Parallel()
	for off, kept := range map[Rules]bool{0: true, AbsenceOverStall: false} {
		j := jobOf(me, "a", "1")
		cfg := signer(me, "a")
		cfg.Broken = off
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}})
		begin(c)
		c.Step(1_000_001, PeerChanged{her, grid.Alive})
		c.ownership.makeOffer(c.job(j.ID), her, 0, 0)
		c.kernel.out = nil
		now := 1_000_002 + grid.Hour
		c.Step(now, Stall{grid.Hour})
		if got := c.job(j.ID).rec.Handoff.Phase == grid.Offering; got != kept {
			t.Errorf("rules off %b: the offer stands: %t", off, got)
		}
		if !kept {
			continue
		}
		said := 0
		for c.now < now+c.cfg.AcceptDeadline/2 {
			at, _ := c.Next()
			for _, m := range sentTo(c.Step(at, Tick{}), her) {
				if m.Kind() == wire.KindOffer {
					said++
				}
			}
		}
		if said == 0 {
			t.Error("it is not said again")
		}
	}
}

// A request of a user that is under way when this broker stood still has all its time again.
func TestARequestOverAStall(t *testing.T) {
	t.Parallel()
	c := signed()
	c.Step(c.now+1, Forward{Token: 9, To: her, Wish: Wish{Job: jobOf(her, "b", "1").ID, User: "alice"}})
	now := c.now + requestLimit + grid.Minute
	c.Step(now, Stall{requestLimit + grid.Minute})
	if _, answered := only[Answer](c.Step(now+requestLimit-1, Tick{})); answered {
		t.Error("it is given up for the time in which nobody listened")
	}
	if _, answered := only[Answer](c.Step(now+requestLimit+grid.Second, Tick{})); !answered {
		t.Error("it waits for ever")
	}
}

// A user of a member asks to cancel what is kept here of a job that another site has: only its home can.
func TestACancelOfWhatIsOnlyKeptHere(t *testing.T) {
	t.Parallel()
	for role, want := range map[grid.Role]wire.Outcome{grid.Tombstone: wire.OutcomeLater, grid.Owning: wire.OutcomeDone} {
		j := jobOf(her, "b", "1")
		r := grid.Record{Job: j, State: grid.Running, Run: grid.Run{Attempt: 1, Started: 5}, Tenure: grid.Tenure{Role: role, Owner: me, Kept: role == grid.Tombstone, Epoch: grid.Epoch{Term: 1, Hop: 1}}}
		c := signed(r)
		var got wire.Response
		for _, m := range sentTo(c.Step(c.now+1, Message{her, wire.Request{Number: 1, Job: j.ID, User: "alice", Wish: wire.WishCancel}}), her) {
			if m, is := m.(wire.Response); is {
				got = m
			}
		}
		if got.Outcome != want || c.job(j.ID).rec.CancelRequested != (want == wire.OutcomeDone) {
			t.Errorf("%s: it is answered %d %+v", role, got.Outcome, got)
		}
	}
}

// The file of neighbours loses a candidate: the offer to it is dead. What was measured of a peer before it was a member counts when it is one.
func TestMembersComeAndGo(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	c := signed(grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	c.ownership.makeOffer(c.job(j.ID), him, 0, 1)
	fresh := grid.PeerID("peer-x")
	link := grid.Link{Rates: []grid.Rate{{Size: 1 << 20, BytesPerSecond: 77}}}
	c.Step(c.now+1, LinkChanged{fresh, link})
	c.Step(c.now+1, LinkChanged{her, link})
	list := []grid.Member{{Name: "b", Peer: her, Send: true}, {Name: "x", Peer: fresh}, {Name: "y", Peer: "peer-y"}}
	c.Step(c.now+1, MembersChanged{Members: list})
	if k := c.job(j.ID); k.rec.Handoff.Phase != grid.NoHandoff || k.rec.State == grid.Moving {
		t.Errorf("the offer to who is no member any more stands: %v", k.rec.State)
	}
	for p, rate := range map[grid.PeerID]float64{her: 77, fresh: 77, "peer-y": float64(grid.DefaultBandwidth)} {
		if got := c.members[p].link.Rates[0].BytesPerSecond; got != rate {
			t.Errorf("the rate to %s is %v, not %v", p, got, rate)
		}
	}
}
