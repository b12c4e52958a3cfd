package plan

import (
	"math"
	"slices"

	"gbroker/grid"
)

// Slots is what the site has to sell from one instant to another, by node and start: where
// anything comes or goes on a node, one slot ends and the next begins. What running jobs and
// reservations have is not for sale, nor is a node that is down. Where the plan runs waiting
// jobs there are two slots for the same time: what is left beside them, for the base price,
// and what there would be without them, for theirs. A price beyond all numbers makes no slot.
func (p *Plan) Slots(prices Pricing, from, to grid.Tick) []grid.Slot {
	on := p.byNode(from, to)
	var out []grid.Slot
	for n := range p.nodes {
		if p.up(n) {
			out = p.slotsOf(out, n, on[n], prices, from, to)
		}
	}
	return out
}

// onNode is what a job or a reservation has of a node for a time.
type onNode struct {
	start, end grid.Tick
	amounts    []int64
	waiting    int32   // index of the waiting job; -1 for what is not for sale
	whole      float64 // core seconds of the whole job
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
		var cores int64
		for k := b.lo; k < b.hi; k++ {
			cores += p.amountsOf(k)[0]
		}
		for k := b.lo; k < b.hi; k++ {
			n := p.parts[k].node
			on[n] = append(on[n], onNode{b.start, b.end, p.amountsOf(k), b.job, float64(cores) * (b.end - b.start).Seconds()})
		}
	}
	return on
}

// slotsOf appends the slots of a node.
func (p *Plan) slotsOf(out []grid.Slot, n int, on []onNode, prices Pricing, from, to grid.Tick) []grid.Slot {
	cuts := []grid.Tick{from, to}
	for _, b := range on {
		cuts = append(cuts, min(max(b.start, from), to), min(b.end, to))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i := 1; i < len(cuts); i++ {
		start, end := cuts[i-1], cuts[i]
		with := slices.Clone(p.of(n)) // without those that wait
		beside := slices.Clone(with)
		var waiting []Displaced
		for _, b := range on {
			if b.end <= start || end <= b.start {
				continue
			}
			lower(beside, b.amounts)
			if b.waiting < 0 {
				lower(with, b.amounts)
				continue
			}
			priority := float64(p.waiting[b.waiting].Priority)
			waiting = append(waiting, Displaced{priority, float64(b.amounts[0]) * (end - start).Seconds(), b.whole})
		}
		price := prices.Base
		if len(waiting) > 0 {
			price = prices.price(waiting)
		}
		if price > prices.Base {
			out = p.slot(out, n, beside, start, end, prices.Base)
		}
		out = p.slot(out, n, with, start, end, price)
	}
	return out
}

// slot appends a slot, where there is anything to sell.
func (p *Plan) slot(out []grid.Slot, n int, room []int64, start, end grid.Tick, price float64) []grid.Slot {
	if room[0] <= 0 || math.IsInf(price, 1) {
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
