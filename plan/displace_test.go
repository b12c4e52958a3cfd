package plan

import (
	"reflect"
	"testing"

	"gbroker/grid"
)

// Of two nodes one runs a job until 50 and then would run another; what is reserved there costs by the priority of that
// one, from when on it would run, and by the hour.
func TestPriceOfWhatIsDisplaced(t *testing.T) {
	t.Parallel()
	p := Build(Snapshot{
		Nodes:   nodes(2, 4),
		Running: []Running{{Shares: []Share{{Node: 0, Cores: 4}, {Node: 1, Cores: 4}}, End: 50}},
		Waiting: []Waiting{{Job: "w", Demand: demand(1, 4, 0), Limit: 100, Priority: 3}},
	})
	prices := &Pricing{Base: 2, Priority: 0.5, Users: map[grid.User]float64{{Home: "x"}: 10}}
	both := []grid.NodeName{p.nodes[0].Name, p.nodes[1].Name}
	for _, c := range []struct {
		nodes    []grid.NodeName
		from, to grid.Tick
		prices   *Pricing
		user     grid.User
		rate     float64
		lost     float64
	}{
		{both, 50, 150, prices, grid.User{}, 2 * 2.5, 0.4},
		{both, 140, 300, prices, grid.User{}, 2 * 2.5, 0.04},
		{both, 150, 300, prices, grid.User{}, 2, 0},
		{both[1:], 50, 150, prices, grid.User{}, 2, 0},
		{both, 150, 300, prices, grid.User{Home: "x"}, 20, 0},
		{both, 50, 150, nil, grid.User{}, 0, 0},
	} {
		rate, displaced := p.Price(c.nodes, c.from, c.to, c.prices, c.user)
		var want []Displaced
		if c.lost > 0 {
			want = []Displaced{{"w", 3, c.lost}}
		}
		if rate != c.rate || !reflect.DeepEqual(displaced, want) {
			t.Errorf("%+v: %v, %+v", c, rate, displaced)
		}
	}
}
