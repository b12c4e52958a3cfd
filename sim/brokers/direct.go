package brokers

import (
	"math/rand/v2"

	"gbroker/grid"
)

// direct places each job once, at its arrival, without brokers.
type direct struct {
	r      *run
	choose func(n int32) int
	coming [][]coming // by site: what was sent there and has not arrived, by its arrival
}

// coming is a job on its way to a site.
type coming struct {
	at grid.Tick
	n  int32
}

func newDirect(r *run) *direct {
	d := &direct{r: r, coming: make([][]coming, len(r.w.Sites))}
	random := rand.New(rand.NewPCG(r.w.Seed, 0))
	switch r.w.Brokering.Rule {
	case Random:
		d.choose = func(n int32) int { return d.random(random, n) }
	case LeastLoaded:
		d.choose = d.leastLoaded
	case Oracle:
		o := newOracle(d)
		d.choose = o.choose
	default:
		d.choose = func(n int32) int { return r.w.Jobs[n].Home }
	}
	return d
}

// arrive sends a job where it is to run.
func (d *direct) arrive(n int32) {
	r := d.r
	to, j := d.choose(n), &r.w.Jobs[n]
	b := r.sites[to]
	l := &local{n: n, limit: limit(j, b.speed)}
	if to == j.Home {
		b.arrive(l)
		return
	}
	r.result.Moves++
	r.result.Messages++
	r.result.Jobs[n].Moves++
	at := r.now + r.delivery(j.Home, to, j.Bytes)
	d.coming[to] = insert(d.coming[to], coming{at, n})
	r.at(at, func() {
		if r.result.Jobs[n].Cancelled {
			return
		}
		d.arrived(to, n)
		b.arrive(l)
	})
}

func insert(list []coming, c coming) []coming {
	list = append(list, c)
	for i := len(list) - 1; i > 0 && list[i-1].at > c.at; i-- {
		list[i], list[i-1] = list[i-1], c
	}
	return list
}

// cancel takes a job from where it is.
func (d *direct) cancel(n int32) {
	for to, b := range d.r.sites {
		if b.kill(n) {
			if d.r.result.Jobs[n].End == 0 { // it waited
				d.r.cancelled(n)
			}
			return
		}
		for _, c := range d.coming[to] {
			if c.n == n {
				d.arrived(to, n)
				d.r.cancelled(n)
				return
			}
		}
	}
}

func (d *direct) arrived(to int, n int32) {
	list := d.coming[to]
	for i := range list {
		if list[i].n == n {
			d.coming[to] = append(list[:i], list[i+1:]...)
			return
		}
	}
}

// delivery is how long a job takes on its way.
func (r *run) delivery(from, to int, bytes int64) grid.Tick {
	if r.w.Delivery > 0 || from == to {
		return r.w.Delivery
	}
	if r.w.Link == nil {
		return 0
	}
	l := r.w.Link(from, to)
	if l.Bandwidth <= 0 {
		return l.Latency
	}
	return l.Latency + grid.FromSeconds(float64(bytes)/l.Bandwidth)
}

// able are the home and those of its members that could ever run a job.
func (d *direct) able(n int32) []int {
	j, w := &d.r.w.Jobs[n], &d.r.w
	var list []int
	if j.Cores <= w.Sites[j.Home].Cores {
		list = append(list, j.Home)
	}
	if len(w.Members) > 0 && (!d.r.away[j.Home] || len(list) == 0) {
		for _, m := range w.Members[j.Home] {
			if j.Cores <= w.Sites[m].Cores && !(d.r.away[m] && len(list) > 0) {
				list = append(list, m)
			}
		}
	}
	return list
}

func (d *direct) random(random *rand.Rand, n int32) int {
	list := d.able(n)
	return list[random.IntN(len(list))]
}

// leastLoaded is the one with the least cores asked for of each that it has, by what runs, waits and is on its way.
func (d *direct) leastLoaded(n int32) int {
	best, least := -1, 0.0
	for _, s := range d.able(n) {
		b := d.r.sites[s]
		asked := int64(b.cores - b.free)
		for _, l := range b.waiting {
			asked += int64(l.cores)
		}
		for _, c := range d.coming[s] {
			asked += int64(d.r.w.Jobs[c.n].Cores)
		}
		if load := float64(asked) / float64(b.cores); best < 0 || load < least {
			best, least = s, load
		}
	}
	return best
}
