package core

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// What a job would cost is compared with what is free as it would be when handed in, part after part, and no lien is placed.
func TestShort(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	cfg := signer(me, "a")
	cfg.Granted = map[string]grid.Amount{j.User.Name: 10}
	c := New(cfg, nil, nil)
	c.Step(1_000_000, Boot{})
	for _, test := range []struct {
		costs []grid.Amount
		at    int
	}{{nil, -1}, {[]grid.Amount{4, 6}, -1}, {[]grid.Amount{4, 7}, 1}, {[]grid.Amount{11, 1}, 0}} {
		at, no := c.budgets.short(&j, test.costs)
		if (no == nil) != (test.at < 0) || no != nil && at != test.at {
			t.Errorf("%v: %d, %+v", test.costs, at, no)
		}
	}
	k := &job{rec: grid.Record{Job: j}}
	dear := grid.Candidate{Peer: her, Price: 5, Run: grid.Hour}
	here := grid.Candidate{Peer: me, Price: 5, Run: grid.Hour}
	if c.budgets.shortFor(k, &dear) == nil || c.budgets.shortFor(k, &here) != nil || c.budgets.shortFor(k, &grid.Candidate{Peer: her}) != nil {
		t.Error("one site is judged otherwise")
	}
	j.User.Name = "nobody limited"
	if _, no := c.budgets.short(&j, []grid.Amount{1e9}); no != nil {
		t.Errorf("without a budget: %+v", no)
	}
	if is, _ := c.budgets.book.Get(k.rec.Job.User.Name); is.InLiens() != 0 {
		t.Error("something is in liens")
	}
}

// A lien is placed on what a job would cost at another site while it is offered there, and lifted when it is not taken.
func TestADeclinedOfferLeavesNoLien(t *testing.T) {
	t.Parallel()
	for _, queued := range []grid.LocalID{"", "l"} {
		j := jobOf(me, "a", "1")
		cfg := signer(me, "a")
		cfg.Granted = map[string]grid.Amount{j.User.Name: 1e15}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{{
			Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
		}})
		c.Step(1_000_000, Boot{})
		inLiens := func() grid.Amount { is, _ := c.budgets.book.Get(j.User.Name); return is.InLiens() }
		k := c.jobs[j.ID]
		if no := c.budgets.lienFor(k, &grid.Candidate{Peer: her, Price: 5, Run: grid.Hour}); no != nil {
			t.Fatal(no)
		}
		c.ownership.makeOffer(k, her, 0, 0)
		if inLiens() == 0 {
			t.Error("no lien is placed for what may cost something")
		}
		k.rec.Local = queued
		if c.ownership.dropOffer(k, "declined"); inLiens() != 0 {
			t.Errorf("queued here %q: %v is in liens for a job that stays", queued, inLiens())
		}
	}
}

// The lien of a job that is LOST is given back; a result that comes after all is charged, once, also by the next life; of a
// job that is forgotten nothing is kept.
func TestALostJobIsChargedForItsResult(t *testing.T) {
	t.Parallel()
	for _, comes := range []bool{true, false} {
		j := jobOf(me, "a", "1")
		rec := grid.Record{Job: j, State: grid.Running, Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}}}
		lien := grid.Lien{Job: j.ID, Amount: 1_000_000, Rate: 360, Cores: 1}
		saved := grid.Budget{User: j.User.Name, Granted: 2_000_000, Liens: []grid.Lien{lien}}
		life := func() *Core {
			cfg := signer(me, "a")
			cfg.Granted, cfg.Budgets = map[string]grid.Amount{j.User.Name: 2_000_000}, []grid.Budget{saved}
			c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{rec})
			begin(c)
			return c
		}
		save := func(c *Core) { rec, saved = c.jobs[j.ID].rec, first(c.budgets.book.Get(j.User.Name)) }
		c := life()
		c.home.terminal(c.jobs[j.ID], grid.Lost)
		if save(c); saved.InLiens() != 0 || saved.Spent != 0 || saved.Free() != 2_000_000 {
			t.Fatalf("LOST: %+v", saved)
		}
		c = life()
		if comes {
			k := c.jobs[j.ID]
			k.rec.Started, k.rec.Finished = 1_000_000, 1_000_000+5*grid.Second
			c.home.terminal(k, grid.Completed)
			c.kernel.save(k, "again")
			save(c)
		} else {
			c.kernel.drop(c.jobs[j.ID])
			saved = first(c.budgets.book.Get(j.User.Name))
		}
		want := map[bool]grid.Amount{true: 500_000, false: 0}[comes]
		if saved.Spent != want || len(saved.Liens) != 0 {
			t.Errorf("a result came: %t: %+v", comes, saved)
		}
	}
}

func first[A, B any](a A, _ B) A { return a }

// What would be refused by its fee when it is handed in is so where it is only asked about, also of several sites.
func TestWhereBeyondTheFee(t *testing.T) {
	t.Parallel()
	for _, fee := range []int64{0, 9} {
		c, e, shot := wherever(4)
		c.Step(1000, BudgetsChanged{map[string]grid.Amount{e.Job.User.Name: 1}})
		e.All, e.Job.Terms.Fee, e.Job.Coallocation = true, fee, &grid.Coallocation{Sites: 2, PerSite: 1}
		effects := append(c.Step(1000, e), c.Step(1000, Looked{Snapshot: shot})...)
		asks := slices.ContainsFunc(effects, func(x Effect) bool { s, is := x.(Send); return is && s.Message.Kind() == wire.KindSlots })
		if asks != (fee == 0) {
			t.Errorf("fee %d: slots are asked for: %v", fee, asks)
		}
		if fee == 0 {
			continue
		}
		d := decided(replied(c, effects, map[grid.PeerID]grid.Estimate{"a": {Wait: 5}, "b": {Wait: 9}}))
		if no := c.budgets.admit(&e.Job); d == nil || d.Chosen != "" || no == nil || !strings.HasSuffix(no.Error(), d.Candidates[1].Refusal.Reason) {
			t.Errorf("told is %+v, and handed in: %v", d, no)
		}
	}
}

// To wait is advised where it helps: where the liens of others would do.
func TestWaitingForABudget(t *testing.T) {
	t.Parallel()
	for granted, helps := range map[grid.Amount]bool{1: false, 36_000_000: true} {
		c, e, _ := wherever(4)
		user := e.Job.User.Name
		c.Step(1000, BudgetsChanged{map[string]grid.Amount{user: granted}})
		if no := c.budgets.book.PlaceLien(user, "a.1", 1, 1, grid.Second); no != nil && helps {
			t.Fatal(no)
		}
		e.Job.Terms.Fee, e.Job.Walltime = 9, grid.Hour
		e.Job.Demand.Chunks = []grid.Chunk{{Count: 1, Cores: 4}}
		err := c.budgets.admit(&e.Job)
		if err == nil || errors.Is(err, grid.ErrNotYet) != helps || strings.Contains(err.Error(), "wait until") != helps {
			t.Errorf("granted %v: %v", granted, err)
		}
	}
}
