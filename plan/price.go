package plan

import (
	"cmp"
	"math"
	"slices"

	"gbroker/grid"
)

// Pricing is what an owner asks for the time of the site's nodes.
//
// Time that nobody waits for costs Base for a slot, however long. Time in which the
// plan would run a waiting local job costs what Of says of that job; where the plan
// has several waiting jobs share the node, the sum. Time of a running job has no
// price: it is not for sale.
type Pricing struct {
	Base float64
	Of   func(Displaced) float64 // nil: LinearPrice(1)
}

// Displaced is a waiting local job that would lose the time of a slot.
type Displaced struct {
	Priority    float64
	NodeSeconds float64 // of the slot: what it would lose
	Whole       float64 // node seconds of the whole job, which cannot start without this part either
}

// LinearPrice asks the rate for each node second, times the job's priority. A
// priority below 0 counts as 0.
func LinearPrice(rate float64) func(Displaced) float64 {
	return func(d Displaced) float64 { return rate * max(d.Priority, 0) * d.NodeSeconds }
}

// Booked is a job that the plan has on a node.
type Booked struct {
	Node       grid.NodeName
	Start, End grid.Tick
	Running    bool
	Priority   float64 // of a waiting job
	Whole      float64 // node seconds of the whole job; 0 is those of this node alone
}

// price is what the time from start to end costs, in which these jobs would run. It
// is never under Base, and does not depend on the order of the jobs.
func (p Pricing) price(start, end grid.Tick, waiting []Booked) float64 {
	if len(waiting) == 0 {
		return p.Base
	}
	of := p.Of
	if of == nil {
		of = LinearPrice(1)
	}
	var each []float64
	for _, b := range waiting {
		d := Displaced{b.Priority, (min(end, b.End) - max(start, b.Start)).Seconds(), b.Whole}
		if d.Whole == 0 {
			d.Whole = (b.End - b.Start).Seconds()
		}
		each = append(each, of(d))
	}
	slices.Sort(each) // sums of the same numbers in another order differ in the last digit
	var sum float64
	for _, price := range each {
		sum += price
	}
	if math.IsNaN(sum) {
		return math.Inf(1) // a price that cannot be reckoned is not for sale
	}
	return max(sum, p.Base)
}

// MayDisplace reports whether a grid job that pays fee may take the time from start to
// end from the jobs booked on a node: never from a running one, from waiting ones for
// their price.
func (p Pricing) MayDisplace(fee float64, start, end grid.Tick, booked []Booked) bool {
	var waiting []Booked
	for _, b := range booked {
		switch {
		case b.Start >= end || b.End <= start:
		case b.Running:
			return false
		default:
			waiting = append(waiting, b)
		}
	}
	return fee >= p.price(start, end, waiting)
}

// Slots is what a site has to sell from one instant to another, by node and start:
// where any job comes or goes on a node, one slot ends and the next begins. A price
// beyond all numbers makes no slot.
func (p Pricing) Slots(site grid.SiteName, nodes []grid.NodeName, booked []Booked, from, to grid.Tick) []grid.Slot {
	on := make(map[grid.NodeName][]Booked)
	for _, b := range booked {
		on[b.Node] = append(on[b.Node], b)
	}
	var out []grid.Slot
	for _, n := range nodes {
		out = p.slotsOf(out, grid.Slot{Site: site, Node: n}, on[n], from, to)
	}
	return out
}

func (p Pricing) slotsOf(out []grid.Slot, slot grid.Slot, booked []Booked, from, to grid.Tick) []grid.Slot {
	slices.SortFunc(booked, func(a, b Booked) int { return cmp.Compare(a.Start, b.Start) })
	var now []Booked // on the node at the instant from
	for from < to {
		now = slices.DeleteFunc(now, func(b Booked) bool { return b.End <= from })
		for len(booked) > 0 && booked[0].Start <= from {
			if booked[0].End > from {
				now = append(now, booked[0])
			}
			booked = booked[1:]
		}
		next, held := to, false
		if len(booked) > 0 {
			next = min(next, booked[0].Start)
		}
		for _, b := range now {
			next, held = min(next, b.End), held || b.Running
		}
		slot.Start, slot.End = from, next
		if !held {
			if slot.Price = p.price(from, next, now); !math.IsInf(slot.Price, 1) {
				out = append(out, slot)
			}
		}
		from = next
	}
	return out
}
