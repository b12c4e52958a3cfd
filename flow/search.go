package flow

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// DefaultSteps is how many plans local search looks at.
const DefaultSteps = 2000

// way is an executor and a configuration of a vertex.
type way struct{ executor, configuration int }

// search begins with the best of the other rules and changes one thing at a time: where a vertex runs, or its
// place in the order. What does not end later is kept; an end that is later by little is kept now and then, ever
// more seldom.
func (q *problem) search(o Options) *Schedule {
	best := q.list(nil, false)
	for _, other := range []*Schedule{q.list(nil, true), q.peft(), q.cpop(), q.lookahead()} {
		if other.Makespan < best.Makespan {
			best = other
		}
	}
	if o.Steps == 0 {
		o.Steps = DefaultSteps
	}
	r := rand.New(rand.NewPCG(o.Seed, 17))
	p := newPlanner(q)
	p.again = len(best.Copies) > 0
	var here []int32
	var fixed []way
	here, fixed = q.encode(best)
	now := best.Makespan
	for k := range o.Steps {
		order, ways := slices.Clone(here), slices.Clone(fixed)
		q.vary(r, order, ways)
		end := p.decode(order, ways)
		worse := float64(end-now) / float64(max(now, 1))
		if worse > 0.02*float64(o.Steps-k)/float64(o.Steps)*r.Float64()*r.Float64() {
			continue
		}
		here, fixed, now = order, ways, end
		if end < best.Makespan {
			best = p.schedule()
		}
	}
	return best
}

// encode is the order of a schedule by start, and the way in which each vertex runs.
func (q *problem) encode(s *Schedule) ([]int32, []way) {
	order, ways := slices.Clone(q.order), make([]way, len(q.Vertices))
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.Placements[a].Start, s.Placements[b].Start), cmp.Compare(s.Placements[a].End, s.Placements[b].End), cmp.Compare(q.position[a], q.position[b]))
	})
	order = q.repair(order)
	for v := range ways {
		ways[v] = way{s.Placements[v].Executor, s.Placements[v].Configuration}
	}
	return order, ways
}

// repair puts whoever is needed before those that need it, and changes the order no more than that.
func (q *problem) repair(order []int32) []int32 {
	place := make([]float64, len(order))
	for i, v := range order {
		place[v] = -float64(i)
	}
	out := make([]int32, 0, len(order))
	p := &planner{problem: q}
	p.byReadiness(place, func(v int) { out = append(out, int32(v)) })
	return out
}

// vary changes one thing.
func (q *problem) vary(r *rand.Rand, order []int32, ways []way) {
	i := r.IntN(len(order))
	v := int(order[i])
	if r.IntN(2) == 0 && q.Vertices[v].Kind == Job {
		if r.IntN(4) == 0 {
			ways[v].executor = -1 // where it ends first
			return
		}
		for range 8 {
			w := way{r.IntN(len(q.on.Executors)), r.IntN(len(q.ways(v)))}
			if w != ways[v] && q.can(v, &q.ways(v)[w.configuration], w.executor) {
				ways[v] = w
				return
			}
		}
		return
	}
	low, high := q.between(order, i)
	to := low + r.IntN(high-low+1)
	for ; i < to; i++ {
		order[i], order[i+1] = order[i+1], order[i]
	}
	for ; i > to; i-- {
		order[i], order[i-1] = order[i-1], order[i]
	}
}

// between are the first and the last place that the vertex at a place of an order may have.
func (q *problem) between(order []int32, i int) (low, high int) {
	const far = 64
	v := int(order[i])
	for low = i; low > 0 && i-low < far; low-- {
		if slices.ContainsFunc(q.in[v], func(k int32) bool { return q.Edges[k].From == int(order[low-1]) }) {
			break
		}
	}
	for high = i; high+1 < len(order) && high-i < far; high++ {
		if slices.ContainsFunc(q.out[v], func(k int32) bool { return q.Edges[k].To == int(order[high+1]) }) {
			break
		}
	}
	return low, high
}

// decode places all vertices in an order, each in its way.
func (p *planner) decode(order []int32, ways []way) (end Time) {
	p.clear()
	for _, v := range order {
		w := ways[v]
		var x candidate
		if w.executor < 0 {
			x = p.earliest(int(v), nil)
		} else {
			x = p.candidate(int(v), w.executor, w.configuration, p.ready(int(v), w.executor), unlimited)
		}
		p.place(x)
		end = max(end, x.End)
	}
	return end
}
