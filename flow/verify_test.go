package flow

import (
	"math"
)

// verify holds a schedule to the model: nothing has more of an executor than there is at any instant, each GPU has one
// user, data are there before use, nothing starts before its release, each run is as long as it says.
func verify(t interface{ Fatalf(string, ...any) }, g *Graph, p *Platform, s *Schedule) {
	all := append(append([]Placement{}, s.Placements...), s.Copies...)
	verifyRoom(t, g, p, all)
	for _, to := range all {
		v := &g.Vertices[to.Vertex]
		run := Time(0)
		if v.Kind == Job {
			run = v.Configurations[to.Configuration].Run[to.Executor]
		} else if to.Executor != v.At {
			t.Fatalf("%d is at %d, not at %d", to.Vertex, to.Executor, v.At)
		}
		if run < 0 || to.End-to.Start != run || to.Start < v.Release || to.End > s.Makespan {
			t.Fatalf("%+v: its run is %d, its release %d, the end %d", to, run, v.Release, s.Makespan)
		}
		for _, e := range g.Edges {
			if e.To == to.Vertex && there(p, all, e, to.Executor) > to.Start {
				t.Fatalf("%+v starts before the data of %d are there", to, e.From)
			}
		}
	}
}

// there is when the first copy of what an edge carries is at an executor.
func there(p *Platform, all []Placement, e Edge, at int) Time {
	first := Forever
	for _, from := range all {
		if from.Vertex != e.From {
			continue
		}
		t := from.End
		if from.Executor != at && e.Size > 0 {
			t += p.Executors[from.Executor].Latency + Time(math.Ceil(float64(e.Size)*1e6/float64(p.Bandwidth[from.Executor][at])))
		}
		first = min(first, t)
	}
	return first
}

func verifyRoom(t interface{ Fatalf(string, ...any) }, g *Graph, p *Platform, all []Placement) {
	type user struct {
		from, to Time
		amounts  []int64
		gpus     []int
	}
	for e := range p.Executors {
		x := &p.Executors[e]
		var users []user
		for _, k := range x.Taken {
			users = append(users, user{k.From, k.To, k.Amounts, k.GPUs})
		}
		for _, at := range all {
			if at.Executor == e && g.Vertices[at.Vertex].Kind == Job && at.End > at.Start {
				c := &g.Vertices[at.Vertex].Configurations[at.Configuration]
				if len(at.GPUs) != c.GPUs {
					t.Fatalf("%+v has %d GPUs, not %d", at, len(at.GPUs), c.GPUs)
				}
				users = append(users, user{at.Start, at.End, c.Needs, at.GPUs})
			}
		}
		for i, u := range users { // what is in use is the most where somebody begins
			if i < len(x.Taken) {
				continue
			}
			use, gpus := make([]int64, len(x.Capacity)), map[int]int{}
			for _, o := range users {
				if o.from > u.from || o.to <= u.from {
					continue
				}
				for r, n := range o.amounts {
					use[r] += n
				}
				for _, k := range o.gpus {
					gpus[k]++
				}
			}
			for r, n := range use {
				if n > x.Capacity[r] {
					t.Fatalf("at %d %d of %d are in use at executor %d", u.from, n, x.Capacity[r], e)
				}
			}
			for k, n := range gpus {
				if n > 1 {
					t.Fatalf("at %d GPU %d of executor %d has %d users", u.from, k, e, n)
				}
			}
		}
		for i := range users { // nor does anything taken begin while a job has the same
			for j := range users {
				if i != j && users[i].from < users[j].to && users[j].from < users[i].to && shares(users[i].gpus, users[j].gpus) {
					t.Fatalf("two users of one GPU at executor %d", e)
				}
			}
			over := make([]int64, len(x.Capacity))
			for _, o := range users {
				if o.from <= users[i].from && users[i].from < o.to {
					for r, n := range o.amounts {
						over[r] += n
					}
				}
			}
			for r, n := range over {
				if n > x.Capacity[r] {
					t.Fatalf("at %d %d of %d are in use at executor %d", users[i].from, n, x.Capacity[r], e)
				}
			}
		}
	}
}

func shares(a, b []int) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}

// verifyAll holds instances of one graph to the model, all together.
func verifyAll(t interface{ Fatalf(string, ...any) }, g *Graph, p *Platform, list []Instance) {
	var all []Placement
	used := map[[2]int]bool{}
	for n := range list {
		i := &list[n]
		moved := &Graph{Vertices: append([]Vertex{}, g.Vertices...), Edges: g.Edges}
		for v, k := range i.Data {
			if used[[2]int{v, k}] {
				t.Fatalf("instance %d takes data %d of source %d, which an earlier one took", n, k, v)
			}
			used[[2]int{v, k}] = true
			moved.Vertices[v].Release = g.Vertices[v].Instant(k)
			if at := i.Placements[v].Start; at != moved.Vertices[v].Release {
				t.Fatalf("instance %d: the data %d of source %d are there at %d, not %d", n, k, v, moved.Vertices[v].Release, at)
			}
		}
		verify(t, moved, p, i.Schedule)
		all = append(all, i.Placements...)
	}
	verifyRoom(t, g, p, all)
}
