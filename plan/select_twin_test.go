package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gbroker/grid"
)

// The naive twin of selection: it tries every instant, every speed and every set of sites,
// and looks at every node instant by instant, straight from the rules.
type twin struct {
	sites []SlotSite
	slots []grid.Slot
	w     Wanted
}

// node is one of a site, by their indices.
type node struct{ site, node int }

func (t twin) of(n node) *Node { return &t.sites[n.site].Nodes[n.node] }

// nodes are all of them, by site and name.
func (t twin) nodes() (all []node) {
	for j := range t.sites {
		for i := range t.sites[j].Nodes {
			all = append(all, node{j, i})
		}
	}
	slices.SortStableFunc(all, func(a, b node) int {
		return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(t.of(a).Name, t.of(b).Name))
	})
	return all
}

// on are the slots of a node that share time with an interval.
func (t twin) on(n node, start, end grid.Tick) (on []grid.Slot) {
	for _, s := range t.slots {
		if s.Site == t.sites[n.site].Name && s.Node == t.of(n).Name && s.Start < end && start < s.End {
			on = append(on, s)
		}
	}
	return on
}

// free is what a node has at every instant of an interval, of slots within a price; nil is
// that there is one at which it has no slot.
func (t twin) free(n node, start, end grid.Tick, price float64) vec {
	var least vec
	for at := start; at < end; at++ {
		var best *grid.Slot
		for _, s := range t.on(n, at, at+1) {
			if s.Price <= price && (best == nil || s.Price > best.Price) {
				best = &s
			}
		}
		if best == nil {
			return nil
		}
		v := vecOf(best.Cores, best.Memory, best.Resources)
		if t.of(n).Memory <= 0 {
			v["memory"] = unlimited
		}
		if least == nil {
			least = v
		}
		for _, what := range []string{"cores", "memory", "+gpu"} {
			least[what] = min(least[what], v[what])
		}
	}
	return least
}

// useful tells whether a node is of the kind that is asked for.
func (t twin) useful(n node) bool {
	x, s, d := t.of(n), t.sites[n.site], t.w.Demand
	arch := cmp.Or(x.Architecture, s.Architecture)
	for _, p := range d.Properties {
		if !slices.Contains(x.Properties, p) {
			return false
		}
	}
	return d.Architecture == "" || d.Architecture == arch
}

// place takes pieces of a chunk from what is left of a node, at most so many.
func (t twin) place(n node, c grid.Chunk, left vec, most int) (pieces int) {
	if left == nil || !t.useful(n) || t.w.Demand.Exclusive && left["whole"] == 0 {
		return 0
	}
	need := vecOf(c.Cores, c.Memory, c.Resources)
	for pieces < most && left.has(need) {
		left.take(need, 1)
		pieces++
	}
	return pieces
}

// room is what is free of a node, and whether that is all of it.
func (t twin) room(n node, start, end grid.Tick, price float64) vec {
	v := maps.Clone(t.free(n, start, end, price))
	if x := t.of(n); v != nil && v.has(vecOf(x.Cores, x.Memory, x.Resources)) {
		v["whole"] = 1
	}
	return v
}

func (t twin) usable(j int) grid.Tick { return t.w.Now + t.w.Delivery[j] + t.w.Margin }

// candidates are the nodes of sites of at least that speed that can be used from a start on.
func (t twin) candidates(start grid.Tick, speed float64) (all []node) {
	for _, n := range t.nodes() {
		if t.sites[n.site].Speed >= speed && t.usable(n.site) <= start {
			all = append(all, n)
		}
	}
	return all
}

// possible reports that the whole demand can run from start to end.
func (t twin) possible(start, end grid.Tick, speed float64) bool {
	if len(t.w.Demand.Chunks) > 1 {
		return t.together(start, end, speed)
	}
	c := t.w.Demand.Chunks[0]
	free := make([]int, len(t.sites))
	for _, n := range t.candidates(start, speed) {
		free[n.site] += t.place(n, c, t.room(n, start, end, t.w.Fee), c.Count)
	}
	for set := range 1 << len(t.sites) {
		sites, least, most := 0, 0, 0
		for j := range t.sites {
			if set>>j&1 == 0 {
				continue
			}
			sites++
			least += max(t.w.MinPerSite, 1)
			most += free[j]
			if free[j] < max(t.w.MinPerSite, 1) {
				most = math.MinInt32 // this site cannot be in the set
			}
		}
		if (t.w.MaxSites == 0 || sites <= t.w.MaxSites) && least <= c.Count && c.Count <= most {
			return true
		}
	}
	return false
}

// together places chunk by chunk, the largest first, on the cheapest nodes with room.
func (t twin) together(start, end grid.Tick, speed float64) bool {
	chunks := slices.Clone(t.w.Demand.Chunks)
	slices.SortStableFunc(chunks, func(a, b grid.Chunk) int {
		return cmp.Or(b.Cores-a.Cores, cmp.Compare(b.Memory, a.Memory), len(b.Resources)-len(a.Resources))
	})
	nodes := t.candidates(start, speed)
	left, price := make(map[node]vec), make(map[node]float64)
	for _, n := range nodes {
		left[n] = t.room(n, start, end, t.w.Fee)
		for _, s := range t.on(n, start, end) {
			if s.Price <= t.w.Fee {
				price[n] = max(price[n], s.Price)
			}
		}
	}
	slices.SortStableFunc(nodes, func(a, b node) int { return cmp.Compare(price[a], price[b]) })
	for _, c := range chunks {
		missing := c.Count
		for _, n := range nodes {
			missing -= t.place(n, c, left[n], missing)
		}
		if missing > 0 {
			return false
		}
	}
	return true
}

// best is the earliest instant of the kind asked for.
func (t twin) best() (at grid.Tick, ok bool) {
	var starts []grid.Tick
	for j := range t.sites {
		starts = append(starts, t.usable(j))
	}
	for _, s := range t.slots {
		starts = append(starts, s.Start)
	}
	for _, site := range t.sites {
		for _, start := range starts {
			end := start + runTime(t.w.Walltime, site.Speed)
			this := end
			if t.w.FirstStart {
				this = start
			}
			if (!ok || this < at) && t.possible(start, end, site.Speed) {
				at, ok = this, true
			}
		}
	}
	return at, ok
}

// valid says which rule a selection breaks.
func (t twin) valid(s *Selection) error {
	d := t.w.Demand
	var seen []node
	var cost float64
	var cores, processes int
	per := make(map[int]int) // processes
	for _, x := range s.Taken {
		n, err := t.validTaken(x, s.Start, s.End)
		if err != nil {
			return fmt.Errorf("%+v: %w", x, err)
		}
		if slices.Contains(seen, n) {
			return fmt.Errorf("%v twice", n)
		}
		seen = append(seen, n)
		per[n.site] += x.Processes
		cores, processes, cost = cores+x.Cores, processes+x.Processes, cost+x.Price*float64(x.Cores)*(s.End-s.Start).Seconds()/3600
	}
	switch {
	case processes != d.Processes():
		return fmt.Errorf("%d processes of %d", processes, d.Processes())
	case cores != d.Cores() && !d.Exclusive || cores < d.Cores():
		return fmt.Errorf("%d cores of %d", cores, d.Cores())
	case t.w.MaxSites > 0 && len(per) > t.w.MaxSites:
		return fmt.Errorf("%d sites", len(per))
	case math.Abs(cost-s.Cost) > 1e-9:
		return fmt.Errorf("a cost of %v, not %v", s.Cost, cost)
	}
	for j, n := range per {
		if n < t.w.MinPerSite*d.Chunks[0].Processes {
			return fmt.Errorf("%d processes at %s", n, t.sites[j].Name)
		}
		if s.End-s.Start < runTime(t.w.Walltime, t.sites[j].Speed) {
			return fmt.Errorf("too short for %s", t.sites[j].Name)
		}
	}
	return nil
}

// validTaken holds what is taken of a node against its slots.
func (t twin) validTaken(x Taken, start, end grid.Tick) (node, error) {
	all := t.nodes()
	i := slices.IndexFunc(all, func(n node) bool { return t.sites[n.site].Name == x.Site && t.of(n).Name == x.Node })
	n := all[i]
	took := vecOf(x.Cores, x.Memory, x.Resources)
	cheapest := math.Inf(1)
	for _, s := range t.on(n, start, end) {
		if s.Price <= t.w.Fee && t.free(n, start, end, s.Price).has(took) {
			cheapest = min(cheapest, s.Price)
		}
	}
	holds := func(from, to grid.Tick) bool {
		v := t.free(n, from, to, t.w.Fee)
		return v != nil && v.has(took)
	}
	switch {
	case !t.useful(n):
		return n, errors.New("of another kind")
	case t.usable(n.site) > start:
		return n, errors.New("not usable yet")
	case x.Price != cheapest:
		return n, fmt.Errorf("for %v, not %v", x.Price, cheapest)
	case t.w.Demand.Exclusive && x.Cores != t.of(n).Cores:
		return n, errors.New("not a whole node")
	case x.Start > start || x.End < end || !holds(x.Start, x.End):
		return n, errors.New("not free for so long")
	case holds(x.Start-1, x.End) || holds(x.Start, x.End+1):
		return n, errors.New("free for longer")
	}
	return n, nil
}
