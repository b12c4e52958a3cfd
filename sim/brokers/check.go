package brokers

import (
	"fmt"
	"math"

	"gbroker/grid"
)

// maxSites bounds the sites of a world.
const maxSites = 1_000_000

// check says what makes no sense in a world.
func (w *World) check() error {
	if n := len(w.Sites); n == 0 || n > maxSites {
		return fmt.Errorf("a world has 1 to %d sites, not %d", maxSites, n)
	}
	for i := range w.Sites {
		if s := &w.Sites[i]; s.Cores < 1 || s.Cores > 1<<30 || s.Speed < 0 || math.IsNaN(s.Speed) || math.IsInf(s.Speed, 0) {
			return fmt.Errorf("site %d (%s): it has at least one core and a speed above 0", i, s.Name)
		}
	}
	if err := w.checkMembers(); err != nil {
		return err
	}
	last := grid.Tick(0)
	for i := range w.Jobs {
		j := &w.Jobs[i]
		switch {
		case j.Home < 0 || j.Home >= len(w.Sites):
			return fmt.Errorf("job %d: there is no site %d", i, j.Home)
		case j.Arrival < last:
			return fmt.Errorf("job %d arrives before the one before it", i)
		case j.Cores < 1 || j.Run < 0 || j.Limit < 1:
			return fmt.Errorf("job %d: it needs at least one core and a limit of at least a millisecond", i)
		case !w.fits(i):
			return fmt.Errorf("job %d asks for %d cores, which no site has that it may come to", i, j.Cores)
		}
		last = j.Arrival
	}
	return nil
}

func (w *World) checkMembers() error {
	if len(w.Members) != 0 && len(w.Members) != len(w.Sites) {
		return fmt.Errorf("there are members of %d sites, and %d sites", len(w.Members), len(w.Sites))
	}
	has := map[[2]int]bool{}
	for i, list := range w.Members {
		for _, m := range list {
			if m < 0 || m >= len(w.Sites) || m == i || has[[2]int{i, m}] {
				return fmt.Errorf("site %d: %d is no member that it can have", i, m)
			}
			has[[2]int{i, m}] = true
		}
	}
	for pair := range has {
		if !has[[2]int{pair[1], pair[0]}] {
			return fmt.Errorf("site %d is a member of site %d, and not the other way round", pair[1], pair[0])
		}
	}
	return nil
}

// fits tells that a job may come to a site that can run it.
func (w *World) fits(n int) bool {
	j := &w.Jobs[n]
	if j.Cores <= w.Sites[j.Home].Cores {
		return true
	}
	switch {
	case j.Local || w.Brokering.Rule == None:
	case w.Brokering.Rule == Oracle:
		for i := range w.Sites {
			if j.Cores <= w.Sites[i].Cores {
				return true
			}
		}
	case len(w.Members) > 0:
		for _, m := range w.Members[j.Home] {
			if j.Cores <= w.Sites[m].Cores {
				return true
			}
		}
	}
	return false
}

// started is told of each start.
func (r *run) started(b *batch, l *local) {
	e := &r.result.Jobs[l.n]
	switch {
	case e.Site >= 0:
		r.fail(fmt.Errorf("job %d starts at %s, and had started at %s", l.n, r.w.Sites[b.site].Name, r.w.Sites[e.Site].Name))
	case e.Cancelled:
		r.fail(fmt.Errorf("job %d starts at %s, and was given up before", l.n, r.w.Sites[b.site].Name))
	case b.free < 0:
		r.fail(fmt.Errorf("job %d starts at %s, where %d cores too many are taken then", l.n, r.w.Sites[b.site].Name, -b.free))
	}
	e.Site, e.Start = b.site, r.now-epoch
	r.spareOthers(l.n)
}

// ended is told of each end.
func (r *run) ended(b *batch, l *local) {
	e := &r.result.Jobs[l.n]
	if l.killed {
		r.cancelled(l.n)
	} else {
		e.End = r.now - epoch
		r.alive, r.result.End = r.now, e.End
		r.result.Done++
	}
	r.result.Busy[b.site] += float64(l.cores) * (l.ended - l.started).Seconds()
}

// conserved says what was lost or won in a run that has come to its end.
func (r *run) conserved() error {
	asked := make([]float64, len(r.w.Sites))
	for i := range r.result.Jobs {
		e, j := &r.result.Jobs[i], &r.w.Jobs[i]
		if e.Cancelled {
			if e.Site >= 0 {
				asked[e.Site] += float64(j.Cores) * (e.End - e.Start).Seconds()
			}
			continue
		}
		if e.Site < 0 || e.End == 0 && j.Arrival > 0 || e.Start < e.Arrival {
			return fmt.Errorf("job %d came at %d, started at %d and ended at %d", i, e.Arrival, e.Start, e.End)
		}
		asked[e.Site] += float64(j.Cores) * span(j.Run, r.sites[e.Site].speed).Seconds()
	}
	for i, b := range r.sites {
		if b.free != b.cores || math.Abs(asked[i]-r.result.Busy[i]) > 1e-9*asked[i]+1e-6 {
			return fmt.Errorf("site %d has worked %f core-seconds of %f asked, and %d of its %d cores are free at the end", i, r.result.Busy[i], asked[i], b.free, b.cores)
		}
	}
	return nil
}
