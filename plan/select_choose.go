package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// level is what can be had of a node throughout a time, for a price.
type level struct {
	price float64
	room  []int64
}

// levels are those of a node from start to end, the cheapest first; each dearer one has more.
func (o *offers) levels(n *slotNode, start, end grid.Tick) []level {
	var out []level
	parts := o.market.parts
	first := o.holding(n, start)
	for p := first; p < int(n.end) && parts[p].start < end; p++ {
		if price := parts[p].price; price <= o.fee && !slices.ContainsFunc(out, func(l level) bool { return l.price == price }) {
			out = append(out, level{price: price})
		}
	}
	slices.SortFunc(out, func(a, b level) int { return cmp.Compare(a.price, b.price) })
	for i := range out {
		out[i].room = o.least(n, first, start, end, out[i].price)
	}
	return slices.DeleteFunc(out, func(l level) bool { return l.room == nil })
}

// holding is the first part of a node that ends after an instant.
func (o *offers) holding(n *slotNode, t grid.Tick) int {
	parts := o.market.parts[n.first:n.end]
	i, _ := slices.BinarySearchFunc(parts, t+1, func(p part, t grid.Tick) int { return cmp.Compare(p.end, t) })
	return int(n.first) + i
}

// least is what a node has throughout, of slots within a price, or nil.
func (o *offers) least(n *slotNode, first int, start, end grid.Tick, price float64) []int64 {
	at := start
	var room []int64
	within := offers{market: o.market, fee: price}
	within.eachLevel(n, first, func(p int) bool {
		part := &o.market.parts[p]
		if part.start > at {
			return false // a gap
		}
		if room == nil {
			room = slices.Clone(o.market.amountsOf(n, p))
		} else {
			narrow(room, o.market.amountsOf(n, p))
		}
		at = part.end
		return at < end
	})
	if at < end {
		return nil
	}
	return room
}

// free is a node that the job could have something of at the chosen instant.
type free struct {
	of     *slotNode
	node   int // in the market
	levels []level
}

// freeNodes are the nodes of the sites of a sweep that may be used from start to end.
func (o *offers) freeNodes(s *sweep, start, end grid.Tick) []free {
	var out []free
	for i := range o.market.nodes {
		n := &o.market.nodes[i]
		if s.from[n.site] > start || !slices.ContainsFunc(o.chunks, func(c chunkOffers) bool { return c.mayUse(n) }) {
			continue
		}
		levels := o.levels(n, start, end)
		if o.whole {
			levels = slices.DeleteFunc(levels, func(l level) bool { return !o.allOf(n, l.room) })
		}
		if len(levels) > 0 {
			out = append(out, free{n, i, levels})
		}
	}
	return out
}

func (c *chunkOffers) mayUse(n *slotNode) bool {
	return c.needs[n.site] != nil && c.nodes[n.site].has(int(n.node))
}

// take is what a job takes of a node.
type take struct {
	free
	processes int
	amounts   []int64
}

// choose takes nodes at the instant that was found.
func (o *offers) choose(w *Wanted, b best) *Selection {
	var all []take
	if len(o.chunks) == 1 {
		all = o.cheapest(w, o.freeNodes(b.sweep, b.start, b.until))
	} else {
		all, _ = o.placeChunks(b.sweep, b.start, b.until)
	}
	slices.SortFunc(all, func(x, y take) int { return x.node - y.node }) // by site and node
	out := &Selection{Start: b.start, End: b.end, Taken: make([]Taken, 0, len(all))}
	for _, t := range all {
		took := o.taken(t, b.until)
		out.Taken = append(out.Taken, took)
		out.Cost += Cost(took.Price, took.Cores, b.until-b.start)
	}
	return out
}

// taken is a take as others see it: for the price of the cheapest level that has so much.
func (o *offers) taken(t take, end grid.Tick) Taken {
	g := o.market.sites[t.of.site]
	l := t.levels[slices.IndexFunc(t.levels, func(l level) bool { return within(t.amounts, l.room) })]
	share := g.shares([]portion{{processes: t.processes}}, t.amounts)[0]
	slot := grid.Slot{
		Site: g.site.Name, Node: g.nodes[t.of.node].Name, Price: l.price,
		Cores: share.Cores, Memory: share.Memory, Resources: share.Resources,
	}
	slot.Start, slot.End = o.around(t, end)
	return Taken{slot, t.processes}
}

// around is how long what is taken until an end could be had, before and after it.
func (o *offers) around(t take, end grid.Tick) (from, until grid.Tick) {
	running := false
	o.eachLevel(t.of, int(t.of.first), func(p int) bool {
		part := &o.market.parts[p]
		holds := within(t.amounts, o.market.amountsOf(t.of, p))
		goesOn := running && holds && part.start == until
		if running && until >= end && !goesOn {
			return false
		}
		if running = holds; holds {
			if !goesOn {
				from = part.start
			}
			until = part.end
		}
		return true
	})
	return from, until
}

// unit is some pieces on a node for a price.
type unit struct {
	node   int // into free nodes
	pieces int
	price  float64
}

// cheapest takes pieces of the one chunk where they cost the least, one after the other.
// Where the number of sites or the least at each bind it takes the sites with the most room.
func (o *offers) cheapest(w *Wanted, nodes []free) []take {
	c := &o.chunks[0]
	bySite := make([][]unit, len(o.market.sites))
	for i, f := range nodes {
		before := 0
		for _, l := range f.levels {
			if k := o.pieces(c, f.of, l.room); c.mayUse(f.of) && k > before {
				bySite[f.of.site] = append(bySite[f.of.site], unit{i, k - before, o.eachPiece(f, l.price, k)})
				before = k
			}
		}
	}
	least := max(w.MinPerSite, 1)
	if k := w.sites(c.Count, len(bySite)); k < len(bySite) || least > 1 {
		slices.SortStableFunc(bySite, func(x, y []unit) int { return piecesOf(y) - piecesOf(x) })
		bySite = bySite[:k]
	}
	pieces := make([]int, len(nodes))
	missing := c.Count
	var rest []unit
	for _, units := range bySite {
		if piecesOf(units) < least {
			continue
		}
		sortUnits(units)
		if least > 1 {
			units = takeUnits(units, least, pieces)
			missing -= least
		}
		rest = append(rest, units...)
	}
	sortUnits(rest)
	takeUnits(rest, missing, pieces)
	var out []take
	for i, k := range pieces {
		if k > 0 {
			out = append(out, o.take(nodes[i], c, k))
		}
	}
	return out
}

// eachPiece is what one of so many pieces on a node costs, but for what is the same for all: the rate, and the cores
// where all of the node is taken.
func (o *offers) eachPiece(f free, rate float64, pieces int) float64 {
	if !o.whole {
		return rate
	}
	return rate * float64(o.market.sites[f.of.site].nodes[f.of.node].Cores) / float64(pieces)
}

func piecesOf(units []unit) (n int) {
	for _, u := range units {
		n += u.pieces
	}
	return n
}

func sortUnits(units []unit) {
	slices.SortStableFunc(units, func(x, y unit) int { return cmp.Or(cmp.Compare(x.price, y.price), cmp.Compare(x.node, y.node)) })
}

// takeUnits takes the first so many pieces, and returns the units that are left.
func takeUnits(units []unit, missing int, pieces []int) []unit {
	for i := range units {
		n := min(units[i].pieces, missing)
		pieces[units[i].node] += n
		units[i].pieces -= n
		missing -= n
	}
	return slices.DeleteFunc(units, func(u unit) bool { return u.pieces == 0 })
}

// take is so many pieces of a chunk on a node.
func (o *offers) take(f free, c *chunkOffers, pieces int) take {
	t := take{free: f, processes: pieces * c.Processes}
	if o.whole {
		t.amounts = o.market.sites[f.of.site].of(int(f.of.node))
		return t
	}
	for _, a := range c.needs[f.of.site] {
		t.amounts = append(t.amounts, int64(pieces)*a)
	}
	return t
}

// placeChunks places several chunks, from the largest to the smallest, each on the first
// nodes with room, the cheapest nodes first. It may miss a tight packing.
func (o *offers) placeChunks(s *sweep, start, end grid.Tick) ([]take, bool) {
	nodes := o.freeNodes(s, start, end)
	dearest := func(f free) level { return f.levels[len(f.levels)-1] }
	slices.SortStableFunc(nodes, func(x, y free) int { return cmp.Compare(dearest(x).price, dearest(y).price) })
	left := make([][]int64, len(nodes))
	takes := make([]take, len(nodes))
	for i, f := range nodes {
		left[i] = slices.Clone(dearest(f).room)
		takes[i] = take{free: f}
	}
	for k := range o.chunks {
		c := &o.chunks[k]
		missing := c.Count
		for i := 0; i < len(nodes) && missing > 0; i++ {
			if !c.mayUse(nodes[i].of) || o.apart && takes[i].processes > 0 {
				continue
			}
			need := c.needs[nodes[i].of.site]
			n := fit(need, left[i], o.atOnce(missing))
			for r, a := range need {
				left[i][r] -= int64(n) * a
			}
			takes[i].processes += n * c.Processes
			missing -= n
		}
		if missing > 0 {
			return nil, false
		}
	}
	var out []take
	for i, t := range takes {
		room := dearest(t.free).room
		if left[i][0] == room[0] {
			continue
		}
		if o.whole {
			t.amounts = o.market.sites[t.of.site].of(int(t.of.node))
		} else {
			for r := range room {
				t.amounts = append(t.amounts, room[r]-left[i][r])
			}
		}
		out = append(out, t)
	}
	return out, true
}
