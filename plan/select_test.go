package plan

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

func (t twin) market() (*Market, error) {
	m, err := NewMarket(t.sites, t.slots)
	if err != nil {
		return nil, err
	}
	return m, t.w.Check(len(t.sites))
}

func TestSelectEqualsTheTwin(t *testing.T) {
	t.Parallel()
	for range 10 {
		rapid.Check(t, func(t *rapid.T) {
			w := drawTwin(t, rapid.Bool().Draw(t, "simple"))
			m, err := w.market()
			if err != nil {
				t.Fatal(err)
			}
			want, possible := w.best()
			got, lack := m.Select(w.w)
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
}

// checkLack holds the reason against the twin: of one kind of pieces so many have room
// at its instant and no more ever, and each rule it blames is in truth the only one in the way.
func checkLack(t *rapid.T, w twin, lack *Lack) {
	if c := w.w.Demand.Chunks; len(c) == 1 {
		if lack.Asked != c[0].Count || lack.Most >= lack.Asked {
			t.Fatalf("%+v of %d pieces", lack, c[0].Count)
		}
		free := w.asking(lack.Most + 1)
		free.w.MinPerSite = 0 // a number that is no multiple of the least may be out of reach by itself
		if _, ok := free.best(); ok && w.w.MinPerSite <= 1 {
			t.Fatalf("%+v, but %d have room at once", lack, lack.Most+1)
		}
		if lack.Most > 0 {
			free = free.asking(lack.Most)
			if _, ok := free.best(); !ok {
				t.Fatalf("%+v, but so many have no room at once", lack)
			}
		}
	}
	for rule, relax := range map[Rule]func(w *Wanted){
		RuleFee:        func(w *Wanted) { w.Fee = math.Inf(1) },
		RuleMaxSites:   func(w *Wanted) { w.MaxSites = 0 },
		RuleMinPerSite: func(w *Wanted) { w.MinPerSite = 0 },
		RuleDelivery:   func(w *Wanted) { w.Delivery, w.Margin = make([]grid.Tick, len(w.Delivery)), 0 },
	} {
		relaxed := w
		relax(&relaxed.w)
		relaxed.w.FirstStart = true
		_, possible := relaxed.best()
		blamed := slices.ContainsFunc(lack.Without, func(w Without) bool { return w.Rule == rule })
		if possible != blamed {
			t.Fatalf("%+v: without %s it is possible: %v", lack, rule, possible)
		}
	}
}

// asking asks for another number of pieces.
func (t twin) asking(pieces int) twin {
	t.w.Demand.Chunks = slices.Clone(t.w.Demand.Chunks)
	t.w.Demand.Chunks[0].Count = pieces
	return t
}

func with(w Wanted, change func(*Wanted)) Wanted {
	change(&w)
	return w
}

// Where a slot holds one piece the cheapest are taken.
func TestSelectTakesTheCheapest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawTwin(t, true)
		w.w.MaxSites, w.w.MinPerSite = 0, 0
		m, err := w.market()
		if err != nil {
			t.Fatal(err)
		}
		got, _ := m.Select(w.w)
		if got == nil {
			return
		}
		slowest := math.Inf(1)
		for _, s := range got.Taken {
			j := slices.IndexFunc(w.sites, func(site SlotSite) bool { return site.Name == s.Site })
			slowest = min(slowest, w.sites[j].Speed)
		}
		var prices []float64
		for _, n := range w.candidates(got.Start, slowest) {
			price := 0.0
			for _, s := range w.on(n, got.Start, got.End) {
				price = max(price, s.Price)
			}
			if w.free(n, got.Start, got.End, w.w.Fee) != nil {
				prices = append(prices, price)
			}
		}
		slices.Sort(prices)
		var least float64
		for _, p := range prices[:w.w.Demand.Cores()] {
			least += p
		}
		least *= (got.End - got.Start).Seconds() / 3600
		if math.Abs(got.Cost-least) > 1e-12 {
			t.Fatalf("%+v; the cheapest cost %v", got, least)
		}
	})
}

// oneCore are sites of nodes of one core each, as many as their slots name.
func oneCore(sites []grid.Site, slots []grid.Slot) []SlotSite {
	var out []SlotSite
	for _, s := range sites {
		site := SlotSite{Site: s}
		for i := range slots {
			slots[i].Cores = 1
			if n := slots[i].Node; slots[i].Site == s.Name && !slices.ContainsFunc(site.Nodes, func(o Node) bool { return o.Name == n }) {
				site.Nodes = append(site.Nodes, Node{Name: n, Cores: 1})
			}
		}
		out = append(out, site)
	}
	return out
}

// Usable are a from 5 and b from 20; what is free then, counted by hand:
//
//	a1 [0,50)+[50,120)   a2 [10,200)   b1 [0,60)   b2 [90,160)
func TestSelectByHand(t *testing.T) {
	t.Parallel()
	slots := []grid.Slot{
		{Site: "b", Node: "2", Start: 90, End: 160, Price: 2},
		{Site: "a", Node: "1", Start: 50, End: 120, Price: 3},
		{Site: "a", Node: "1", Start: 0, End: 50, Price: 1},
		{Site: "a", Node: "2", Start: 10, End: 200, Price: 1},
		{Site: "b", Node: "1", Start: 0, End: 60, Price: 2},
		{Site: "b", Node: "2", Start: 0, End: 8, Price: 2},
	}
	m, err := NewMarket(oneCore([]grid.Site{{Name: "a", Speed: 1}, {Name: "b", Speed: 2}}, slots), slots)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pieces int
		w      Wanted
		want   string
	}{
		{1, Wanted{Walltime: 100, Fee: 9}, "5-105 a1=3 cost 300"},
		{2, Wanted{Walltime: 100, Fee: 9}, "10-110 a1=3 a2=1 cost 400"},
		{1, Wanted{Walltime: 40, Fee: 9}, "20-40 b1=2 cost 40"},
		{1, Wanted{Walltime: 40, Fee: 9, FirstStart: true}, "5-45 a1=1 cost 40"},
		{3, Wanted{Walltime: 40, Fee: 9}, "20-60 a1=3 a2=1 b1=2 cost 240"},
		{2, Wanted{Walltime: 40, Fee: 9, MaxSites: 1}, "10-50 a1=1 a2=1 cost 80"},
		{3, Wanted{Walltime: 40, Fee: 2}, "at most 2 of the 3 pieces have room at once for 0.04 s, first at 0.01 s; " +
			"of 6 slots 1 cost too much, 0 have no room for any piece, 1 are too short, 0 end too soon after the files are there; " +
			"without the limit of the price it would start at 0.02 s; without delivery time and margin it would start at 0.01 s"},
		{4, Wanted{Walltime: 40, Fee: 9, MinPerSite: 2}, "at most 2 of the 4 pieces have room at once for 0.04 s, first at 0.01 s; " +
			"of 6 slots 0 cost too much, 0 have no room for any piece, 1 are too short, 0 end too soon after the files are there"},
		{1, Wanted{Walltime: 500, Fee: 9}, "none of the 1 pieces has room; " +
			"of 6 slots 0 cost too much, 0 have no room for any piece, 5 are too short, 0 end too soon after the files are there"},
	} {
		c.w.Demand = demand(c.pieces, 1, 0)
		c.w.Delivery, c.w.Margin = []grid.Tick{0, 15}, 5
		if got := saySelection(m.Select(c.w)); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.w, got, c.want)
		}
	}
}

func saySelection(s *Selection, lack *Lack) string {
	if s == nil {
		return lack.String()
	}
	text := fmt.Sprintf("%d-%d", s.Start, s.End)
	for _, x := range s.Taken {
		text += fmt.Sprintf(" %s%s=%v", x.Site, x.Node, x.Price)
	}
	return text + fmt.Sprintf(" cost %.4g", s.Cost*3.6e6) // of cores and milliseconds
}

// One site of two nodes of 8 cores and 16 bytes, by hand. Of n1 three cores are in use until
// 50, for a fee only one; n2 has a GPU, and is free from 20 on.
func TestSelectOnADemandByHand(t *testing.T) {
	t.Parallel()
	gpu := []grid.Resource{{Name: "gpu", Amount: 1}}
	sites := []SlotSite{{grid.Site{Name: "a", Speed: 1, Architecture: "x86_64"}, []Node{
		{Name: "n1", Cores: 8, Memory: 16}, {Name: "n2", Cores: 8, Memory: 16, Resources: gpu, Properties: []string{"big"}},
	}}}
	m, err := NewMarket(sites, []grid.Slot{
		{Site: "a", Node: "n1", Start: 0, End: 50, Cores: 5, Memory: 10, Price: 1},
		{Site: "a", Node: "n1", Start: 0, End: 50, Cores: 7, Memory: 14, Price: 6},
		{Site: "a", Node: "n1", Start: 50, End: 100, Cores: 8, Memory: 16, Price: 2},
		{Site: "a", Node: "n2", Start: 20, End: 100, Cores: 8, Memory: 16, Resources: gpu, Price: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		demand grid.Demand
		fee    float64
		want   string
	}{
		{"five cores are left beside the others", demand(5, 1, 0), 5, "0-30 an1=1 cost 150"},
		{"for a fee it has seven", demand(7, 1, 0), 9, "0-30 an1=6 cost 1260"},
		{"memory binds before cores", demand(3, 1, 4), 5, "20-50 an1=1 an2=1 cost 90"},
		{"a piece lies on one node", demand(1, 8, 0), 5, "20-50 an2=1 cost 240"},
		{"two of them", demand(2, 8, 0), 5, "50-80 an1=2 an2=1 cost 720"},
		{"whole nodes", grid.Demand{Chunks: demand(2, 1, 0).Chunks, Exclusive: true}, 9, "20-50 an2=1 cost 240"},
		{"nine pieces on whole nodes", grid.Demand{Chunks: demand(9, 1, 0).Chunks, Exclusive: true}, 9, "50-80 an1=2 an2=1 cost 720"},
		{"a resource", grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1, Resources: gpu}}}, 5, "20-50 an2=1 cost 30"},
		{"a property", grid.Demand{Chunks: demand(1, 1, 0).Chunks, Properties: []string{"big"}}, 5, "20-50 an2=1 cost 30"},
		{"two kinds of pieces", grid.Demand{Chunks: []grid.Chunk{{Count: 3, Processes: 1, Cores: 2}, {Count: 1, Processes: 1, Cores: 5}}}, 5, "20-50 an1=1 an2=1 cost 330"},
		{"and three", grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1, Resources: gpu}, {Count: 2, Processes: 1, Cores: 7}}}, 5, "50-80 an1=2 an2=1 cost 660"},
		{"another architecture", grid.Demand{Chunks: demand(1, 1, 0).Chunks, Architecture: "powerpc"}, 9, "none of the 1 pieces has room; " +
			"of 4 slots 0 cost too much, 4 have no room for any piece, 0 are too short, 0 end too soon after the files are there"},
		{"what no site has", grid.Demand{Chunks: []grid.Chunk{{Count: 1, Cores: 1, Resources: []grid.Resource{{Name: "fpga", Amount: 1}}}}}, 9, "none of the 1 pieces has room; " +
			"of 4 slots 0 cost too much, 4 have no room for any piece, 0 are too short, 0 end too soon after the files are there"},
		{"not beside one another", grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 5}, {Count: 3, Processes: 1, Cores: 4}}}, 9, "each kind of pieces has room by itself, but not beside the others; " +
			"of 4 slots 0 cost too much, 0 have no room for any piece, 0 are too short, 0 end too soon after the files are there"},
	} {
		w := Wanted{Demand: c.demand, Walltime: 30, Fee: c.fee}
		if err := w.Check(1); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := saySelection(m.Select(w)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	got, _ := m.Select(Wanted{Demand: demand(3, 1, 4), Walltime: 30, Fee: 5})
	want := []Taken{
		{grid.Slot{Site: "a", Node: "n1", Start: 0, End: 100, Cores: 2, Memory: 8, Price: 1}, 2},
		{grid.Slot{Site: "a", Node: "n2", Start: 20, End: 100, Cores: 1, Memory: 4, Price: 1}, 1},
	}
	if !reflect.DeepEqual(got.Taken, want) {
		t.Errorf("taken are %+v, want %+v", got.Taken, want)
	}
}

// A node on which more comes free than any one chunk asks for is a new place for all of them together.
func TestSelectWaitsForRoomBesideTheOthers(t *testing.T) {
	t.Parallel()
	m, err := NewMarket([]SlotSite{{grid.Site{Name: "a", Speed: 1}, []Node{{Name: "n", Cores: 5}}}}, []grid.Slot{
		{Site: "a", Node: "n", Start: 0, End: 20, Cores: 4},
		{Site: "a", Node: "n", Start: 20, End: 40, Cores: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	both := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 3}, {Count: 1, Processes: 1, Cores: 2}}}
	if got := saySelection(m.Select(Wanted{Demand: both, Walltime: 10})); got != "20-30 an=0 cost 0" {
		t.Error(got)
	}
}

// Of three pieces no two sites can have two each, though both sites have two nodes: the
// job waits for the third node of one.
func TestSelectSharesOutNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	var slots []grid.Slot
	for _, site := range []grid.SiteName{"a", "b"} {
		for n, start := range []grid.Tick{0, 0, 50} {
			slots = append(slots, grid.Slot{Site: site, Node: grid.NodeName(fmt.Sprint(n)), Start: start, End: 100})
		}
	}
	m, err := NewMarket(oneCore([]grid.Site{{Name: "a", Speed: 1}, {Name: "b", Speed: 1}}, slots), slots)
	if err != nil {
		t.Fatal(err)
	}
	got, lack := m.Select(Wanted{Demand: demand(3, 1, 0), Walltime: 10, MinPerSite: 2})
	if lack != nil || got.Start != 50 || len(got.Taken) != 3 || got.Taken[0].Site != got.Taken[2].Site {
		t.Errorf("%+v, %v; want three nodes of one site at 50", got, lack)
	}
}

// A plan sells what it has, and what is bought is there: of the slots of two sites that
// plan by themselves a job of several pieces gets its nodes.
func TestSelectFromPlans(t *testing.T) {
	t.Parallel()
	var slots []grid.Slot
	var sites []SlotSite
	for _, name := range []grid.SiteName{"a", "b"} {
		s := Snapshot{
			Site: grid.Site{Name: name, Speed: 1}, Nodes: nodes(2, 4),
			Running: []Running{{Shares: []Share{{Node: 0, Cores: 3}}, End: 100}},
			Waiting: []Waiting{{Demand: demand(1, 4, 0), Limit: 50, Priority: 1}},
		}
		sites = append(sites, SlotSite{s.Site, s.Nodes})
		slots = append(slots, Build(s).Slots(&Pricing{Base: 1, Priority: 1}, grid.User{}, 0, 1000)...)
	}
	m, err := NewMarket(sites, slots)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		demand grid.Demand
		fee    float64
		want   string
	}{
		{demand(2, 1, 0), 1, "0-10 an0=1 bn0=1 cost 20"},
		{demand(4, 4, 0), 1, "100-110 an0=1 an1=1 bn0=1 bn1=1 cost 160"},
		{demand(2, 4, 0), 1, "50-60 an1=1 bn1=1 cost 80"},
		{demand(2, 4, 0), 2, "0-10 an1=2 bn1=2 cost 160"}, // what waits there gives way
	} {
		if got := saySelection(m.Select(Wanted{Demand: c.demand, Fee: c.fee, Walltime: 10})); got != c.want {
			t.Errorf("%+v for %v: %s, want %s", c.demand, c.fee, got, c.want)
		}
	}
}
