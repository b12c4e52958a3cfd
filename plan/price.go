package plan

import (
	"math"
	"slices"
)

// Pricing is what an owner asks for the time of the site's nodes.
//
// What nobody waits for costs Base for a slot, however long. Time in which the plan would
// run a waiting local job costs what Of says of that job; where several share the node, the
// sum. Time of a running job has no price: it is not for sale.
type Pricing struct {
	Base float64
	Of   func(Displaced) float64 // nil: LinearPrice(1)
}

// Displaced is a waiting local job that would lose what it has of a slot.
type Displaced struct {
	Priority    float64
	CoreSeconds float64 // of the slot: what it would lose
	Whole       float64 // core seconds of the whole job, which cannot start without this part either
}

// LinearPrice asks the rate for each core second, times the job's priority. A
// priority below 0 counts as 0.
func LinearPrice(rate float64) func(Displaced) float64 {
	return func(d Displaced) float64 { return rate * max(d.Priority, 0) * d.CoreSeconds }
}

// price is what it costs to displace these jobs. It is never under Base, and does not
// depend on the order of the jobs.
func (p Pricing) price(waiting []Displaced) float64 {
	of := p.Of
	if of == nil {
		of = LinearPrice(1)
	}
	var each []float64
	for _, d := range waiting {
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
