package flow

import (
	"cmp"
	"fmt"
	"slices"
)

// problem is a graph on a platform, checked and indexed.
type problem struct {
	*Graph
	on       *Platform
	in, out  [][]int32 // edges of a vertex
	order    []int32   // of vertices: whoever others need comes before them
	position []int32   // of a vertex in order
	mean     []float64 // run time over all ways to run a job
	speed    float64   // mean bandwidth of two executors, in bytes a microsecond
	latency  float64   // mean
	nowhere  []Configuration
}

func newProblem(g *Graph, p *Platform) (*problem, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := g.Check(p); err != nil {
		return nil, err
	}
	q := &problem{Graph: g, on: p, nowhere: []Configuration{{Run: make([]Time, len(p.Executors))}}}
	q.index()
	if err := q.sort(); err != nil {
		return nil, err
	}
	q.average()
	return q, nil
}

func (q *problem) index() {
	q.in, q.out = make([][]int32, len(q.Vertices)), make([][]int32, len(q.Vertices))
	for i, e := range q.Edges {
		q.out[e.From] = append(q.out[e.From], int32(i))
		q.in[e.To] = append(q.in[e.To], int32(i))
	}
}

// sort finds the order, or a vertex that is in a cycle.
func (q *problem) sort() error {
	left := make([]int, len(q.Vertices))
	q.position = make([]int32, len(q.Vertices))
	for v := range left {
		if left[v] = len(q.in[v]); left[v] == 0 {
			q.order = append(q.order, int32(v))
		}
	}
	for k := 0; k < len(q.order); k++ {
		q.position[q.order[k]] = int32(k)
		for _, e := range q.out[q.order[k]] {
			to := q.Edges[e].To
			if left[to]--; left[to] == 0 {
				q.order = append(q.order, int32(to))
			}
		}
	}
	if k := slices.IndexFunc(left, func(n int) bool { return n > 0 }); k >= 0 {
		return fmt.Errorf("%w: %s is in a cycle, or behind one", ErrInvalid, q.Vertices[k].Name)
	}
	return nil
}

// average has the means that ranks are made of: formulas (2.11) to (2.13).
func (q *problem) average() {
	q.mean = make([]float64, len(q.Vertices))
	for v := range q.Vertices {
		n := 0
		for e := range q.on.Executors {
			for _, c := range q.ways(v) {
				if q.can(v, &c, e) {
					q.mean[v] += float64(c.Run[e])
					n++
				}
			}
		}
		q.mean[v] /= float64(max(n, 1))
	}
	pairs := 0
	for i := range q.on.Executors {
		q.latency += float64(q.on.Executors[i].Latency) / float64(len(q.on.Executors))
		for j, b := range q.on.Bandwidth[i] {
			if i != j {
				q.speed += float64(b) / float64(Second)
				pairs++
			}
		}
	}
	q.speed /= float64(max(pairs, 1))
}

// ways are the configurations of a vertex: of one that is no job, one that takes no time and nothing.
func (q *problem) ways(v int) []Configuration {
	if q.Vertices[v].Kind != Job {
		return q.nowhere
	}
	return q.Vertices[v].Configurations
}

// can tells that a vertex can be at an executor in that way.
func (q *problem) can(v int, c *Configuration, e int) bool {
	if q.Vertices[v].Kind != Job {
		return q.Vertices[v].At == e
	}
	return q.on.can(c, e)
}

// meanTransfer is that of an edge.
func (q *problem) meanTransfer(size int64) float64 {
	if size == 0 || q.speed == 0 {
		return 0
	}
	return q.latency + float64(size)/q.speed
}

// transfer is how long an amount of data takes from one executor to another: formula (2.30) as it is meant.
func (p *Platform) transfer(from, to int, size int64) Time {
	if from == to || size == 0 {
		return 0
	}
	b := p.Bandwidth[from][to]
	whole, rest := size/b, size%b
	if whole > int64(MaxTime/Second) {
		return MaxTime
	}
	part := float64(rest) / float64(b) * float64(Second)
	if rest < int64(Forever)/int64(Second) {
		part = float64((rest*int64(Second) + b - 1) / b)
	}
	return p.Executors[from].Latency + Time(whole)*Second + Time(part)
}

// upward are the mean times from the beginning of each vertex to the end of all that needs it, on the
// longest way.
func (q *problem) upward() []float64 {
	rank := make([]float64, len(q.Vertices))
	for _, v := range slices.Backward(q.order) {
		far := 0.0
		for _, e := range q.out[v] {
			far = max(far, q.meanTransfer(q.Edges[e].Size)+rank[q.Edges[e].To])
		}
		rank[v] = q.mean[v] + far
	}
	return rank
}

// downward are the mean times until each vertex can begin, on the longest way.
func (q *problem) downward() []float64 {
	rank := make([]float64, len(q.Vertices))
	for _, v := range q.order {
		for _, e := range q.in[v] {
			from := q.Edges[e].From
			rank[v] = max(rank[v], rank[from]+q.mean[from]+q.meanTransfer(q.Edges[e].Size))
		}
	}
	return rank
}

// byRank are all vertices, the highest rank first; among equals whoever is needed comes first.
func (q *problem) byRank(rank []float64) []int32 {
	list := slices.Clone(q.order)
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(rank[b], rank[a]), cmp.Compare(q.position[a], q.position[b]))
	})
	return list
}
