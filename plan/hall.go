package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// hall is the market of whole nodes of several sites for one job after another. All of a node is free for a run of
// time, whoever asks, so that both sorted lists are made once; a job changes only what a node
// is worth to it. What is taken is cut out of the runs, and what is dearer than the fee, too: jobs
// come by falling fees.
//
//	parts of a node   [ 1 ][ 5 ][ 1 ]    [  2   ]
//	runs at fee 5     [             ]    [      ]
//	runs at fee 2     [   ]     [   ]    [      ]
type hall struct {
	m              *Market
	runs           [][]run // by node, ascending
	kinds          []nodeKind
	kindOf         []int32 // by node
	byStart, byEnd sorted
	dear           []int32 // parts by falling price; those before cut are cut out
	cut            int
	whole          *hall // as it was before anything was cut out; made when it is asked for
}

// run is a time in which all of a node is free.
type run struct{ start, end grid.Tick }

// nodeKind is nodes of one site that hold the same.
type nodeKind struct{ site, node, count int32 }

func newHall(m *Market) *hall {
	h := &hall{m: m, runs: make([][]run, len(m.nodes)), kindOf: make([]int32, len(m.nodes)), dear: make([]int32, len(m.parts))}
	all := make([]stretch, 0, len(m.parts))
	for i := range m.nodes {
		h.kindOf[i] = h.kind(&m.nodes[i])
		h.runs[i] = h.runsOf(&m.nodes[i])
		for _, r := range h.runs[i] {
			all = append(all, h.stretch(i, r))
		}
	}
	h.byStart, h.byEnd = newSorted(slices.Clone(all), startFirst), newSorted(all, endFirst)
	for i := range h.dear {
		h.dear[i] = int32(i)
	}
	slices.SortFunc(h.dear, func(a, b int32) int { return cmp.Compare(m.parts[b].price, m.parts[a].price) })
	return h
}

func (h *hall) stretch(node int, r run) stretch {
	return stretch{r.start, r.end, h.m.nodes[node].site, h.kindOf[node]}
}

func (h *hall) kind(n *slotNode) int32 {
	g := h.m.sites[n.site]
	i := slices.IndexFunc(h.kinds, func(k nodeKind) bool { return k.site == n.site && slices.Equal(g.of(int(k.node)), g.of(int(n.node))) })
	if i < 0 {
		i = len(h.kinds)
		h.kinds = append(h.kinds, nodeKind{site: n.site, node: n.node})
	}
	h.kinds[i].count++
	return int32(i)
}

// runsOf are the times in which a node has parts that are all of it. Of two for one time the second is dearer, and has more.
func (h *hall) runsOf(n *slotNode) (out []run) {
	parts, whole := h.m.parts, h.m.sites[n.site].of(int(n.node))
	for i := int(n.first); i < int(n.end); i++ {
		if !within(whole, h.m.amountsOf(n, i)) {
			continue
		}
		if k := len(out) - 1; k >= 0 && out[k].end >= parts[i].start {
			out[k].end = parts[i].end
		} else {
			out = append(out, run{parts[i].start, parts[i].end})
		}
	}
	return out
}

// take cuts a time out of the runs of a node.
func (h *hall) take(node int, from, to grid.Tick) {
	runs := h.runs[node]
	i, _ := slices.BinarySearchFunc(runs, from+1, func(r run, t grid.Tick) int { return cmp.Compare(r.end, t) })
	for i < len(runs) && runs[i].start < to {
		r := runs[i]
		h.byStart.remove(h.stretch(node, r))
		h.byEnd.remove(h.stretch(node, r))
		var left []run
		if r.start < from {
			left = append(left, run{r.start, from})
		}
		if to < r.end {
			left = append(left, run{to, r.end})
		}
		for _, l := range left {
			h.byStart.insert(h.stretch(node, l))
			h.byEnd.insert(h.stretch(node, l))
		}
		runs = slices.Replace(runs, i, i+1, left...)
		i += len(left)
	}
	h.runs[node] = runs
}

// lower cuts out what is dearer than a fee.
func (h *hall) lower(fee float64) {
	for ; h.cut < len(h.dear) && h.m.parts[h.dear[h.cut]].price > fee; h.cut++ {
		p := &h.m.parts[h.dear[h.cut]]
		h.take(int(p.node), p.start, p.end)
	}
}

// untouched is the hall before anything was taken of it or was too dear: made once, however many jobs are to be told what they lack.
func (h *hall) untouched() *hall {
	if h.whole == nil {
		h.whole = newHall(h.m)
	}
	return h.whole
}

// offersFor is what the hall has for a demand of one kind of pieces.
func (h *hall) offersFor(d *grid.Demand, fee float64) *offers {
	h.lower(fee)
	o := &offers{market: h.m, hall: h, fee: fee, whole: true, apart: d.DistinctNodes, slots: len(h.m.parts), dear: h.cut}
	c := chunkOffers{Chunk: d.Chunks[0], byStart: h.byStart, byEnd: h.byEnd, worth: make([]int32, len(h.kinds))}
	c.needs = make([][]int64, len(h.m.sites))
	for j, g := range h.m.sites {
		if need := make([]int64, g.width); g.vector(need, max(c.Cores, 1), c.Memory, c.Resources) {
			c.needs[j] = need
		}
	}
	most := make([]int, len(h.m.sites)) // at once, by site
	for i, k := range h.kinds {
		if need := c.needs[k.site]; need != nil {
			c.worth[i] = int32(fit(need, h.m.sites[k.site].of(int(k.node)), o.atOnce(c.Count)))
			most[k.site] += int(c.worth[i]) * int(k.count)
		}
	}
	c.widest = slices.Max(append(most, 0))
	o.chunks = []chunkOffers{c}
	return o
}

// free is the run of a node that holds a time.
func (h *hall) free(node int, start, until grid.Tick) (run, bool) {
	runs := h.runs[node]
	i, _ := slices.BinarySearchFunc(runs, start+1, func(r run, t grid.Tick) int { return cmp.Compare(r.end, t) })
	if i < len(runs) && runs[i].start <= start && until <= runs[i].end {
		return runs[i], true
	}
	return run{}, false
}

// rate is that of the dearest part of a time that is free.
func (h *hall) rate(node int, start, until grid.Tick) (rate float64) {
	n := &h.m.nodes[node]
	parts := h.m.parts[n.first:n.end]
	i, _ := slices.BinarySearchFunc(parts, start+1, func(p part, t grid.Tick) int { return cmp.Compare(p.end, t) })
	for ; i < len(parts) && parts[i].start < until; i++ {
		rate = max(rate, parts[i].price)
	}
	return rate
}
