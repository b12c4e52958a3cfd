package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// An administrator's word that the home will not come back lets a job start at his site, and not at another: the next
// owner would start it at once, though its home has told its user an end.
func TestAForgottenHomesJobIsNotHandedOn(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		heard grid.Tick
		gone  bool
	}{
		"the home is heard": {heard: 1_000_000, gone: true},
		"the home is not heard, and so the word is used": {},
		"the home was heard long ago":                    {heard: 1},
	} {
		j := jobOf(her, "b", "1")
		chain := []grid.Certificate{certificate(j, her, 1, me)}
		c := signed(grid.Record{Job: j, State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}, HomeForgotten: true, Certificates: chain}})
		c.members[her].live = grid.Dead
		one := c.jobs[j.ID]
		one.reconciled, one.recovered, one.homeHeard = true, false, k.heard
		c.ownership.makeOffer(one, him, 0, 1)
		if hold := c.gates.beforeStart(one); hold != open {
			t.Errorf("%s: it does not start here: %s", name, hold)
		}
		c.Step(1_000_001, Message{him, wire.Ready{Handoff: c.ownership.handoffID(one)}})
		if gone := one.rec.Owner == him; gone != k.gone {
			t.Errorf("%s: handed on %t", name, gone)
		}
		r := &round{replies: map[grid.PeerID]*reply{him: {site: grid.Site{Speed: 1}, answers: make([]grid.Estimate, 1), take: 1}}}
		if refused := c.search.candidates(one, r, 0)[0].Refusal != nil; refused == k.gone && one.rec.Owner == me {
			t.Errorf("%s: its search refuses others: %t", name, refused)
		}
	}
}
