package flow

// Bounds are ends before which no plan of a graph can.
type Bounds struct {
	Path Time // the longest way through the graph, each job at its fastest, without transfers
	Work Time // what all jobs take at the least of some resource, over what there is of it
}

// Least is the later of them.
func (b Bounds) Least() Time { return max(b.Path, b.Work) }

// LowerBounds finds them.
func LowerBounds(g *Graph, p *Platform) (Bounds, error) {
	q, err := newProblem(g, p)
	if err != nil {
		return Bounds{}, err
	}
	return Bounds{Path: q.longest(), Work: q.work()}, nil
}

func (q *problem) longest() (last Time) {
	end := make([]Time, len(q.Vertices))
	for _, v := range q.order {
		end[v] = q.Vertices[v].Release
		for _, k := range q.in[v] {
			end[v] = max(end[v], end[q.Edges[k].From])
		}
		fast := Forever
		for e := range q.on.Executors {
			for c := range q.ways(int(v)) {
				if way := &q.ways(int(v))[c]; q.can(int(v), way, e) {
					fast = min(fast, way.Run[e])
				}
			}
		}
		end[v] += fast
		last = max(last, end[v])
	}
	return last
}

// work is the best of some bounds by each resource. Let any weights y of the executors be such that the sum of y times
// capacity is 1. In a plan that ends at T each executor gives at most T times its capacity, so T is at least the
// sum over jobs of the least y(e) times need times run. Weights that are equal count amounts; weights by speed
// count the work of executors that are each so much faster for all jobs.
func (q *problem) work() (bound Time) {
	equal := make([]float64, len(q.on.Executors))
	for e := range equal {
		equal[e] = 1
	}
	for r := range q.on.Resources {
		for _, y := range [][]float64{equal, q.speeds()} {
			sum, capacity := 0.0, 0.0
			for e := range y {
				capacity += y[e] * float64(q.on.Executors[e].Capacity[r])
			}
			for v := range q.Vertices {
				sum += q.leastWork(v, r, y)
			}
			if capacity > 0 {
				bound = max(bound, Time(sum/capacity))
			}
		}
	}
	return bound
}

// leastWork is the least weighted amount and time of a resource that a vertex takes.
func (q *problem) leastWork(v, r int, y []float64) float64 {
	least, any := 0.0, false
	for c := range q.ways(v) {
		way, need := &q.ways(v)[c], int64(0)
		if r < len(way.Needs) {
			need = way.Needs[r]
		}
		for e := range y {
			if !q.can(v, way, e) {
				continue
			}
			if w := y[e] * float64(need) * float64(way.Run[e]); !any || w < least {
				least, any = w, true
			}
		}
	}
	return least
}

// speeds are of each executor the fastest run time over its own, in the mean over jobs.
func (q *problem) speeds() []float64 {
	sum, n := make([]float64, len(q.on.Executors)), make([]float64, len(q.on.Executors))
	for v := range q.Vertices {
		fast := Forever
		for e := range sum {
			fast = min(fast, Time(min(q.fastest(v, e), float64(Forever))))
		}
		for e := range sum {
			if t := q.fastest(v, e); q.Vertices[v].Kind == Job && t > 0 && t < float64(Forever) {
				sum[e], n[e] = sum[e]+float64(fast)/t, n[e]+1
			}
		}
	}
	for e := range sum {
		sum[e] /= max(n[e], 1)
	}
	return sum
}
