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

// Level is how much of something is free from an instant until the next level.
type Level struct {
	At   grid.Tick
	Free int64
}

// Names of what every site has, beside the named resources of its nodes.
const (
	Cores  = "cores"
	Memory = "memory" // bytes; a node that declares none has none here
)

// Free is the counted view: how much of a resource is free over all nodes that are up,
// as a step function from the snapshot's instant on, without equal neighbours. What is
// in use beyond what a node has counts as nothing free.
func (p *Plan) Free(resource string) []Level {
	r := p.index(resource)
	if r < 0 {
		return []Level{{At: p.at}}
	}
	free := Level{At: p.at}
	var changes []Level
	for n := range p.free.lines {
		if !p.up(n) || p.of(n)[r] == unlimited {
			continue
		}
		l := &p.free.lines[n]
		before := max(l.free[r], 0)
		free.Free += before
		for i := 1; i < len(l.at); i++ {
			if now := max(l.free[i*p.width+r], 0); now != before {
				changes = append(changes, Level{l.at[i], now - before})
				before = now
			}
		}
	}
	slices.SortFunc(changes, func(a, b Level) int { return cmp.Compare(a.At, b.At) })
	return levels(free, changes)
}

// levels adds up changes.
func levels(first Level, changes []Level) []Level {
	out := []Level{first}
	for i := 0; i < len(changes); {
		next := Level{changes[i].At, out[len(out)-1].Free}
		for ; i < len(changes) && changes[i].At == next.At; i++ {
			next.Free += changes[i].Free
		}
		if next.Free != out[len(out)-1].Free {
			out = append(out, next)
		}
	}
	return out
}

// index is the place of a resource in a vector, or -1.
func (g *ground) index(resource string) int {
	switch {
	case resource == Cores:
		return 0
	case resource == Memory:
		return cmp.Or(g.memory, -1)
	}
	i := slices.Index(g.named, resource)
	if i < 0 {
		return -1
	}
	return g.width - len(g.named) + i
}
