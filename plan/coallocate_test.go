package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// wideTwin is the naive twin of coallocate: it tries every instant and every set of sites.
type wideTwin struct {
	w      Wide
	offers []Offered
	alone  []Alone
	meet   func(a, b grid.SiteName) bool // nil is that they need not
}

func drawWide(t *rapid.T) wideTwin {
	number := func(from, to int, name string) int { return rapid.IntRange(from, to).Draw(t, name) }
	var x wideTwin
	alike := rapid.Bool().Draw(t, "nodes alike")
	far, meet := make(map[[2]grid.SiteName]grid.Tick), make(map[[2]grid.SiteName]bool)
	talks := number(0, 2, "the parts talk") == 0
	for j := range number(1, 4, "sites") {
		name := grid.SiteName(fmt.Sprintf("s%d", j))
		o := Offered{Site: grid.Site{Name: name, Speed: rapid.SampledFrom([]float64{1, 1, 2, 0.5, 3}).Draw(t, "speed")}}
		o.Delivery = grid.Tick(number(0, 12, "delivery"))
		for n := range number(0, 4, "nodes") {
			cores := 1
			if !alike {
				cores = number(1, 4, "cores")
			}
			at := grid.Tick(number(0, 10, "first"))
			for range number(0, 3, "slots") {
				s := grid.Slot{Node: grid.NodeName(fmt.Sprintf("n%d", n)), Start: at, End: at + grid.Tick(number(5, 40, "length")), Cores: cores, Price: float64(number(0, 4, "price"))}
				o.Slots = append(o.Slots, s)
				at = s.End + grid.Tick(max(0, number(-3, 4, "gap")))
			}
		}
		o.Slots = rapid.Permutation(o.Slots).Draw(t, "order")
		for _, other := range x.offers {
			d := grid.Tick(number(0, 2, "far"))
			far[[2]grid.SiteName{name, other.Site.Name}], far[[2]grid.SiteName{other.Site.Name, name}] = d, d
			meet[[2]grid.SiteName{name, other.Site.Name}], meet[[2]grid.SiteName{other.Site.Name, name}] = number(0, 2, "there") > 0, number(0, 4, "back") > 0
		}
		x.offers = append(x.offers, o)
	}
	x.offers = rapid.Permutation(x.offers).Draw(t, "order of sites")
	x.w = Wide{
		Now: grid.Tick(number(0, 5, "now")), Walltime: grid.Tick(number(1, 14, "walltime")), Margin: grid.Tick(number(0, 2, "margin")),
		MaxSites: number(0, 3, "most sites"), Fee: float64(number(2, 5, "fee")), Gain: grid.Tick(number(0, 5, "gain")), Extra: grid.Tick(number(0, 5, "extra")),
		Link: func(a, b grid.SiteName) grid.Tick { return far[[2]grid.SiteName{a, b}] },
	}
	if talks {
		var names []grid.SiteName
		for _, o := range x.offers {
			names = append(names, o.Site.Name)
		}
		x.meet = func(a, b grid.SiteName) bool { return meet[[2]grid.SiteName{a, b}] }
		x.w.Meet = NewMeets(names, func(a, b int) bool { return x.meet(names[a], names[b]) }, uint64(x.w.Now))
	}
	c := grid.Chunk{Count: number(1, 6, "pieces"), Processes: number(1, 2, "processes"), Cores: number(1, 2, "cores of each")}
	x.w.PerSite = number(0, min(3, c.Count*c.Processes), "least per site")
	x.w.Demand = grid.Demand{Chunks: []grid.Chunk{c}, DistinctNodes: number(0, 4, "apart") == 0}
	for range number(0, 2, "single sites") {
		start := grid.Tick(number(0, 60, "alone"))
		x.alone = append(x.alone, Alone{x.offers[0].Site.Name, start, start + x.w.Walltime})
	}
	return x
}

// pieces is how many pieces a node of an offer holds throughout, and what holding it costs; 0 is
// that it is not free.
func (x wideTwin) pieces(o Offered, node grid.NodeName, start, until grid.Tick) (n int, cost float64) {
	dearest, cores := 0.0, 0
	for at := start; at < until; at++ {
		i := slices.IndexFunc(o.Slots, func(s grid.Slot) bool { return s.Node == node && s.Start <= at && at < s.End && s.Price <= x.w.Fee })
		if i < 0 || start < x.w.Now+o.Delivery+x.w.Margin {
			return 0, 0
		}
		dearest, cores = max(dearest, o.Slots[i].Price), o.Slots[i].Cores
	}
	n = cores / x.w.Demand.Chunks[0].Cores
	if x.w.Demand.DistinctNodes {
		n = min(n, 1)
	}
	return min(n, x.w.Demand.Chunks[0].Count), dearest * float64(cores) * (until - start).Seconds() / 3600
}

// option is one set of sites at one instant.
type option struct {
	end   grid.Tick
	sites int
	far   grid.Tick
	cost  float64 // the least, where all nodes hold one piece
}

func (o option) before(p option) bool {
	if o.end != p.end {
		return o.end < p.end
	}
	if o.sites != p.sites {
		return o.sites < p.sites
	}
	if o.far != p.far {
		return o.far < p.far
	}
	return o.cost < p.cost-1e-12
}

// best is the best of all options.
func (x wideTwin) best() (best option, found bool) {
	var starts []grid.Tick
	for _, o := range x.offers {
		starts = append(starts, x.w.Now+o.Delivery+x.w.Margin)
		for _, s := range o.Slots {
			starts = append(starts, s.Start)
		}
	}
	slices.Sort(starts)
	for _, start := range slices.Compact(starts) {
		for set := 1; set < 1<<len(x.offers); set++ {
			if o, ok := x.option(set, start); ok && (!found || o.before(best)) {
				best, found = o, true
			}
		}
	}
	return best, found
}

func (x wideTwin) option(set int, start grid.Tick) (option, bool) {
	var sites []Offered
	slow := math.Inf(1)
	for j, o := range x.offers {
		if set>>j&1 == 1 {
			sites = append(sites, o)
			slow = min(slow, o.Site.Speed)
		}
	}
	c := x.w.Demand.Chunks[0]
	run := runTime(x.w.Walltime, slow)
	out := option{end: start + run, sites: len(sites)}
	until := start + max(run, x.w.Walltime) + x.w.Extra
	least := max((x.w.PerSite+c.Processes-1)/c.Processes, 1)
	room, missing := 0, c.Count
	var rest []float64
	for i, o := range sites {
		for _, p := range sites[:i] {
			out.far = max(out.far, x.w.Link(o.Site.Name, p.Site.Name))
			if x.meet != nil && !(x.meet(o.Site.Name, p.Site.Name) && x.meet(p.Site.Name, o.Site.Name)) {
				return out, false
			}
		}
		here := 0
		var costs []float64
		for n := range 4 {
			k, cost := x.pieces(o, grid.NodeName(fmt.Sprintf("n%d", n)), start, until)
			here += k
			if k > 0 {
				costs = append(costs, cost)
			}
		}
		if here < least {
			return out, false
		}
		room += here
		missing -= least
		slices.Sort(costs)
		for i, cost := range costs {
			if i < least {
				out.cost += cost
			} else {
				rest = append(rest, cost)
			}
		}
	}
	if x.w.MaxSites > 0 && len(sites) > x.w.MaxSites || room < c.Count || missing < 0 {
		return out, false
	}
	slices.Sort(rest)
	for i := 0; i < missing && i < len(rest); i++ {
		out.cost += rest[i]
	}
	return out, true
}

// alike tells that every node holds one piece, so that the least cost is known.
func (x wideTwin) alike() bool {
	for _, o := range x.offers {
		for _, s := range o.Slots {
			if s.Cores != 1 {
				return false
			}
		}
	}
	return true
}

// coallocate chooses the sites of one job alone, as Lookahead does for each. w must have passed its Check.
func coallocate(w *Wide, offers []Offered, alone []Alone) Allocated {
	m, sound, rejected := marketOf(w, offers)
	out := newHall(m).allocate(w, w.wanted(sound), alone, false)
	out.Rejected = rejected
	return out
}

func TestCoallocateEqualsTheTwin(t *testing.T) {
	t.Parallel()
	for range 50 {
		rapid.Check(t, func(t *rapid.T) {
			x := drawWide(t)
			if err := x.w.Check(); err != nil {
				t.Fatal(err)
			}
			got := coallocate(&x.w, x.offers, x.alone)
			want, found := x.best()
			sooner := true
			for _, a := range x.alone {
				sooner = sooner && want.end <= a.End-max(x.w.Gain, 1)
			}
			if (got.Parts != nil) != (found && sooner) || (got.Why == "") != (got.Parts != nil) || len(got.Rejected) > 0 {
				t.Fatalf("%+v; the twin has %+v %v, sooner %v", got, want, found, sooner)
			}
			if got.Parts == nil {
				return
			}
			is := option{end: got.End, sites: len(got.Parts), cost: want.cost}
			for i, a := range got.Parts {
				for _, b := range got.Parts[:i] {
					is.far = max(is.far, x.w.Link(a.Site, b.Site))
				}
			}
			if x.alike() {
				is.cost = got.Cost
			}
			if is.before(want) || want.before(is) {
				t.Fatalf("%+v; %+v, the twin has %+v", got, is, want)
			}
			for i, a := range got.Parts {
				if slices.ContainsFunc(got.Parts[:i], func(b AllocatedPart) bool { return x.meet != nil && !x.meet(a.Site, b.Site) }) {
					t.Fatalf("%+v: sites that do not meet", got)
				}
			}
			if why := x.breaks(got); why != "" {
				t.Fatalf("%+v: %s", got, why)
			}
		})
	}
}

// breaks says which rule an answer breaks.
func (x wideTwin) breaks(a Allocated) string {
	c := x.w.Demand.Chunks[0]
	processes, cost, slow := 0, 0.0, math.Inf(1)
	for _, p := range a.Parts {
		o := x.offers[slices.IndexFunc(x.offers, func(o Offered) bool { return o.Site.Name == p.Site })]
		slow = min(slow, o.Site.Speed)
		here, paid := 0, 0.0
		for i, n := range p.Nodes {
			room, price := x.pieces(o, n.Node, a.Start, a.Until)
			if n.Processes < 1 || n.Processes > room*c.Processes || n.Processes%c.Processes != 0 {
				return fmt.Sprintf("%d processes on %s of %s, which holds %d pieces", n.Processes, n.Node, p.Site, room)
			}
			if slices.ContainsFunc(p.Nodes[:i], func(o Taken) bool { return o.Node == n.Node }) {
				return "a node twice"
			}
			here, paid = here+n.Processes, paid+price
		}
		if here != p.Processes || here < x.w.PerSite || math.Abs(paid-p.Cost) > 1e-9 {
			return fmt.Sprintf("%d processes at %s for %v", here, p.Site, paid)
		}
		processes, cost = processes+here, cost+paid
	}
	run := runTime(x.w.Walltime, slow)
	switch {
	case processes != x.w.Demand.Processes() || math.Abs(cost-a.Cost) > 1e-9:
		return fmt.Sprintf("%d processes for %v", processes, cost)
	case a.End-a.Start < run || a.Limit < max(run, x.w.Walltime) || a.Until != a.Start+a.Limit+x.w.Extra:
		return "another length"
	case !slices.IsSortedFunc(a.Parts, func(a, b AllocatedPart) int { return strings.Compare(string(a.Site), string(b.Site)) }):
		return "in another order"
	}
	return ""
}

// A site whose offer makes no sense is left out, and the others are used.
func TestOffersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	slots := func(nodes ...grid.NodeName) (out []grid.Slot) {
		for _, n := range nodes {
			out = append(out, grid.Slot{Node: n, Start: 0, End: 100, Cores: 1})
		}
		return out
	}
	good := []Offered{{Site: grid.Site{Name: "a", Speed: 1}, Slots: slots("1", "2")}, {Site: grid.Site{Name: "b", Speed: 1}, Slots: slots("1")}}
	w := Wide{Demand: demand(3, 1, 0), Fee: AnyFee, Walltime: 10}
	for _, bad := range []Offered{
		{Site: grid.Site{Name: "c", Speed: 0}, Slots: slots("1")},
		{Site: grid.Site{Name: "c", Speed: 1}, Slots: slots("1", "1")},
		{Site: grid.Site{Name: "a", Speed: 1}, Slots: slots("9")},
		{Site: grid.Site{Name: "c", Speed: 1}, Slots: slots("1"), Delivery: -1},
		{Site: grid.Site{Name: "c", Speed: 1}, Slots: []grid.Slot{{Node: "1", Start: 5, End: 5, Cores: 1}}},
		{Site: grid.Site{Name: "c", Speed: 1}, Slots: []grid.Slot{{Site: "a", Node: "3", Start: 5, End: 50, Cores: 1}}},
	} {
		got := coallocate(&w, append(slices.Clone(good), bad), nil)
		if len(got.Parts) != 2 || got.End != 10 || len(got.Rejected) != 1 || !strings.Contains(got.Rejected[0], string(bad.Site.Name)) {
			t.Errorf("%+v: %+v", bad, got)
		}
	}
	for _, change := range []func(*Wide){
		func(w *Wide) { w.Demand.Chunks = append(w.Demand.Chunks, grid.Chunk{Count: 1, Cores: 2}) },
		func(w *Wide) { w.PerSite = -1 },
		func(w *Wide) { w.PerSite = 4 },
		func(w *Wide) { w.Gain = -1 },
		func(w *Wide) { w.Extra = -1 },
		func(w *Wide) { w.Fee = math.NaN() },
		func(w *Wide) { w.Demand.Chunks = nil },
	} {
		bad := w
		bad.Demand.Chunks = slices.Clone(w.Demand.Chunks)
		if change(&bad); bad.Check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// Of single sites that would end a job at the same time the first is told, so that one question has one answer.
func TestTheFirstOfEqualSitesIsTold(t *testing.T) {
	t.Parallel()
	m, err := NewMarket(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	alone := []Alone{{"late", 0, 20}, {"first", 0, 10}, {"second", 0, 10}}
	w := Wide{Demand: demand(2, 1, 0), Walltime: 10}
	if got := newHall(m).allocate(&w, w.wanted(nil), alone, false); got.Best == nil || got.Best.Site != "first" {
		t.Errorf("it tells %+v", got.Best)
	}
}
