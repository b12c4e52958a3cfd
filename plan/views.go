package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// Slots is what the site has to sell from one instant to another, by node, at prices
// by who would wait there. Time of running jobs and of reservations is not for sale,
// nor is that of nodes that are down.
func (p *Plan) Slots(prices Pricing, from, to grid.Tick) []grid.Slot {
	var names []grid.NodeName
	for n := range p.nodes {
		if p.up(n) {
			names = append(names, p.nodes[n].Name)
		}
	}
	var booked []Booked
	for id := range p.bookings {
		b := &p.bookings[id]
		if b.index >= 0 && b.start < to && b.end > from {
			booked = p.bookedBy(booked, b)
		}
	}
	notForSale := func(shares []Share, start, end grid.Tick) {
		for _, h := range shares {
			if h.Node >= 0 && h.Node < len(p.nodes) && start < end {
				booked = append(booked, Booked{Node: p.nodes[h.Node].Name, Start: start, End: end, Running: true})
			}
		}
	}
	for i, r := range p.running {
		notForSale(r.Shares, min(r.Start, p.at), p.bookings[i].end)
	}
	for _, r := range p.reservations {
		notForSale(r.Shares, r.Start, r.End)
	}
	return prices.Slots(p.site.Name, names, booked, from, to)
}

// bookedBy adds what a planned job has on its nodes.
func (p *Plan) bookedBy(booked []Booked, b *booking) []Booked {
	parts := p.parts[b.lo:b.hi]
	for _, h := range parts {
		booked = append(booked, Booked{
			Node: p.nodes[h.node].Name, Start: b.start, End: b.end,
			Priority: float64(p.waiting[b.index].Priority),
			Whole:    float64(len(parts)) * (b.end - b.start).Seconds(),
		})
	}
	return booked
}

// Names of what every site has, beside the named resources of its nodes.
const (
	Cores  = "cores"
	Memory = "memory" // bytes
)

// Timeline is the counted view of the plan: what is free over all nodes that are up,
// from the snapshot's instant on. Its resources are [Cores], then [Memory] if any node
// declares some (a node that declares none has none here), then what the nodes name.
// What is in use beyond what a node has counts as nothing free. Numbers beyond the
// bounds of a timeline are an error.
func (p *Plan) Timeline() (*Timeline, error) {
	first := make([]grid.Resource, p.width)
	for r := range first {
		first[r].Name = p.nameOf(r)
	}
	var changes []Change
	for n := range p.free.lines {
		if !p.up(n) {
			continue
		}
		before := p.counted(n, 0)
		for r, free := range before {
			first[r].Amount += free
		}
		for i := 1; i < len(p.free.lines[n].at); i++ {
			free := p.counted(n, i)
			for r := range before {
				before[r] = free[r] - before[r]
			}
			changes = append(changes, Change{p.free.lines[n].at[i], Forever, before})
			before = free
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.From, b.From) })
	t, err := NewTimeline(p.at, first...)
	if err != nil {
		return nil, err
	}
	return t.With(changes...)
}

// counted is what the i-th step of a node adds to the counted view.
func (p *Plan) counted(n, i int) Vector {
	v := make(Vector, p.width)
	for r := range v {
		if p.of(n)[r] < unlimited {
			v[r] = max(p.free.lines[n].free[i*p.width+r], 0)
		}
	}
	return v
}

// nameOf is the name of a number in a vector.
func (g *ground) nameOf(r int) string {
	switch {
	case r == 0:
		return Cores
	case r == g.memory:
		return Memory
	}
	return g.named[r-(g.width-len(g.named))]
}
