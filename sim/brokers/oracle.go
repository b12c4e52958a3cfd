package brokers

import (
	"cmp"
	"slices"

	"gbroker/grid"
	"gbroker/sim/replay/counted"
)

// oracle is central: it knows what waits, runs and is on its way at each site, and how long each job really runs. For each
// job that arrives it runs the scheduler of every site forward with it, and takes the one where it ends first; of equal
// ones its home, then the first. Each job is placed once, and who comes later is not known.
type oracle struct {
	d         *direct
	order     []int // sites, the fastest first
	scheduler counted.Scheduler
	ends      counted.Ends
}

func newOracle(d *direct) *oracle {
	o := &oracle{d: d}
	for i := range d.r.w.Sites {
		o.order = append(o.order, i)
	}
	slices.SortStableFunc(o.order, func(a, b int) int { return cmp.Compare(d.r.sites[b].speed, d.r.sites[a].speed) })
	return o
}

// choose is the site where a job ends first.
func (o *oracle) choose(n int32) int {
	r := o.d.r
	j := &r.w.Jobs[n]
	best, least := -1, grid.Tick(0)
	consider := func(i int) {
		b := r.sites[i]
		if int32(j.Cores) > b.cores || i != j.Home && best >= 0 && (r.away[i] || r.away[j.Home]) {
			return
		}
		at := r.now
		if i != j.Home {
			at += r.delivery(j.Home, i, j.Bytes)
		}
		run := span(j.Run, b.speed)
		if best >= 0 && at+run >= least {
			return // however soon it started
		}
		if end := o.start(i, n, at) + run; best < 0 || end < least {
			best, least = i, end
		}
	}
	consider(j.Home)
	for _, i := range o.order {
		if i != j.Home {
			consider(i)
		}
	}
	return best
}

// start is when a job starts that comes to a site at an instant.
func (o *oracle) start(i int, n int32, at grid.Tick) grid.Tick {
	r, b := o.d.r, o.d.r.sites[i]
	coming := o.d.coming[i]
	j := &r.w.Jobs[n]
	if len(coming) == 0 && len(b.waiting) == 0 && int32(j.Cores) <= b.free {
		return at
	}
	o.scheduler.CopyFrom(b.scheduler)
	o.ends = o.ends[:0]
	for _, l := range b.running {
		o.ends.Push(counted.Ending{At: l.started + span(r.w.Jobs[l.n].Run, b.speed), Job: l.promise})
	}
	coming = insert(slices.Clone(coming), struct {
		at grid.Tick
		n  int32
	}{at, n})
	for now := r.now; ; now = o.next(coming) {
		for len(o.ends) > 0 && o.ends[0].At <= now {
			o.scheduler.End(now, o.ends.Pop())
		}
		for len(coming) > 0 && coming[0].at <= now {
			c := &r.w.Jobs[coming[0].n]
			o.scheduler.Arrive(counted.Job{Ref: coming[0].n, Cores: int32(c.Cores), Limit: limit(c, b.speed)})
			coming = coming[1:]
		}
		for _, h := range o.scheduler.Pass(now) {
			if h.Ref == n {
				return now
			}
			o.ends.Push(counted.Ending{At: now + span(r.w.Jobs[h.Ref].Run, b.speed), Job: h})
		}
	}
}

// next is the next instant at which something happens at the site that is run forward.
func (o *oracle) next(coming []coming) grid.Tick {
	at, ok := o.scheduler.Wake()
	if end, some := o.ends.First(); some && (!ok || end < at) {
		at, ok = end, true
	}
	if len(coming) > 0 && (!ok || coming[0].at < at) {
		at = coming[0].at
	}
	return at
}
