package plan

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// drawTwin makes small markets where every rule decides now and then.
func drawTwin(t *rapid.T) twin {
	var w twin
	number := func(from, to int, name string) int { return rapid.IntRange(from, to).Draw(t, name) }
	w.fee = float64(number(2, 5, "fee"))
	for j := range number(1, 4, "sites") {
		speed := rapid.SampledFrom([]float64{1, 1, 2, 0.5, 3}).Draw(t, "speed")
		w.sites = append(w.sites, SlotSite{grid.SiteName(fmt.Sprintf("s%d", j)), speed})
		w.w.Delivery = append(w.w.Delivery, grid.Tick(number(0, 12, "delivery")))
		for n := range number(0, 6, "nodes") {
			at := grid.Tick(number(0, 10, "first"))
			for range number(0, 4, "slots") {
				end := at + grid.Tick(number(1, 15, "length"))
				w.slots = append(w.slots, grid.Slot{
					Site: w.sites[j].Name, Node: grid.NodeName(fmt.Sprintf("n%d", n)),
					Start: at, End: end, Price: float64(number(0, 4, "price")),
				})
				at = end + grid.Tick(max(0, number(-3, 4, "gap")))
			}
		}
	}
	w.slots = rapid.Permutation(w.slots).Draw(t, "order")
	w.w.Now = grid.Tick(number(0, 5, "now"))
	w.w.Margin = grid.Tick(number(0, 3, "margin"))
	w.w.Processes = number(1, 8, "processes")
	w.w.Walltime = grid.Tick(number(1, 14, "walltime"))
	w.w.MaxSites = number(0, 3, "most sites")
	w.w.MinPerSite = number(0, min(3, w.w.Processes), "least per site")
	w.w.FirstStart = rapid.Bool().Draw(t, "first start")
	return w
}

func (t twin) lists() (*Lists, error) {
	m, err := NewMarket(t.sites, t.slots)
	if err != nil {
		return nil, err
	}
	return m.Within(t.fee), t.w.Check(len(t.sites))
}

func TestSelectEqualsTheTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawTwin(t)
		l, err := w.lists()
		if err != nil {
			t.Fatal(err)
		}
		want, possible := w.best()
		got, lack := l.Select(w.w)
		if (got != nil) != possible || (lack == nil) != possible {
			t.Fatalf("selection %+v, lack %v; the twin says %v at %d", got, lack, possible, want)
		}
		if !possible {
			checkLack(t, w, lack)
			return
		}
		at := got.End
		if w.w.FirstStart {
			at = got.Start
		}
		if at != want {
			t.Fatalf("%+v at %d, the twin has %d", got, at, want)
		}
		if err := w.valid(got); err != nil {
			t.Fatalf("%+v: %v", got, err)
		}
	})
}

// checkLack holds the reason against the twin: so many could run at its instant and
// no more ever, and each rule it blames is in truth the only one in the way.
func checkLack(t *rapid.T, w twin, lack *Lack) {
	if lack.Asked != w.w.Processes || lack.Most >= lack.Asked {
		t.Fatalf("%+v of %d processes", lack, w.w.Processes)
	}
	free := w
	free.w.MinPerSite = 0 // a number that is no multiple of the least may be out of reach by itself
	free.w.Processes = lack.Most + 1
	if _, ok := free.best(); ok && w.w.MinPerSite <= 1 {
		t.Fatalf("%+v, but %d can run at once", lack, lack.Most+1)
	}
	if lack.Most > 0 {
		free.w.Processes = lack.Most
		if _, ok := free.best(); !ok {
			t.Fatalf("%+v, but so many cannot run at once", lack)
		}
	}
	for rule, relaxed := range map[Rule]twin{
		RuleFee:        {w.sites, w.slots, w.w, math.Inf(1)},
		RuleMaxSites:   {w.sites, w.slots, with(w.w, func(w *Wanted) { w.MaxSites = 0 }), w.fee},
		RuleMinPerSite: {w.sites, w.slots, with(w.w, func(w *Wanted) { w.MinPerSite = 0 }), w.fee},
		RuleDelivery: {w.sites, w.slots, with(w.w, func(w *Wanted) {
			w.Delivery, w.Margin = make([]grid.Tick, len(w.Delivery)), 0
		}), w.fee},
	} {
		relaxed.w.FirstStart = true
		_, possible := relaxed.best()
		blamed := slices.ContainsFunc(lack.Without, func(w Without) bool { return w.Rule == rule })
		if possible != blamed {
			t.Fatalf("%+v: without %s it is possible: %v", lack, rule, possible)
		}
	}
}

func with(w Wanted, change func(*Wanted)) Wanted {
	change(&w)
	return w
}

// Of two processes at any of the sites the cheapest nodes are taken.
func TestSelectTakesTheCheapest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawTwin(t)
		w.w.MaxSites, w.w.MinPerSite = 0, 0
		l, err := w.lists()
		if err != nil {
			t.Fatal(err)
		}
		got, _ := l.Select(w.w)
		if got == nil {
			return
		}
		slowest := math.Inf(1)
		for _, s := range got.Slots {
			j := slices.IndexFunc(w.sites, func(site SlotSite) bool { return site.Name == s.Site })
			slowest = min(slowest, w.sites[j].Speed)
		}
		var prices []float64
		for _, n := range w.nodes() {
			j := slices.IndexFunc(w.sites, func(site SlotSite) bool { return site.Name == n.site })
			price, ok := w.free(n, got.Start, got.End)
			if ok && w.usable(j) <= got.Start && w.sites[j].Speed >= slowest {
				prices = append(prices, price)
			}
		}
		slices.Sort(prices)
		var least float64
		for _, p := range prices[:w.w.Processes] {
			least += p
		}
		if got.Cost != least {
			t.Fatalf("%+v; the cheapest cost %v", got, least)
		}
	})
}

// Usable are a from 5 and b from 20; what is free then, counted by hand:
//
//	a1 [0,50)+[50,120)   a2 [10,200)   b1 [0,60)   b2 [90,160)
func TestSelectByHand(t *testing.T) {
	t.Parallel()
	m, err := NewMarket([]SlotSite{{"a", 1}, {"b", 2}}, []grid.Slot{
		{Site: "b", Node: "2", Start: 90, End: 160, Price: 2},
		{Site: "a", Node: "1", Start: 50, End: 120, Price: 3},
		{Site: "a", Node: "1", Start: 0, End: 50, Price: 1},
		{Site: "a", Node: "2", Start: 10, End: 200, Price: 1},
		{Site: "b", Node: "1", Start: 0, End: 60, Price: 2},
		{Site: "b", Node: "2", Start: 0, End: 8, Price: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		w    Wanted
		fee  float64
		want string
	}{
		{Wanted{Processes: 1, Walltime: 100}, 9, "5-105 a1=3 cost 3"},
		{Wanted{Processes: 2, Walltime: 100}, 9, "10-110 a1=3 a2=1 cost 4"},
		{Wanted{Processes: 1, Walltime: 40}, 9, "20-40 b1=2 cost 2"},
		{Wanted{Processes: 1, Walltime: 40, FirstStart: true}, 9, "5-45 a1=1 cost 1"},
		{Wanted{Processes: 3, Walltime: 40}, 9, "20-60 a1=3 a2=1 b1=2 cost 6"},
		{Wanted{Processes: 2, Walltime: 40, MaxSites: 1}, 9, "10-50 a1=1 a2=1 cost 2"},
		{Wanted{Processes: 3, Walltime: 40}, 2, "at most 2 of the 3 processes can run at once for 0.04 s, first at 0.01 s; " +
			"of 6 slots 1 cost too much, 1 are too short, 0 end too soon after the files are there; " +
			"without the limit of the price it would start at 0.02 s; without delivery time and margin it would start at 0.01 s"},
		{Wanted{Processes: 4, Walltime: 40, MinPerSite: 2}, 9, "at most 2 of the 4 processes can run at once for 0.04 s, first at 0.01 s; " +
			"of 6 slots 0 cost too much, 1 are too short, 0 end too soon after the files are there"},
		{Wanted{Processes: 1, Walltime: 500}, 9, "none of the 1 processes can run; " +
			"of 6 slots 0 cost too much, 5 are too short, 0 end too soon after the files are there"},
	} {
		c.w.Delivery, c.w.Margin = []grid.Tick{0, 15}, 5
		got, lack := m.Within(c.fee).Select(c.w)
		text := fmt.Sprint(lack)
		if got != nil {
			text = fmt.Sprintf("%d-%d", got.Start, got.End)
			for _, s := range got.Slots {
				text += fmt.Sprintf(" %s%s=%v", s.Site, s.Node, s.Price)
			}
			text += fmt.Sprintf(" cost %v", got.Cost)
		}
		if text != c.want {
			t.Errorf("%+v for %v:\n%s\nwant\n%s", c.w, c.fee, text, c.want)
		}
	}
}

// Of three processes no two sites can have two each, though both sites have two nodes:
// the job waits for the third node of one.
func TestSelectSharesOutNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	var slots []grid.Slot
	for _, site := range []grid.SiteName{"a", "b"} {
		for n, start := range []grid.Tick{0, 0, 50} {
			slots = append(slots, grid.Slot{Site: site, Node: grid.NodeName(fmt.Sprint(n)), Start: start, End: 100})
		}
	}
	m, err := NewMarket([]SlotSite{{"a", 1}, {"b", 1}}, slots)
	if err != nil {
		t.Fatal(err)
	}
	got, lack := m.Within(0).Select(Wanted{Processes: 3, Walltime: 10, MinPerSite: 2})
	if lack != nil || got.Start != 50 || len(got.Slots) != 3 || got.Slots[0].Site != got.Slots[2].Site {
		t.Errorf("%+v, %v; want three nodes of one site at 50", got, lack)
	}
}

// What is wrong with the input is told by its place.
func TestMarketNamesThePlace(t *testing.T) {
	t.Parallel()
	good := []grid.Slot{{Site: "a", Node: "1", Start: 0, End: 10}, {Site: "a", Node: "2", Start: 5, End: 10}}
	for _, c := range []struct {
		sites []SlotSite
		slot  grid.Slot
		want  string // "" is fine
	}{
		{nil, grid.Slot{Site: "a", Node: "1", Start: 10, End: 20}, ""},
		{nil, grid.Slot{Site: "b", Node: "1", Start: 0, End: 20}, ""},
		{nil, grid.Slot{Site: "a", Node: "1", Start: 9, End: 20}, `slots[2]: it overlaps slots[0] on the node "1" of "a"`},
		{nil, grid.Slot{Site: "a", Node: "2", Start: 1, End: 6}, `slots[2]: it overlaps slots[1] on the node "2" of "a"`},
		{nil, grid.Slot{Site: "c", Node: "1", Start: 10, End: 20}, `slots[2]: its site "c" is none of the sites`},
		{nil, grid.Slot{Site: "a", Node: "1", Start: 20, End: 20}, "slots[2]: it ends at 0.02 s, which is not after its start at 0.02 s"},
		{nil, grid.Slot{Site: "a", Node: "1", Start: 20, End: maxInstant + 1}, "slots[2]: from 0.02 to 1.000000000000001e+12 s: instants lie within ±1e+12 s"},
		{nil, grid.Slot{Site: "a", Node: "1", Start: 10, End: 20, Price: -1}, "slots[2]: its price is -1: a number from 0 up"},
		{nil, grid.Slot{Site: "a", Node: "1", Start: 10, End: 20, Price: math.NaN()}, "slots[2]: its price is NaN: a number from 0 up"},
		{[]SlotSite{{"a", 1}, {"b", 1}, {"a", 2}}, good[0], `sites[2]: "a" is sites[0] already`},
		{[]SlotSite{{"a", 1}, {"b", math.NaN()}}, good[0], "sites[1]: its speed is NaN: from 0.001 to 1000"},
	} {
		if c.sites == nil {
			c.sites = []SlotSite{{"a", 1}, {"b", 1}}
		}
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
	m, err := NewMarket([]SlotSite{{"a", minSpeed}, {"b", maxSpeed}}, []grid.Slot{
		{Site: "a", Node: "1", Start: -maxInstant, End: maxInstant},
		{Site: "b", Node: "1", Start: maxInstant - 1, End: maxInstant},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := Wanted{Processes: 1, Walltime: maxWalltime, Now: -maxInstant, Delivery: []grid.Tick{0, maxInstant}}
	got, _ := m.Within(AnyFee).Select(w)
	if got == nil || got.Start != -maxInstant || got.End != 0 {
		t.Errorf("%+v", got)
	}
	w.Margin, w.Now = maxInstant, maxInstant
	if err := w.Check(2); err != nil {
		t.Fatal(err)
	}
	if got, lack := m.Within(AnyFee).Select(w); got != nil || lack.Late != 1 || lack.Short != 1 {
		t.Errorf("%+v %+v", got, lack)
	}
	for _, change := range []func(*Wanted){
		func(w *Wanted) { w.Processes = 0 },
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
