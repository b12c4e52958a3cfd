package plan

import "gbroker/grid"

// Displaced is a local job that waits, and that the plan would run where something else is to be.
type Displaced struct {
	Job         grid.JobID // "" for a job that is not ours
	Priority    int64
	CoreSeconds float64 // that it loses there
}

// Price is the rate of whole nodes for all of an interval, that of the dearest time of the dearest node, and
// who gives way to it. Without prices nobody does.
func (p *Plan) Price(nodes []grid.NodeName, from, to grid.Tick, prices *Pricing, user grid.User) (rate float64, displaced []Displaced) {
	if prices == nil {
		return 0, nil
	}
	wanted := make(map[grid.NodeName]bool, len(nodes))
	for _, n := range nodes {
		wanted[n] = true
	}
	on, changes := p.byNode(from, to), prices.changes(from, to)
	lost := make(map[int32]float64)
	for n := range p.nodes {
		if !wanted[p.nodes[n].Name] {
			continue
		}
		for _, t := range p.times(n, on[n], changes, prices, user, from, to) {
			rate = max(rate, t.dear)
		}
		for _, b := range on[n] {
			if b.waiting >= 0 {
				lost[b.waiting] += float64(b.amounts[0]) * (min(b.end, to) - max(b.start, from)).Seconds()
			}
		}
	}
	for i := range p.waiting {
		if seconds, does := lost[int32(i)]; does {
			displaced = append(displaced, Displaced{p.waiting[i].Job, p.waiting[i].Priority, seconds})
		}
	}
	return rate, displaced
}
