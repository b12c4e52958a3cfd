package flow

import (
	"math"
	"slices"
)

// Placement is where and when a vertex runs, and how.
type Placement struct {
	Vertex        int
	Executor      int
	Configuration int
	Start, End    Time
	GPUs          []int // by index at the executor
	Copy          bool  // a second run, made because a transfer costs more
}

// Schedule is a plan of a graph.
type Schedule struct {
	Placements []Placement // by vertex
	Copies     []Placement
	Makespan   Time // the latest end
}

// planner places vertices one after another beside those before them.
type planner struct {
	*problem
	timelines []timeline
	at        []Placement // by vertex; Executor is -1 of one that is not placed
	copies    [][]Placement
	release   []Time // by vertex
	arrival   []Time // by executor: scratch
	again     bool   // rerunnable vertices are replicated where a transfer costs more
}

func newPlanner(q *problem) *planner {
	p := &planner{problem: q, arrival: make([]Time, len(q.on.Executors)), at: make([]Placement, len(q.Vertices)),
		release: make([]Time, len(q.Vertices)), copies: make([][]Placement, len(q.Vertices))}
	for v := range q.Vertices {
		p.release[v] = q.Vertices[v].Release
	}
	p.timelines = make([]timeline, len(q.on.Executors))
	p.clear()
	return p
}

// clear makes the plan empty.
func (p *planner) clear() {
	for e := range p.timelines {
		p.timelines[e].reset(&p.on.Executors[e])
	}
	p.forget()
}

// forget makes all vertices unplaced, and leaves what was reserved.
func (p *planner) forget() {
	for v := range p.at {
		p.at[v].Executor = -1
		p.copies[v] = p.copies[v][:0]
	}
}

// arrive is when what an edge carries is at an executor, from the nearest of those that have it.
func (p *planner) arrive(edge *Edge, e int) Time {
	from := &p.at[edge.From]
	t := from.End + p.on.transfer(from.Executor, e, edge.Size)
	for i := range p.copies[edge.From] {
		c := &p.copies[edge.From][i]
		t = min(t, c.End+p.on.transfer(c.Executor, e, edge.Size))
	}
	return t
}

// ready is when a vertex has all it needs at an executor: formula (2.36) as it is meant.
func (p *planner) ready(v, e int) Time {
	t := p.release[v]
	for _, k := range p.in[v] {
		if edge := &p.Edges[k]; p.at[edge.From].Executor >= 0 {
			t = max(t, p.arrive(edge, e))
		}
	}
	return t
}

// candidate is a placement that could be, with the copy that it would need; copy.Vertex is -1 without one.
type candidate struct {
	Placement
	copy Placement
}

// unlimited is later than the end of what never begins.
const unlimited = Time(math.MaxInt64)

// each gives all placements of a vertex that could be, and would end before a limit that see may lower.
func (p *planner) each(v int, limit *Time, see func(candidate)) {
	for e := range p.on.Executors {
		p.arrival[e] = -1
		for c := range p.ways(v) {
			if p.can(v, &p.ways(v)[c], e) {
				if p.arrival[e] < 0 {
					p.arrival[e] = p.ready(v, e)
				}
				if x := p.candidate(v, e, c, p.arrival[e], *limit); x.End < *limit {
					see(x)
				}
			}
		}
	}
}

// candidate is the earliest placement of a vertex in one way.
func (p *planner) candidate(v, e, c int, ready, limit Time) candidate {
	way := &p.ways(v)[c]
	x := candidate{copy: Placement{Vertex: -1}}
	if p.again {
		ready, x.copy = p.replica(v, e, ready)
	}
	start := p.timelines[e].find(ready, way.Run[e], way, limit)
	x.Placement = Placement{Vertex: v, Executor: e, Configuration: c, Start: start, End: start + way.Run[e]}
	return x
}

// replica looks whether a second run of what a vertex waits for the longest brings it forward.
func (p *planner) replica(v, e int, ready Time) (Time, Placement) {
	none := Placement{Vertex: -1}
	last, other := -1, p.release[v]
	for _, k := range p.in[v] {
		edge := &p.Edges[k]
		switch t := p.arrive(edge, e); {
		case t == ready && last < 0 && p.at[edge.From].Executor != e && edge.Size > 0:
			last = edge.From
		default:
			other = max(other, t)
		}
	}
	if last < 0 || other >= ready || p.Vertices[last].Kind != Job || !p.Vertices[last].Rerunnable {
		return ready, none
	}
	best := none
	for c := range p.ways(last) {
		way := &p.ways(last)[c]
		if !p.can(last, way, e) {
			continue
		}
		start := p.timelines[e].find(p.ready(last, e), way.Run[e], way, ready)
		if end := start + way.Run[e]; end < ready && (best.Vertex < 0 || end < best.End) {
			best = Placement{Vertex: last, Executor: e, Configuration: c, Start: start, End: end, Copy: true}
		}
	}
	if best.Vertex < 0 {
		return ready, none
	}
	return max(other, best.End), best
}

// place takes a candidate.
func (p *planner) place(x candidate) {
	if x.copy.Vertex >= 0 {
		c := x.copy
		c.GPUs = p.timelines[c.Executor].reserve(c.Start, c.End, &p.ways(c.Vertex)[c.Configuration])
		p.copies[c.Vertex] = append(p.copies[c.Vertex], c)
	}
	x.GPUs = p.timelines[x.Executor].reserve(x.Start, x.End, &p.ways(x.Vertex)[x.Configuration])
	p.at[x.Vertex] = x.Placement
}

// earliest is the placement that ends first; of equals the first executor and configuration. The formula adds
// what a rule counts besides.
func (p *planner) earliest(v int, besides func(candidate) float64) candidate {
	var best candidate
	least, limit := math.Inf(1), unlimited
	p.each(v, &limit, func(x candidate) {
		cost := float64(x.End)
		if besides == nil {
			limit = x.End
		} else {
			cost += besides(x)
		}
		if cost < least {
			best, least = x, cost
		}
	})
	return best
}

// schedule is what is placed.
func (p *planner) schedule() *Schedule {
	s := &Schedule{Placements: slices.Clone(p.at)}
	for v := range p.at {
		s.Makespan = max(s.Makespan, p.at[v].End)
		s.Copies = append(s.Copies, p.copies[v]...)
	}
	return s
}
