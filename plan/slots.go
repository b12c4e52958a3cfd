package plan

import (
	"slices"

	"gbroker/grid"
)

// Slots is what the site has to sell from one instant to another, by node and start: where
// anything comes or goes on a node, one slot ends and the next begins. What running jobs and
// reservations have is not for sale, nor is a node that is down. Where the plan runs waiting
// jobs there are two slots for the same time: what is left beside them, and what there would be without
// them, for the rate of displacing them; without prices there is only the first.
func (p *Plan) Slots(prices *Pricing, user grid.User, from, to grid.Tick) []grid.Slot {
	on, changes := p.byNode(from, to), prices.changes(from, to)
	var out []grid.Slot
	for n := range p.nodes {
		if p.up(n) {
			out = p.slotsOf(out, n, p.times(n, on[n], changes, prices, user, from, to), prices)
		}
	}
	return out
}

// onNode is what a job or a reservation has of a node for a time.
type onNode struct {
	start, end grid.Tick
	amounts    []int64
	waiting    int32 // index of the waiting job; -1 for what is not for sale
}

// byNode is what is planned on each node from one instant to another.
func (p *Plan) byNode(from, to grid.Tick) [][]onNode {
	on := make([][]onNode, len(p.nodes))
	reserved := make(map[grid.JobID]bool)
	for i := range p.reservations {
		reserved[p.reservations[i].Job] = p.reservations[i].Job != ""
	}
	for id := range p.allocations {
		b := p.allocations[id]
		if b.start >= to || b.end <= from {
			continue
		}
		if b.job >= 0 && reserved[p.waiting[b.job].Job] {
			b.job = -1
		}
		for k := b.lo; k < b.hi; k++ {
			n := p.parts[k].node
			on[n] = append(on[n], onNode{b.start, b.end, p.amountsOf(k), b.job})
		}
	}
	return on
}

// nodeTime is a time of a node in which nothing comes or goes there.
type nodeTime struct {
	start, end   grid.Tick
	beside, with []int64 // what is left beside those that wait, and without them
	waits        bool    // there are any
	rate, dear   float64 // of the one, and of displacing them
}

// times are those of a node from one instant to another.
func (p *Plan) times(n int, on []onNode, changes []grid.Tick, prices *Pricing, user grid.User, from, to grid.Tick) []nodeTime {
	cuts := append([]grid.Tick{from, to}, changes...)
	for _, b := range on {
		cuts = append(cuts, min(max(b.start, from), to), min(b.end, to))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	out := make([]nodeTime, 0, len(cuts))
	for i := 1; i < len(cuts); i++ {
		t := nodeTime{start: cuts[i-1], end: cuts[i], with: slices.Clone(p.of(n)), beside: slices.Clone(p.of(n))}
		highest := int64(0)
		for _, b := range on {
			if b.end <= t.start || t.end <= b.start {
				continue
			}
			lower(t.beside, b.amounts)
			if b.waiting < 0 {
				lower(t.with, b.amounts)
				continue
			}
			t.waits, highest = true, max(highest, p.waiting[b.waiting].Priority)
		}
		t.rate = prices.Rate(t.start, user)
		t.dear = t.rate
		if t.waits && prices != nil {
			t.dear = prices.displacing(t.start, user, highest)
		}
		out = append(out, t)
	}
	return out
}

// slotsOf appends the slots of a node.
func (p *Plan) slotsOf(out []grid.Slot, n int, times []nodeTime, prices *Pricing) []grid.Slot {
	for _, t := range times {
		if t.waits && (t.dear > t.rate || prices == nil) {
			out = p.slot(out, n, t.beside, t.start, t.end, t.rate)
		}
		if !t.waits || prices != nil {
			out = p.slot(out, n, t.with, t.start, t.end, t.dear)
		}
	}
	return out
}

// slot appends a slot, where there is anything to sell.
func (p *Plan) slot(out []grid.Slot, n int, room []int64, start, end grid.Tick, price float64) []grid.Slot {
	if room[0] <= 0 {
		return out
	}
	for r := range room {
		room[r] = max(room[r], 0) // where more is in use than there is
	}
	s := p.shares([]portion{{node: int32(n)}}, room)[0]
	return append(out, grid.Slot{
		Site: p.site.Name, Node: p.nodes[n].Name, Start: start, End: end, Price: price,
		Cores: s.Cores, Memory: s.Memory, Resources: s.Resources,
	})
}

// amountsOf is the vector of a part.
func (p *Plan) amountsOf(part int32) []int64 {
	return p.amounts[int(part)*p.width : int(part+1)*p.width]
}

func lower(room, by []int64) {
	for r := range room {
		room[r] -= by[r]
	}
}
