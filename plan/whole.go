package plan

import (
	"cmp"
	"slices"
	"strconv"

	"gbroker/grid"
)

// WholeNodes is what a site offers to a job over several sites: nodes that hold a piece of its demand, all of each, for
// long enough, from one instant to another.
type WholeNodes struct {
	Slots []grid.Slot // by node and start
	Most  int         // processes that all such nodes of the site could ever hold
	// Refusal is why there are no slots.
	Refusal *grid.Refusal
}

// WholeNodes offers at most so many slots, the earliest; what one part of a node's time costs another may not.
// Of a demand of pieces of several sizes a node must hold the largest. What the grid may hold at
// once is bounded by the prices' Share: grided is what it holds already.
func (p *Plan) WholeNodes(q Question, prices *Pricing, user grid.User, to grid.Tick, most int, grided []Grided) (out WholeNodes) {
	queue := cmp.Or(q.Queue, p.standard)
	if r := cmp.Or(p.refuseQueue(queue, q.Limit), p.refuseNow(queue)); r != nil {
		return WholeNodes{Refusal: r}
	}
	class := p.class(queue, &q.Demand, false)
	from := max(q.NotBefore, p.at)
	on, changes := p.byNode(from, to), prices.changes(from, to)
	cores, shared := 0, false
	var left []grid.Slot
	may := p.gridMay(prices)
	for n := class.nodes.next(0); n >= 0; n = class.nodes.next(n + 1) {
		k := p.processes(n, &q.Demand)
		if k == 0 {
			continue
		}
		out.Most = min(out.Most+k, grid.MaxProcesses)
		times := p.wholeTimes(n, p.times(n, on[n], changes, prices, user, from, to), prices, q.Limit)
		free := len(times)
		if times = withinShare(times, grided, may-cores-p.nodes[n].Cores); len(times) > 0 {
			cores += p.nodes[n].Cores
			left = append(left, times...)
		}
		shared = shared || free > 0 && len(times) == 0
	}
	out.Slots = earliest(left, most)
	switch {
	case len(out.Slots) > 0:
	case out.Most == 0:
		out.Refusal = &grid.Refusal{Kind: grid.Permanent, Reason: "no node holds a piece of it", Asked: strconv.Itoa(q.Demand.Processes()), Available: "0"}
	case shared:
		out.Refusal = &grid.Refusal{Kind: grid.Temporary, Reason: "the grid has its share of this site"}
	default:
		out.Refusal = &grid.Refusal{Kind: grid.Temporary, Reason: "no whole node is free for so long", Asked: seconds(q.Limit)}
	}
	return out
}

// Grided is how many cores the grid holds from an instant on, until the next.
type Grided struct {
	From  grid.Tick
	Cores int
}

// withinShare is what is left of slots when the grid may hold no more than so many cores beside what it holds.
func withinShare(slots []grid.Slot, grided []Grided, room int) (out []grid.Slot) {
	for _, s := range slots {
		end := s.End
		for i, g := range grided {
			s.End = end
			if i+1 < len(grided) {
				s.End = min(end, grided[i+1].From)
			}
			if begin := max(s.Start, g.From); begin >= s.End {
				continue
			} else if g.Cores > room {
				s.Start = s.End
			} else if n := len(out) - 1; n >= 0 && out[n].End == begin && out[n].Node == s.Node && out[n].Price == s.Price {
				out[n].End = s.End
			} else {
				out = append(out, s)
				out[n+1].Start = begin
			}
		}
		if len(grided) == 0 && room >= 0 {
			out = append(out, s)
		}
	}
	return out
}

// gridMay is how many cores the grid may hold at once.
func (p *Plan) gridMay(prices *Pricing) int {
	all := 0
	for n := range p.nodes {
		if p.up(n) {
			all += p.nodes[n].Cores
		}
	}
	if prices == nil || prices.Share == 0 {
		return all
	}
	return int(prices.Share * float64(all))
}

// processes is how many of the largest pieces of a demand an empty node holds.
func (p *Plan) processes(n int, d *grid.Demand) int {
	most := 0
	for i, c := range d.Chunks {
		need := make([]int64, p.width)
		if !p.vector(need, max(c.Cores, 1), c.Memory, c.Resources) {
			return 0
		}
		at := c.Count
		if d.DistinctNodes {
			at = 1
		}
		k := fit(need, p.of(n), at) * max(c.Processes, 1)
		if k == 0 {
			return 0
		}
		if i == 0 || k < most {
			most = k
		}
	}
	return most
}

// wholeTimes are the times in which all of a node can be had for so long at least; those that touch
// and cost the same are one.
func (p *Plan) wholeTimes(n int, times []nodeTime, prices *Pricing, length grid.Tick) (out []grid.Slot) {
	begun := 0 // the first slot of those that touch
	ended := func() {
		if begun == len(out) || out[len(out)-1].End-out[begun].Start < length {
			out = out[:begun]
		}
		begun = len(out)
	}
	for _, t := range times {
		last := len(out) - 1
		switch {
		case !within(p.of(n), t.with) || t.waits && prices == nil:
			ended()
		case last >= begun && out[last].Price == t.dear:
			out[last].End = t.end
		default:
			out = p.slot(out, n, t.with, t.start, t.end, t.dear)
		}
	}
	ended()
	return out
}

// earliest are so many slots of all, the earliest ones, by node and start.
func earliest(all []grid.Slot, most int) []grid.Slot {
	if len(all) <= most {
		return all
	}
	slices.SortStableFunc(all, func(a, b grid.Slot) int { return cmp.Compare(a.Start, b.Start) })
	all = all[:most]
	slices.SortStableFunc(all, func(a, b grid.Slot) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Start, b.Start))
	})
	return all
}
