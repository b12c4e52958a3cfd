package flow

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// board plans by the other rules as one would on a board: all by recursion, and each candidate by walking from microsecond to
// microsecond. near tells that a choice was so close that rounding may decide it otherwise.
type board struct {
	naive
	placed []bool
	near   bool
}

func newBoard(g *Graph, p *Platform) *board {
	b := &board{naive: naive{g: g, p: p}, placed: make([]bool, len(g.Vertices))}
	b.clear()
	return b
}

// candidates are the earliest placements of a vertex in all ways, beside what is placed.
func (b *board) candidates(v int) (list []Placement) {
	for e := range b.p.Executors {
		for c := range b.g.Vertices[v].Configurations {
			if b.feasible(v, c, e) {
				list = append(list, b.earliest(v, e, c))
			}
		}
	}
	return list
}

func (b *board) earliest(v, e, c int) Placement {
	ready := b.g.Vertices[v].Release
	for _, edge := range b.g.Edges {
		if edge.To == v && b.placed[edge.From] {
			ready = max(ready, there(b.p, []Placement{b.at[edge.From]}, edge, e))
		}
	}
	way := &b.g.Vertices[v].Configurations[c]
	for start := ready; ; start++ {
		if gpus, fits := b.fits(e, start, start+way.Run[e], way); fits {
			return Placement{v, e, c, start, start + way.Run[e], gpus, false}
		}
	}
}

func (b *board) place(x Placement, sign int) {
	way := &b.g.Vertices[x.Vertex].Configurations[x.Configuration]
	needs := slices.Clone(way.Needs)
	if sign > 0 {
		b.take(x.Executor, x.Start, x.End, needs, x.GPUs)
	} else {
		for t := x.Start; t < x.End; t++ {
			for r, a := range needs {
				b.free[x.Executor][t][r] += a
			}
			for _, k := range x.GPUs {
				b.free[x.Executor][t][2+k]++
			}
		}
	}
	b.at[x.Vertex], b.placed[x.Vertex] = x, sign > 0
}

// choose places a vertex where the cost is least; of equal ones the first.
func (b *board) choose(v int, cost func(Placement) float64) {
	list := b.candidates(v)
	best, least := -1, math.Inf(1)
	for i, x := range list {
		c := cost(x)
		if d := math.Abs(c - least); d > 0 && d < 1e-6 {
			b.near = true
		}
		if c < least {
			best, least = i, c
		}
	}
	b.place(list[best], 1)
}

// run places all by priority, each when what it needs is placed; group is a set within which priorities may be equal, as one waits for the other.
func (b *board) run(priority []float64, group []bool, place func(int)) (last Time) {
	for v := range priority {
		for u := range v {
			if math.Abs(priority[u]-priority[v]) < 1e-6 && !(group != nil && group[u] && group[v]) {
				b.near = true
			}
		}
	}
	left := map[int]bool{}
	for v := range priority {
		left[v] = true
	}
	for len(left) > 0 {
		best := -1
		for v := range priority {
			if left[v] && !b.waits(v, left) && (best < 0 || priority[v] > priority[best]) {
				best = v
			}
		}
		delete(left, best)
		place(best)
		last = max(last, b.at[best].End)
	}
	return last
}

// mean is a vertex' run time without what comes behind, and over the mean time of a transfer.
func (b *board) mean(v int) (sum float64) {
	n := 0.0
	for e := range b.p.Executors {
		for c := range b.g.Vertices[v].Configurations {
			if b.feasible(v, c, e) {
				sum, n = sum+float64(b.g.Vertices[v].Configurations[c].Run[e]), n+1
			}
		}
	}
	return sum / n
}

func (b *board) over(size int64) float64 {
	k := float64(len(b.p.Executors))
	if k == 1 || size == 0 {
		return 0
	}
	speed, latency := 0.0, 0.0
	for i := range b.p.Executors {
		latency += float64(b.p.Executors[i].Latency) / k
		for j := range b.p.Executors {
			if i != j {
				speed += float64(b.p.Bandwidth[i][j]) / 1e6
			}
		}
	}
	return latency + float64(size)/(speed/(k*(k-1)))
}

func (b *board) fastest(v, e int) float64 {
	t := math.Inf(1)
	for c := range b.g.Vertices[v].Configurations {
		if b.feasible(v, c, e) {
			t = min(t, float64(b.g.Vertices[v].Configurations[c].Run[e]))
		}
	}
	return t
}

// behind is the optimistic cost of PEFT: what must follow a vertex that runs at an executor.
func (b *board) behind(v, e int) (most float64) {
	for _, edge := range b.g.Edges {
		if edge.From != v {
			continue
		}
		least := math.Inf(1)
		for w := range b.p.Executors {
			cost := b.fastest(edge.To, w) + b.behind(edge.To, w)
			if w != e {
				cost += b.over(edge.Size)
			}
			least = min(least, cost)
		}
		most = max(most, least)
	}
	return most
}

func (b *board) peft() Time {
	rank := make([]float64, len(b.g.Vertices))
	for v := range rank {
		for e := range b.p.Executors {
			rank[v] += b.behind(v, e) / float64(len(b.p.Executors))
		}
	}
	return b.run(rank, nil, func(v int) {
		b.choose(v, func(x Placement) float64 { return float64(x.End) + b.behind(v, x.Executor) })
	})
}

func (b *board) before(v int) (most float64) {
	for _, e := range b.g.Edges {
		if e.To == v {
			most = max(most, b.before(e.From)+b.mean(e.From)+b.over(e.Size))
		}
	}
	return most
}

func (b *board) cpop() Time {
	priority := make([]float64, len(b.g.Vertices))
	for v := range priority {
		priority[v] = b.rank(v) + b.before(v)
	}
	critical, at := make([]bool, len(priority)), -1
	for v := range priority {
		if b.before(v) == 0 && !slices.ContainsFunc(b.g.Edges, func(e Edge) bool { return e.To == v }) && (at < 0 || priority[v] > priority[at]) {
			at = v
		}
	}
	for at >= 0 {
		critical[at] = true
		next := -1
		for _, e := range b.g.Edges {
			if e.From == at && (next < 0 || priority[e.To] > priority[next]) {
				next = e.To
			}
		}
		at = next
	}
	to, most, least := 0, -1, 0.0
	for e := range b.p.Executors {
		n, sum := 0, 0.0
		for v := range critical {
			if t := b.fastest(v, e); critical[v] && !math.IsInf(t, 1) {
				n, sum = n+1, sum+t
			}
		}
		if n > most || n == most && sum < least {
			to, most, least = e, n, sum
		}
	}
	return b.run(priority, critical, func(v int) {
		b.choose(v, func(x Placement) float64 {
			if critical[v] && x.Executor != to && !math.IsInf(b.fastest(v, to), 1) {
				return float64(x.End) + 1e12
			}
			return float64(x.End)
		})
	})
}

func (b *board) lookahead() Time {
	rank := make([]float64, len(b.g.Vertices))
	for v := range rank {
		rank[v] = b.rank(v)
	}
	return b.run(rank, nil, func(v int) {
		b.choose(v, func(x Placement) float64 {
			b.place(x, 1)
			last := x.End
			for _, e := range b.g.Edges {
				if e.From != v {
					continue
				}
				first := Forever
				for _, y := range b.candidates(e.To) {
					first = min(first, y.End)
				}
				last = max(last, first)
			}
			b.place(x, -1)
			return float64(last)*1e5 + float64(x.End) // of equal ones that which ends first itself
		})
	})
}

// PEFT, CPOP and lookahead plan what they would on a board.
func TestOtherRulesBesideNaiveTwins(t *testing.T) {
	t.Parallel()
	compared := map[Rule]int{}
	check := func(t *rapid.T) {
		g, p := drawn(t)
		if _, err := LowerBounds(g, p); err != nil {
			return // some job can run nowhere
		}
		for rule, on := range map[Rule]func(*board) Time{PEFT: (*board).peft, CPOP: (*board).cpop, Lookahead: (*board).lookahead} {
			b := newBoard(g, p)
			want := on(b)
			s, err := Plan(g, p, rule, Options{})
			if err != nil {
				t.Fatalf("%s: %v", rule, err)
			}
			if b.near {
				continue
			}
			compared[rule]++
			for v, x := range b.at {
				if y := s.Placements[v]; x.Executor != y.Executor || x.Start != y.Start || x.Configuration != y.Configuration {
					t.Fatalf("%s places %d as %+v, on a board as %+v", rule, v, y, x)
				}
			}
			if s.Makespan != want {
				t.Fatalf("%s ends at %d, on a board at %d", rule, s.Makespan, want)
			}
		}
	}
	few := func() bool { return min(compared[PEFT], compared[CPOP], compared[Lookahead]) < 10 }
	for tries := 0; few() && tries < 20; tries++ { // what is near a tie is not compared, and chance may draw much of it
		rapid.Check(t, check)
	}
	for _, rule := range []Rule{PEFT, CPOP, Lookahead} {
		if compared[rule] < 10 {
			t.Errorf("%s was compared %d times", rule, compared[rule])
		}
	}
}

// What local search reckons with for an order and a choice of ways is what a board gives for the same.
func TestSearchBesideNaiveTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, p := drawn(t)
		q, err := newProblem(g, p)
		if err != nil {
			return
		}
		order, ways := q.encode(q.list(nil, false))
		w := newPlanner(q)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for range 5 {
			q.vary(r, order, ways)
			end := w.decode(order, ways)
			b := newBoard(g, p)
			last := Time(0)
			for _, v := range order {
				if k := ways[v]; k.executor >= 0 {
					b.place(b.earliest(int(v), k.executor, k.configuration), 1)
				} else {
					b.choose(int(v), func(x Placement) float64 { return float64(x.End) })
				}
				last = max(last, b.at[v].End)
			}
			if end != last {
				t.Fatalf("search reckons with %d, on a board it is %d", end, last)
			}
		}
	})
}
