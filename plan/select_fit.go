package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// offers is what a market has for one demand within a fee: for each of its chunks, where
// pieces of it have room.
type offers struct {
	market *Market
	hall   *hall // that it is of; nil is the market itself
	fee    float64
	whole  bool // the demand takes whole nodes
	apart  bool // no two of its pieces share a node
	chunks []chunkOffers
	starts []grid.Tick // of all slots for it, where it has several chunks
	dear   int         // slots left out: over the fee
	small  int         // with no room for any piece, or of a node of the wrong kind
	slots  int
}

// chunkOffers are the stretches of time in which nodes have room for pieces of a chunk.
type chunkOffers struct {
	grid.Chunk
	needs          [][]int64 // by site, what a piece needs there; nil where no node may be used
	nodes          []set     // by site, the nodes that may be used
	byStart, byEnd sorted
	worth          []int32 // by the size of a stretch: pieces
	widest         int     // the most pieces that ever have room at one site, or more
}

// stretch is a time for which a node has room, beside that of its other stretches: for as many
// pieces as its size is worth. Of a market sizes are worth themselves. The stretches of a node are the rows of a wall: where it has room for
// 3, then for 5, then for 1, there is one for 1 over all three, one for 2 more over the first
// two, and one for 2 more over the second. So a job of any length finds as many pieces on
// the node as the stretches together have that hold it.
type stretch struct {
	start, end grid.Tick
	site, size int32
}

// offersFor finds the room for a demand within a fee: the larger chunks come first.
func (m *Market) offersFor(d *grid.Demand, fee float64) *offers {
	o := &offers{market: m, fee: fee, whole: d.Exclusive, apart: d.DistinctNodes, slots: len(m.parts)}
	for i := range m.parts {
		if m.parts[i].price > fee {
			o.dear++
		}
	}
	for _, c := range d.Chunks {
		if c.Count > 0 {
			o.chunks = append(o.chunks, chunkOffers{Chunk: c})
		}
	}
	slices.SortStableFunc(o.chunks, func(a, b chunkOffers) int {
		return cmp.Or(cmp.Compare(b.Cores, a.Cores), cmp.Compare(b.Memory, a.Memory), cmp.Compare(len(b.Resources), len(a.Resources)))
	})
	roomy := newSet(len(m.parts))
	for i := range o.chunks {
		o.fit(&o.chunks[i], d, roomy)
	}
	if len(o.chunks) > 1 {
		o.starts = o.allStarts()
	}
	for i := range m.parts {
		if m.parts[i].price <= fee && !roomy.has(i) {
			o.small++
		}
	}
	return o
}

// fit finds the stretches for a chunk.
func (o *offers) fit(c *chunkOffers, d *grid.Demand, roomy set) {
	m := o.market
	c.needs, c.nodes = make([][]int64, len(m.sites)), make([]set, len(m.sites))
	for j, g := range m.sites {
		need := make([]int64, g.width)
		if g.vector(need, max(c.Cores, 1), c.Memory, c.Resources) {
			c.needs[j], c.nodes[j] = need, g.class("", d, false).nodes
		}
	}
	all := make([]stretch, 0, len(m.parts))
	var w wall
	most := make([]int, len(m.sites)) // at once, by site
	for i := range m.nodes {
		n := &m.nodes[i]
		if c.needs[n.site] == nil || !c.nodes[n.site].has(int(n.node)) {
			continue
		}
		w.of, w.top = n.site, 0
		o.eachLevel(n, int(n.first), func(p int) bool {
			pieces := o.pieces(c, n, m.amountsOf(n, p))
			for q := p; pieces > 0 && q >= int(n.first) && m.parts[q].start == m.parts[p].start; q-- {
				roomy.add(q)
			}
			all = w.build(all, m.parts[p].start, m.parts[p].end, int32(pieces))
			return true
		})
		all = w.finish(all)
		most[n.site] += w.top
	}
	for _, n := range most {
		c.widest = max(c.widest, n)
	}
	c.sort(all)
}

// sort makes both lists of stretches whose sizes are pieces.
func (c *chunkOffers) sort(all []stretch) {
	top := int32(0)
	for i := range all {
		top = max(top, all[i].size)
	}
	c.worth = make([]int32, top+1)
	for i := range c.worth {
		c.worth[i] = int32(i)
	}
	c.byStart, c.byEnd = newSorted(slices.Clone(all), startFirst), newSorted(all, endFirst)
}

// eachLevel goes over the parts of a node from one on, in order of time; of the cheaper and
// dearer parts of one time it takes the dearest within the fee, which has the most.
func (o *offers) eachLevel(n *slotNode, from int, do func(p int) bool) {
	parts := o.market.parts
	best := -1
	for p := from; p < int(n.end); p++ {
		if parts[p].price <= o.fee {
			best = p
		}
		if last := p+1 == int(n.end) || parts[p+1].start != parts[p].start; last {
			if best >= 0 && !do(best) {
				return
			}
			best = -1
		}
	}
}

// pieces is how many pieces of a chunk have room in a vector of a node.
func (o *offers) pieces(c *chunkOffers, n *slotNode, room []int64) int {
	if o.whole && !o.allOf(n, room) {
		return 0
	}
	return fit(c.needs[n.site], room, o.atOnce(c.Count))
}

// atOnce is how many of so many pieces may lie on one node.
func (o *offers) atOnce(pieces int) int {
	if o.apart {
		return 1
	}
	return pieces
}

// allOf tells whether a vector is all that a node has.
func (o *offers) allOf(n *slotNode, room []int64) bool {
	return within(o.market.sites[n.site].of(int(n.node)), room)
}

// wall builds the stretches of one node from its room over time.
type wall struct {
	of   int32 // site
	rows []row // those that go on, from the lowest
	end  grid.Tick
	top  int // the most pieces so far
}

// row is from when on there has been room for so many.
type row struct {
	start  grid.Tick
	pieces int32
}

// build goes on with the room from start to end.
func (w *wall) build(out []stretch, start, end grid.Tick, pieces int32) []stretch {
	if start != w.end {
		out = w.finish(out)
	}
	begin := start
	for n := len(w.rows); n > 0 && w.rows[n-1].pieces > pieces; n = len(w.rows) {
		begin = w.rows[n-1].start
		out = w.close(out, pieces)
	}
	if n := len(w.rows); pieces > 0 && (n == 0 || w.rows[n-1].pieces < pieces) {
		w.rows = append(w.rows, row{begin, pieces})
	}
	w.end, w.top = end, max(w.top, int(pieces))
	return out
}

// close ends the top row, down to the one below it or to the room that goes on.
func (w *wall) close(out []stretch, goesOn int32) []stretch {
	n := len(w.rows) - 1
	r := w.rows[n]
	w.rows = w.rows[:n]
	below := goesOn
	if n > 0 {
		below = max(below, w.rows[n-1].pieces)
	}
	return append(out, stretch{r.start, w.end, w.of, r.pieces - below})
}

// finish ends all rows.
func (w *wall) finish(out []stretch) []stretch {
	for len(w.rows) > 0 {
		out = w.close(out, 0)
	}
	return out
}
