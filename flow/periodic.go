package flow

import (
	"errors"
	"fmt"
	"math/bits"
)

// Instance is one run of a periodic graph.
type Instance struct {
	*Schedule
	From Time        // the instant of the slowest source's data: its placements are instants of the same clock
	Data map[int]int // by source: which of its data instances it takes
	Late bool        // it ends later than its deadline
}

// Duration is how long it takes, from the data of the slowest source to the end of all.
func (i *Instance) Duration() Time { return i.Makespan - i.From }

// Pipeline is what to plan of a periodic graph.
type Pipeline struct {
	Count    int  // instances
	Deadline Time // of each, a span; 0 is none
}

// MaxInstances bounds what is planned at once.
const MaxInstances = 100_000

// ErrOverload says that the sources ask for more than the executors can give.
var ErrOverload = errors.New("the throughput cannot be sustained")

// Instant is when the k-th data instance of a source is there, from 0 on.
func (v *Vertex) Instant(k int) Time {
	if v.Rate == 0 {
		return v.Release
	}
	per := v.Per
	if per == 0 {
		per = Second
	}
	high, low := bits.Mul64(uint64(k), uint64(per))
	if high >= uint64(v.Rate) {
		return Forever
	}
	t, _ := bits.Div64(high, low, uint64(v.Rate))
	if t > uint64(Forever)/2 {
		return Forever
	}
	return v.Release + Time(t)
}

// PlanPeriodic plans the instances of a graph one after another, each beside those before it. Where they take ever longer,
// the error is [ErrOverload] and names what is short; what was planned is told too.
func PlanPeriodic(g *Graph, p *Platform, o Pipeline) ([]Instance, error) {
	q, err := newProblem(g, p)
	if err != nil {
		return nil, err
	}
	slowest := q.slowest()
	if slowest < 0 || o.Count < 1 || o.Count > MaxInstances {
		return nil, fmt.Errorf("%w: %d instances of a graph whose slowest source is %d: 1 to %d, of one with a source that has a rate", ErrInvalid, o.Count, slowest, MaxInstances)
	}
	w := &pipeline{planner: newPlanner(q), order: q.byRank(q.upward()), slowest: slowest, used: make(map[int]int)}
	list := make([]Instance, 0, o.Count)
	for n := range o.Count {
		i, err := w.instance(n)
		if err != nil {
			return list, err
		}
		i.Late = o.Deadline > 0 && i.Duration() > o.Deadline
		list = append(list, i)
	}
	return list, q.sustained(list)
}

// slowest is the source whose data come the most seldom; -1 where none has a rate.
func (q *problem) slowest() int {
	best := -1
	for v := range q.Vertices {
		if q.Vertices[v].Kind == Source && q.Vertices[v].Rate > 0 && (best < 0 || q.Vertices[v].interval() > q.Vertices[best].interval()) {
			best = v
		}
	}
	return best
}

// interval is the mean time between two data instances of a source.
func (v *Vertex) interval() float64 {
	per := v.Per
	if per == 0 {
		per = Second
	}
	return float64(per) / float64(v.Rate)
}

// pipeline plans instance after instance.
type pipeline struct {
	*planner
	order   []int32
	slowest int
	used    map[int]int // by source: 1 more than the last data instance that was used
}

func (w *pipeline) instance(n int) (Instance, error) {
	from := w.Vertices[w.slowest].Instant(n)
	if from >= Forever {
		return Instance{}, fmt.Errorf("%w: instance %d is later than any instant", ErrInvalid, n)
	}
	i := Instance{From: from, Data: map[int]int{}}
	w.forget()
	for v := range w.Vertices {
		s := &w.Vertices[v]
		switch {
		case s.Kind == Source && s.Rate > 0:
			i.Data[v] = w.freshest(v, from)
			w.release[v] = s.Instant(i.Data[v])
		case len(w.in[v]) == 0:
			w.release[v] = max(s.Release, from)
		}
	}
	for _, v := range w.order {
		w.place(w.earliest(int(v), nil))
	}
	for v, k := range i.Data {
		i.Data[v] = w.fresher(v, k)
		w.used[v] = i.Data[v] + 1
	}
	i.Schedule = w.schedule()
	if i.Makespan >= Forever {
		return i, fmt.Errorf("%w: what is taken of the executors for ever leaves no room for instance %d", ErrInvalid, n)
	}
	return i, nil
}

// freshest is the latest data instance of a source that is there at an instant and was not used; the next one if there is
// none.
func (w *pipeline) freshest(v int, at Time) int {
	s, k := &w.Vertices[v], w.used[v]
	if v == w.slowest {
		for s.Instant(k) < at {
			k++
		}
		return k
	}
	for s.Instant(k+1) <= at {
		k++
	}
	return k
}

// fresher is the latest data instance of a source that all who use it can still have when they start.
func (w *pipeline) fresher(v, k int) int {
	if v == w.slowest || len(w.out[v]) == 0 {
		return k
	}
	s := &w.Vertices[v]
	for ; ; k++ {
		w.at[v].Start = s.Instant(k + 1)
		w.at[v].End = w.at[v].Start
		for _, e := range w.out[v] {
			edge := &w.Edges[e]
			if to := &w.at[edge.To]; w.arrive(edge, to.Executor) > to.Start {
				w.at[v].Start = s.Instant(k)
				w.at[v].End = w.at[v].Start
				return k
			}
		}
	}
}

// sustained looks whether instances take longer and longer: then what is asked for is more than there is of something,
// and that of which the most is used is named.
func (q *problem) sustained(list []Instance) error {
	n := len(list)
	if n < 8 {
		return nil
	}
	before, after := longestOf(list[n/4:n/2]), longestOf(list[3*n/4:])
	if after <= before || after-before < q.drift(list) {
		return nil
	}
	where, use := q.bottleneck(list[n/2:])
	return fmt.Errorf("%w: an instance takes %d us at first and %d us later; the bottleneck is %s, of which %.0f %% is in use", ErrOverload, before, after, where, 100*use)
}

// drift is what is not yet growth: instants of sources are rounded, and several rates have a common period.
func (q *problem) drift(list []Instance) Time {
	return (list[len(list)-1].From - list[0].From) / Time(20*len(list))
}

func longestOf(list []Instance) (most Time) {
	for i := range list {
		most = max(most, list[i].Duration())
	}
	return most
}

// bottleneck is the resource of which the most is in use by some instances, over the time in which they end.
func (q *problem) bottleneck(list []Instance) (name string, most float64) {
	from, to := list[0].Makespan, list[len(list)-1].Makespan
	for e := range q.on.Executors {
		x := &q.on.Executors[e]
		for r, capacity := range x.Capacity {
			use := q.use(list, e, func(c *Configuration) int64 {
				if r < len(c.Needs) {
					return c.Needs[r]
				}
				return 0
			})
			if part := use / float64(to-from) / float64(max(capacity, 1)); part > most {
				name, most = q.on.Resources[r]+" of "+x.Name, part
			}
		}
		gpus := q.use(list, e, func(c *Configuration) int64 { return int64(c.GPUs) })
		if part := gpus / float64(to-from) / float64(max(len(x.GPUs), 1)); part > most {
			name, most = "the GPUs of "+x.Name, part
		}
	}
	return name, min(most, 1)
}

// use is what some instances take of an executor, times how long.
func (q *problem) use(list []Instance, e int, amount func(*Configuration) int64) (sum float64) {
	for i := range list {
		for _, at := range list[i].Placements {
			if at.Executor == e {
				sum += float64(amount(&q.ways(at.Vertex)[at.Configuration])) * float64(at.End-at.Start)
			}
		}
	}
	return sum
}
