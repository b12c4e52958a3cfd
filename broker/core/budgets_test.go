package core

import (
	"testing"

	"gbroker/grid"
)

// What a job would cost at another site is held while it is offered there, and free again when it is not taken.
func TestADeclinedOfferHoldsNothing(t *testing.T) {
	t.Parallel()
	for _, queued := range []grid.LocalID{"", "l"} {
		j := jobOf(me, "a", "1")
		cfg := signer(me, "a")
		cfg.Granted = map[string]grid.Amount{j.User.Name: 1e15}
		c := New(cfg, []grid.Member{{Name: "b", Peer: her, Send: true}}, []grid.Record{{
			Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}},
		}})
		c.Step(1_000_000, Boot{})
		held := func() grid.Amount { is, _ := c.budgets.book.Get(j.User.Name); return is.Held() }
		k := c.jobs[j.ID]
		if no := c.budgets.holdFor(k, &grid.Candidate{Peer: her, Price: 5, Run: grid.Hour}); no != nil {
			t.Fatal(no)
		}
		c.ownership.makeOffer(k, her, 0, 0)
		if held() == 0 {
			t.Error("nothing is held for what may cost something")
		}
		k.rec.Local = queued
		if c.ownership.dropOffer(k, "declined"); held() != 0 {
			t.Errorf("queued here %q: %v is held for a job that stays", queued, held())
		}
	}
}
