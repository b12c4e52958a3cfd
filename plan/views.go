package plan

import "gbroker/grid"

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
