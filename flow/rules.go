package flow

import (
	"container/heap"
	"fmt"
	"math"
	"slices"
)

// Rule is a way to plan a graph.
type Rule string

// Rules.
const (
	HEFT      Rule = "heft"      // upward rank; the earliest end
	PEFT      Rule = "peft"      // an optimistic cost table, for order and choice
	CPOP      Rule = "cpop"      // the critical path on one executor
	Lookahead Rule = "lookahead" // the earliest end of those that need it next
	Replicate Rule = "replicate" // HEFT, with second runs of what costs more to bring
	Search    Rule = "search"    // local search from the best of the others
)

// Rules are all of them; the last begins with what the others found.
var Rules = []Rule{HEFT, PEFT, CPOP, Lookahead, Replicate, Search}

// Options are what a rule may spend.
type Options struct {
	Steps int    // of local search; 0 is [DefaultSteps]
	Seed  uint64 // of local search
}

// maxLookahead bounds the graphs for which Lookahead is reckoned in full: vertices times squared executors.
const maxLookahead = 20_000_000

// Plan plans a graph by a rule.
func Plan(g *Graph, p *Platform, rule Rule, o Options) (*Schedule, error) {
	q, err := newProblem(g, p)
	if err != nil {
		return nil, err
	}
	var s *Schedule
	switch rule {
	case HEFT:
		s = q.list(nil, false)
	case Replicate:
		s = q.list(nil, true)
	case PEFT:
		s = q.peft()
	case CPOP:
		s = q.cpop()
	case Lookahead:
		s = q.lookahead()
	case Search:
		s = q.search(o)
	default:
		return nil, fmt.Errorf("%w: no rule %q: use one of %v", ErrInvalid, string(rule), Rules)
	}
	if s.Makespan >= Forever {
		return nil, fmt.Errorf("%w: what is taken of the executors for ever leaves no room for all jobs", ErrInvalid)
	}
	return s, nil
}

// list places all vertices in an order, each where it ends first; without an order, by upward rank.
func (q *problem) list(order []int32, again bool) *Schedule {
	if order == nil {
		order = q.byRank(q.upward())
	}
	p := newPlanner(q)
	p.again = again
	for _, v := range order {
		p.place(p.earliest(int(v), nil))
	}
	return p.schedule()
}

// optimistic is the table of PEFT: by vertex and executor, the least time from its end to the end of all, if
// nobody else took anything.
func (q *problem) optimistic() [][]float64 {
	n := len(q.on.Executors)
	table := make([][]float64, len(q.Vertices))
	cells := make([]float64, len(q.Vertices)*n)
	whole := make([]float64, n) // of one that needs it: its own time and what comes behind
	for v := range table {
		table[v] = cells[v*n : (v+1)*n]
	}
	for _, v := range slices.Backward(q.order) {
		for e := range whole {
			whole[e] = q.fastest(int(v), e) + table[v][e]
		}
		first, second, at := leastTwo(whole)
		for _, k := range q.in[v] {
			edge := &q.Edges[k]
			over := q.meanTransfer(edge.Size)
			for e := range whole {
				other := first
				if e == at {
					other = second
				}
				table[edge.From][e] = max(table[edge.From][e], min(whole[e], other+over))
			}
		}
	}
	return table
}

// fastest is the least run time of a vertex at an executor; infinite where it cannot be there.
func (q *problem) fastest(v, e int) float64 {
	t := math.Inf(1)
	for c := range q.ways(v) {
		if way := &q.ways(v)[c]; q.can(v, way, e) {
			t = min(t, float64(way.Run[e]))
		}
	}
	return t
}

func leastTwo(of []float64) (first, second float64, at int) {
	first, second = math.Inf(1), math.Inf(1)
	for i, x := range of {
		switch {
		case x < first:
			first, second, at = x, first, i
		case x < second:
			second = x
		}
	}
	return first, second, at
}

func (q *problem) peft() *Schedule {
	table := q.optimistic()
	rank := make([]float64, len(table))
	for v, row := range table {
		for _, x := range row {
			rank[v] += x / float64(len(row))
		}
	}
	p := newPlanner(q)
	p.byReadiness(rank, func(v int) {
		p.place(p.earliest(v, func(x candidate) float64 { return table[v][x.Executor] }))
	})
	return p.schedule()
}

func (q *problem) cpop() *Schedule {
	up, down := q.upward(), q.downward()
	priority := make([]float64, len(up))
	for v := range up {
		priority[v] = up[v] + down[v]
	}
	critical := q.critical(priority)
	to := q.criticalExecutor(critical)
	p := newPlanner(q)
	p.byReadiness(priority, func(v int) {
		p.place(p.earliest(v, func(x candidate) float64 {
			if critical[v] && x.Executor != to && !math.IsInf(q.fastest(v, to), 1) {
				return float64(Forever)
			}
			return 0
		}))
	})
	return p.schedule()
}

// critical are the vertices of one critical path.
func (q *problem) critical(priority []float64) []bool {
	on := make([]bool, len(priority))
	v := -1
	for _, k := range q.order {
		if len(q.in[k]) == 0 && (v < 0 || priority[k] > priority[v]) {
			v = int(k)
		}
	}
	for v >= 0 {
		on[v] = true
		next := -1
		for _, k := range q.out[v] {
			if to := q.Edges[k].To; next < 0 || priority[to] > priority[next] {
				next = to
			}
		}
		v = next
	}
	return on
}

// criticalExecutor is the one that would run the jobs of the critical path the fastest, all of them where one can.
func (q *problem) criticalExecutor(critical []bool) int {
	best, most, least := 0, -1, 0.0
	for e := range q.on.Executors {
		n, sum := 0, 0.0
		for v := range critical {
			if t := q.fastest(v, e); critical[v] && !math.IsInf(t, 1) {
				n, sum = n+1, sum+t
			}
		}
		if n > most || n == most && sum < least {
			best, most, least = e, n, sum
		}
	}
	return best
}

// byReadiness places vertices as all that they need is placed, the highest priority first.
func (p *planner) byReadiness(priority []float64, place func(v int)) {
	left := make([]int, len(p.Vertices))
	q := &readyQueue{priority: priority, position: p.position}
	for _, v := range p.order {
		if left[v] = len(p.in[v]); left[v] == 0 {
			heap.Push(q, v)
		}
	}
	for q.Len() > 0 {
		v := heap.Pop(q).(int32)
		place(int(v))
		for _, k := range p.out[v] {
			to := p.Edges[k].To
			if left[to]--; left[to] == 0 {
				heap.Push(q, int32(to))
			}
		}
	}
}

// readyQueue is a heap of vertices by priority.
type readyQueue struct {
	list     []int32
	priority []float64
	position []int32
}

func (q *readyQueue) Len() int      { return len(q.list) }
func (q *readyQueue) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *readyQueue) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	if q.priority[a] != q.priority[b] {
		return q.priority[a] > q.priority[b]
	}
	return q.position[a] < q.position[b]
}
func (q *readyQueue) Push(x any) { q.list = append(q.list, x.(int32)) }
func (q *readyQueue) Pop() any {
	v := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return v
}

// lookahead places each vertex where the last of those that need it next would end first.
func (q *problem) lookahead() *Schedule {
	n := len(q.on.Executors)
	if len(q.Vertices)*n*n > maxLookahead {
		return q.peft()
	}
	p := newPlanner(q)
	for _, v := range q.byRank(q.upward()) {
		var best candidate
		least, any := Forever, false
		limit := unlimited
		p.each(int(v), &limit, func(x candidate) {
			if end := p.afterwards(x); !any || end < least || end == least && x.End < best.End {
				best, least, any = x, end, true
			}
		})
		p.place(best)
	}
	return p.schedule()
}

// afterwards is when the last of those that need a vertex would end, were it placed so.
func (p *planner) afterwards(x candidate) (last Time) {
	way := &p.ways(x.Vertex)[x.Configuration]
	x.GPUs = p.timelines[x.Executor].reserve(x.Start, x.End, way)
	p.at[x.Vertex] = x.Placement
	last = x.End
	for _, k := range p.out[x.Vertex] {
		to, first := p.Edges[k].To, Forever
		for e := range p.on.Executors {
			ready := Time(-1)
			for c := range p.ways(to) {
				way := &p.ways(to)[c]
				if !p.can(to, way, e) {
					continue
				}
				if ready < 0 {
					ready = p.ready(to, e)
				}
				first = min(first, p.timelines[e].find(ready, way.Run[e], way, first)+way.Run[e])
			}
		}
		last = max(last, first)
	}
	p.timelines[x.Executor].release(x.Start, x.End, way, x.GPUs)
	p.at[x.Vertex].Executor = -1
	return last
}
