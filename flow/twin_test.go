package flow

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawn is a small graph on a small platform.
func drawn(t *rapid.T) (*Graph, *Platform) {
	some := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
	p := &Platform{Resources: []string{"cores", "memory"}}
	n := some("executors", 1, 4)
	for range n {
		e := Executor{Capacity: []int64{int64(some("cores", 1, 4)), int64(some("memory", 1, 6))}, Latency: Time(some("latency", 0, 3)), GPUs: make([]string, some("gpus", 0, 2))}
		at := Time(0)
		for range some("taken", 0, 2) {
			from := at + Time(some("gap", 0, 9))
			at = from + Time(some("length", 1, 9))
			taken := Taken{From: from, To: at, Amounts: []int64{int64(some("taken cores", 0, int(e.Capacity[0])))}}
			if len(e.GPUs) > 0 && some("taken gpu", 0, 1) == 1 {
				taken.GPUs = []int{0}
			}
			e.Taken = append(e.Taken, taken)
		}
		p.Executors = append(p.Executors, e)
		row := make([]int64, n)
		for j := range row {
			row[j] = int64(some("bandwidth", 1, 3)) * 1e6
		}
		p.Bandwidth = append(p.Bandwidth, row)
	}
	g := &Graph{}
	for v := range some("vertices", 1, 12) {
		x := Vertex{Name: "v", Rerunnable: some("rerunnable", 0, 1) == 1, Release: Time(some("release", 0, 5))}
		for range some("configurations", 1, 2) {
			c := Configuration{Needs: []int64{int64(some("need", 0, 2)), int64(some("memory need", 0, 3))}, GPUs: some("need gpus", 0, 1), Run: make([]Time, n)}
			for e := range c.Run {
				c.Run[e] = Time(some("run", -2, 12))
			}
			x.Configurations = append(x.Configurations, c)
		}
		g.Vertices = append(g.Vertices, x)
		for u := range v {
			if some("edge", 0, 3) == 0 {
				g.Edges = append(g.Edges, Edge{u, v, int64(some("size", 0, 12))})
			}
		}
	}
	return g, p
}

// naive is HEFT as one would write it on a board: ranks by recursion, what is free at each microsecond in a table.
type naive struct {
	g    *Graph
	p    *Platform
	free [][][]int64 // by executor, microsecond and resource, then each GPU
	at   []Placement
}

const boardTime = 4000

func (n *naive) feasible(v, c, e int) bool {
	way, x := &n.g.Vertices[v].Configurations[c], &n.p.Executors[e]
	return way.Run[e] >= 0 && way.Needs[0] <= x.Capacity[0] && way.Needs[1] <= x.Capacity[1] && way.GPUs <= len(x.GPUs)
}

func (n *naive) rank(v int) float64 {
	sum, count, far := 0.0, 0.0, 0.0
	for e := range n.p.Executors {
		for c := range n.g.Vertices[v].Configurations {
			if n.feasible(v, c, e) {
				sum, count = sum+float64(n.g.Vertices[v].Configurations[c].Run[e]), count+1
			}
		}
	}
	for _, e := range n.g.Edges {
		if e.From != v {
			continue
		}
		over, k := 0.0, float64(len(n.p.Executors))
		if k > 1 && e.Size > 0 {
			speed, latency := 0.0, 0.0
			for i := range n.p.Executors {
				latency += float64(n.p.Executors[i].Latency) / k
				for j := range n.p.Executors {
					if i != j {
						speed += float64(n.p.Bandwidth[i][j]) / 1e6
					}
				}
			}
			over = latency + float64(e.Size)/(speed/(k*(k-1)))
		}
		far = max(far, over+n.rank(e.To))
	}
	return sum/count + far
}

// clear makes the board empty, but for what others have.
func (n *naive) clear() {
	n.free, n.at = make([][][]int64, len(n.p.Executors)), make([]Placement, len(n.g.Vertices))
	for e := range n.free {
		x := &n.p.Executors[e]
		for range boardTime {
			row := append([]int64{}, x.Capacity...)
			for range x.GPUs {
				row = append(row, 1)
			}
			n.free[e] = append(n.free[e], row)
		}
		for _, k := range x.Taken {
			n.take(e, k.From, k.To, k.Amounts, k.GPUs)
		}
	}
}

func (n *naive) plan() Time {
	n.clear()
	ranks, left, last := make([]float64, len(n.g.Vertices)), map[int]bool{}, Time(0)
	for v := range ranks {
		ranks[v], left[v] = n.rank(v), true
	}
	for len(left) > 0 {
		best := -1
		for v := range ranks {
			if left[v] && !n.waits(v, left) && (best < 0 || ranks[v] > ranks[best]) {
				best = v
			}
		}
		delete(left, best)
		n.put(best)
		last = max(last, n.at[best].End)
	}
	return last
}

func (n *naive) waits(v int, left map[int]bool) bool {
	for _, e := range n.g.Edges {
		if e.To == v && left[e.From] {
			return true
		}
	}
	return false
}

func (n *naive) take(e int, from, to Time, amounts []int64, gpus []int) {
	for t := from; t < to; t++ {
		for r, a := range amounts {
			n.free[e][t][r] -= a
		}
		for _, k := range gpus {
			n.free[e][t][2+k]--
		}
	}
}

func (n *naive) put(v int) {
	best := Placement{Executor: -1}
	for e := range n.p.Executors {
		for c := range n.g.Vertices[v].Configurations {
			if !n.feasible(v, c, e) {
				continue
			}
			ready := n.g.Vertices[v].Release
			for _, edge := range n.g.Edges {
				if edge.To == v {
					ready = max(ready, there(n.p, []Placement{n.at[edge.From]}, edge, e))
				}
			}
			way := &n.g.Vertices[v].Configurations[c]
			for start := ready; ; start++ {
				if gpus, fits := n.fits(e, start, start+way.Run[e], way); fits {
					if best.Executor < 0 || start+way.Run[e] < best.End {
						best = Placement{v, e, c, start, start + way.Run[e], gpus, false}
					}
					break
				}
			}
		}
	}
	way := &n.g.Vertices[v].Configurations[best.Configuration]
	n.take(best.Executor, best.Start, best.End, way.Needs, best.GPUs)
	n.at[v] = best
}

func (n *naive) fits(e int, from, to Time, way *Configuration) (gpus []int, fits bool) {
	if from == to {
		return nil, true
	}
	for k := range n.p.Executors[e].GPUs {
		all := true
		for t := from; t < to; t++ {
			all = all && n.free[e][t][2+k] > 0
		}
		if all && len(gpus) < way.GPUs {
			gpus = append(gpus, k)
		}
	}
	for t := from; t < to; t++ {
		for r, need := range way.Needs {
			if need > 0 && n.free[e][t][r] < need {
				return nil, false
			}
		}
	}
	return gpus, len(gpus) == way.GPUs
}

// Every rule keeps to the model, HEFT is what it is on a board but for ties of rank, and no plan ends before the lower
// bounds. Local search is never worse than what it begins with.
func TestRulesBesideNaiveTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, p := drawn(t)
		bounds, err := LowerBounds(g, p)
		if err != nil {
			return // some job can run nowhere
		}
		board := &naive{g: g, p: p}
		want := board.plan()
		least := Forever
		for _, rule := range Rules {
			s, err := Plan(g, p, rule, Options{Steps: 50})
			if err != nil {
				t.Fatalf("%s: %v", rule, err)
			}
			verify(t, g, p, s)
			if s.Makespan < bounds.Least() {
				t.Fatalf("%s ends at %d, before the bounds %+v", rule, s.Makespan, bounds)
			}
			if rule == HEFT && distinct(board) && s.Makespan != want {
				t.Fatalf("HEFT ends at %d, on a board at %d", s.Makespan, want)
			}
			if rule == Search && s.Makespan > least {
				t.Fatalf("local search ends at %d, another rule at %d", s.Makespan, least)
			}
			least = min(least, s.Makespan)
		}
	})
}

// distinct tells that no two ranks are so near that rounding could swap them.
func distinct(n *naive) bool {
	for v := range n.g.Vertices {
		for u := range v {
			if math.Abs(n.rank(u)-n.rank(v)) < 1e-6 {
				return false
			}
		}
	}
	return true
}

// Instances of a pipeline share the executors, and each data instance is used once.
func TestPipelineKeepsToModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, p := drawn(t)
		for k := range rapid.IntRange(1, 3).Draw(t, "sources") {
			rate := rapid.Int64Range(1, 60).Draw(t, "rate")
			g.Vertices = append(g.Vertices, Vertex{Name: "source", Kind: Source, At: k % len(p.Executors), Rate: rate * 1000, Release: Time(rapid.IntRange(0, 300).Draw(t, "offset"))})
			g.Edges = append(g.Edges, Edge{len(g.Vertices) - 1, rapid.IntRange(0, len(g.Vertices)-2-k).Draw(t, "to"), rapid.Int64Range(0, 50).Draw(t, "size")})
		}
		list, err := PlanPeriodic(g, p, Pipeline{Count: 12})
		if err != nil && len(list) == 0 {
			return
		}
		verifyAll(t, g, p, list)
	})
}
