package plan

import (
	"math"
	"slices"
	"testing"

	"gbroker/grid"
)

// What is wrong with the input is told by its place.
func TestMarketNamesThePlace(t *testing.T) {
	t.Parallel()
	node := func(names ...grid.NodeName) (out []Node) {
		for _, n := range names {
			out = append(out, Node{Name: n, Cores: 2, Memory: 4})
		}
		return out
	}
	site := func(name grid.SiteName, speed float64, nodes ...Node) SlotSite {
		return SlotSite{grid.Site{Name: name, Speed: speed}, nodes}
	}
	ab := []SlotSite{site("a", 1, node("1", "2")...), site("b", 1, node("1")...)}
	good := []grid.Slot{{Site: "a", Node: "1", Start: 0, End: 10, Cores: 1, Price: 1}, {Site: "a", Node: "2", Start: 5, End: 10, Cores: 1}}
	for _, c := range []struct {
		sites []SlotSite
		slot  grid.Slot
		want  string // "" is fine
	}{
		{ab, grid.Slot{Site: "a", Node: "1", Start: 10, End: 20}, ""},
		{ab, grid.Slot{Site: "b", Node: "1", Start: 0, End: 20, Cores: 2, Memory: 4}, ""},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 0, End: 10, Cores: 2, Price: 2}, ""}, // the dearer of the same time
		{ab, grid.Slot{Site: "a", Node: "1", Start: 0, End: 10, Cores: 0, Price: 2}, `slots[2]: it overlaps slots[0] on the node "1" of "a"`},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 0, End: 10, Cores: 2, Price: 1}, `slots[2]: it overlaps slots[0] on the node "1" of "a"`},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 0, End: 11, Cores: 2, Price: 2}, `slots[2]: it overlaps slots[0] on the node "1" of "a"`},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 9, End: 20}, `slots[2]: it overlaps slots[0] on the node "1" of "a"`},
		{ab, grid.Slot{Site: "a", Node: "2", Start: 1, End: 6}, `slots[2]: it overlaps slots[1] on the node "2" of "a"`},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 10, End: 20, Cores: 3}, `slots[2]: it has more than the node "1" of "a"`},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 10, End: 20, Cores: -1}, `slots[2]: it has more than the node "1" of "a"`},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 10, End: 20, Memory: 5}, `slots[2]: it has more than the node "1" of "a"`},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 10, End: 20, Resources: []grid.Resource{{Name: "gpu", Amount: 1}}}, `slots[2]: it has more than the node "1" of "a"`},
		{ab, grid.Slot{Site: "a", Node: "3", Start: 10, End: 20}, `slots[2]: its node "3" is none of the nodes of "a"`},
		{ab, grid.Slot{Site: "c", Node: "1", Start: 10, End: 20}, `slots[2]: its site "c" is none of the sites`},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 20, End: 20}, "slots[2]: it ends at 0.02 s, which is not after its start at 0.02 s"},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 20, End: maxInstant + 1}, "slots[2]: from 0.02 to 1.000000000000001e+12 s: instants lie within ±1e+12 s"},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 10, End: 20, Price: -1}, "slots[2]: its price is -1: a number from 0 up"},
		{ab, grid.Slot{Site: "a", Node: "1", Start: 10, End: 20, Price: math.NaN()}, "slots[2]: its price is NaN: a number from 0 up"},
		{append(ab[:2:2], site("a", 2)), good[0], `sites[2]: "a" is sites[0] already`},
		{[]SlotSite{ab[0], site("b", math.NaN())}, good[0], "sites[1]: its speed is NaN: from 0.001 to 1000"},
		{[]SlotSite{site("a", 1, node("1", "2", "1")...)}, good[0], `sites[0]: its nodes[2] is called as nodes[0]`},
		{[]SlotSite{site("a", 1, Node{Name: "1", Cores: maxCores}, Node{Name: "2", Cores: 1})}, good[0], "sites[0]: its nodes have more than 16777216 cores"},
	} {
		m, err := NewMarket(c.sites, append(slices.Clone(good), c.slot))
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%+v %+v: %v, want %q", c.sites, c.slot, err, c.want)
		}
		if (m == nil) != (err != nil) {
			t.Errorf("%+v: a market and an error, or neither", c.slot)
		}
	}
}

// A request that passes Check cannot make a sum of times overflow.
func TestWantedAtItsBounds(t *testing.T) {
	t.Parallel()
	slots := []grid.Slot{
		{Site: "a", Node: "1", Start: -maxInstant, End: maxInstant},
		{Site: "b", Node: "1", Start: maxInstant - 1, End: maxInstant},
	}
	m, err := NewMarket(oneCore([]grid.Site{{Name: "a", Speed: minSpeed}, {Name: "b", Speed: maxSpeed}}, slots), slots)
	if err != nil {
		t.Fatal(err)
	}
	w := Wanted{Demand: demand(1, 1, 0), Fee: AnyFee, Walltime: maxWalltime, Now: -maxInstant, Delivery: []grid.Tick{0, maxInstant}}
	got, _ := m.Select(w)
	if got == nil || got.Start != -maxInstant || got.End != 0 {
		t.Errorf("%+v", got)
	}
	w.Margin, w.Now = maxInstant, maxInstant
	if err := w.Check(2); err != nil {
		t.Fatal(err)
	}
	if got, lack := m.Select(w); got != nil || lack.Late != 1 || lack.Short != 1 {
		t.Errorf("%+v %+v", got, lack)
	}
	w.Demand.Chunks = append(w.Demand.Chunks, grid.Chunk{Count: 1, Cores: 1})
	if got, lack := m.Select(w); got != nil || lack.Late != 2 || lack.Short != 2 {
		t.Errorf("of two chunks: %+v %+v", got, lack)
	}
	w.Demand = demand(1, 1, 0)
	for _, change := range []func(*Wanted){
		func(w *Wanted) { w.Demand = demand(0, 1, 0) },
		func(w *Wanted) { w.Demand = demand(grid.MaxProcesses+1, 1, 0) },
		func(w *Wanted) { w.Demand.Chunks = append(w.Demand.Chunks, w.Demand.Chunks...); w.MaxSites = 1 },
		func(w *Wanted) { w.Fee = -1 },
		func(w *Wanted) { w.Fee = math.NaN() },
		func(w *Wanted) { w.Walltime = 0 },
		func(w *Wanted) { w.Walltime++ },
		func(w *Wanted) { w.Now++ },
		func(w *Wanted) { w.Margin++ },
		func(w *Wanted) { w.Margin = -1 },
		func(w *Wanted) { w.MaxSites = -1 },
		func(w *Wanted) { w.MinPerSite = -1 },
		func(w *Wanted) { w.MinPerSite = 2 },
		func(w *Wanted) { w.Delivery = w.Delivery[:1] },
		func(w *Wanted) { w.Delivery = []grid.Tick{0, -1} },
		func(w *Wanted) { w.Delivery = []grid.Tick{0, maxInstant + 1} },
	} {
		if bad := with(w, change); bad.Check(2) == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// What a node sells more dearly is what it has beyond the cheaper: nine pieces do not all go where eight have room.
func TestANodeSellsEachPieceOnce(t *testing.T) {
	t.Parallel()
	sites := []SlotSite{{grid.Site{Name: "a", Speed: 1}, []Node{{Name: "n1", Cores: 8}, {Name: "n2", Cores: 8}}}}
	m, err := NewMarket(sites, []grid.Slot{
		{Site: "a", Node: "n1", Start: 0, End: 50, Cores: 2, Price: 1},
		{Site: "a", Node: "n1", Start: 0, End: 50, Cores: 8, Price: 3},
		{Site: "a", Node: "n2", Start: 0, End: 50, Cores: 8, Price: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, lack := m.Select(Wanted{Demand: demand(9, 1, 0), Walltime: 10, Fee: 9})
	if lack != nil {
		t.Fatal(lack)
	}
	pieces := map[grid.NodeName]int{}
	for _, x := range got.Taken {
		pieces[x.Node] += x.Processes
	}
	if pieces["n1"] != 8 || pieces["n2"] != 1 {
		t.Errorf("it takes %v, and n1 has room for 8", pieces)
	}
}

// A site has as many cores as times can be summed over, and no more, on however many nodes.
func TestAMarketTakesAsManyCoresAsMayBe(t *testing.T) {
	t.Parallel()
	site := func(last int) []SlotSite {
		return []SlotSite{{Site: grid.Site{Name: "a", Speed: 1}, Nodes: []Node{{Name: "n1", Cores: maxCores - 4}, {Name: "n2", Cores: -9}, {Name: "n3", Cores: last}}}}
	}
	for last, fine := range map[int]bool{4: true, 5: false, math.MaxInt: false} {
		if _, err := NewMarket(site(last), nil); (err == nil) != fine {
			t.Errorf("with %d more: %v", last, err)
		}
	}
	for speed, fine := range map[float64]bool{minSpeed: true, maxSpeed: true, minSpeed / 2: false, maxSpeed * 2: false, math.NaN(): false} {
		s := site(4)
		s[0].Speed = speed
		if _, err := NewMarket(s, nil); (err == nil) != fine {
			t.Errorf("of speed %v: %v", speed, err)
		}
	}
}
