package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// A site with prices tells the rate for when the job would start, to members; one without tells none.
func TestEstimatesTellThePrice(t *testing.T) {
	t.Parallel()
	prices := &plan.Pricing{Base: 2, Users: map[grid.User]float64{{Home: him}: 3}, Hours: []plan.Hours{{From: 5 * grid.Hour, To: 6 * grid.Hour, Factor: 10}}}
	for _, k := range []struct {
		prices   *plan.Pricing
		home     grid.PeerID
		delivery grid.Tick
		want     float64
	}{{nil, "", 0, 0}, {prices, "", 0, 2}, {prices, him, 0, 6}, {prices, "", 5 * grid.Hour, 20}} {
		c := signed()
		c.cfg.Prices = k.prices
		j := jobOf(her, "b", "1")
		c.Step(c.now, Message{her, wire.EstimateRequest{Round: 1, Questions: []wire.Question{{Job: j.ID, Demand: j.Demand, Walltime: grid.Minute, Home: k.home, Delivery: k.delivery}}}})
		told := false
		for _, e := range c.Step(c.now, Looked{Snapshot: plan.Snapshot{At: c.now, Nodes: []plan.Node{{Name: "n", Cores: 64}}}}) {
			if s, is := e.(Send); is {
				if r, is := s.Message.(wire.EstimateReply); is {
					told = true
					if got := r.Answers[0].Estimate; got.Refusal != nil || got.Price != k.want {
						t.Errorf("%+v: %+v", k, got)
					}
				}
			}
		}
		if !told {
			t.Errorf("%+v: no answer", k)
		}
	}
}
