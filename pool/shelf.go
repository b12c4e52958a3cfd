package pool

import (
	"cmp"
	"slices"
	"sort"

	"gbroker/grid"
)

// Place is where and when a job would run.
type Place struct {
	Computer   int
	Start, End grid.Tick
}

// shelf is computers from the weakest to the strongest, the dedicated ones last, and when each comes free in a plan.
type shelf struct {
	rule      *Rule
	now       grid.Tick
	computers []Computer
	order     []int
	peaks     []float64   // the highest peak up to there
	free      []grid.Tick // by computer
	cores     []*cores    // by computer; nil of one that runs a job at a time
	last      int         // the computer that ended a job first when that was asked last
}

func newShelf(now grid.Tick, r *Rule, computers []Computer) *shelf {
	n := len(computers)
	s := &shelf{rule: r, now: now, computers: computers, order: make([]int, n), peaks: make([]float64, n), free: make([]grid.Tick, n)}
	for i := range computers {
		s.order[i], s.free[i] = i, max(now, computers[i].Free)
		if computers[i].PerCore != nil {
			if s.cores == nil {
				s.cores = make([]*cores, n)
			}
			s.cores[i] = newCores(now, &computers[i])
		}
	}
	slices.SortFunc(s.order, func(a, b int) int {
		x, y := &computers[a], &computers[b]
		if x.Dedicated != y.Dedicated {
			if y.Dedicated {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(x.Forecast.mean, y.Forecast.mean), cmp.Compare(a, b))
	})
	peak := 0.0
	for i, c := range s.order {
		peak = max(peak, computers[c].Forecast.peak)
		s.peaks[i] = peak
	}
	return s
}

// clone is a shelf whose computers come free on their own.
func (s *shelf) clone() *shelf {
	c := *s
	c.free, c.cores = slices.Clone(s.free), slices.Clone(s.cores)
	for i, l := range c.cores {
		if l != nil {
			c.cores[i] = &cores{free: slices.Clone(l.free), tenant: l.tenant}
		}
	}
	return &c
}

// find is where a job runs in time: for a rule of best fit the weakest computer, else, and for a job without a deadline,
// the one that ends it first. With present only those are looked at that are free now.
func (s *shelf) find(j *Job, present bool) (Place, bool) {
	if j.Deadline == 0 || s.rule.Fit == AnyFit {
		p := s.soonest(j, present)
		return p, p.End < Never && (j.Deadline == 0 || !s.rule.InTime || s.inTime(j, p))
	}
	for at := sort.SearchFloat64s(s.peaks, j.need(s.now)); at < len(s.order); at++ {
		i := s.order[at]
		c := &s.computers[i]
		start := s.start(i, j)
		if present && start > s.now || !reaches(c, start, j) || c.Lacks(j) != "" {
			continue
		}
		if end, ok := s.rule.ends(c, j, start); ok {
			return Place{i, start, end}, true
		}
	}
	return Place{}, false
}

func (s *shelf) inTime(j *Job, p Place) bool {
	_, ok := s.rule.ends(&s.computers[p.Computer], j, p.Start)
	return ok
}

// soonest is where a job ends first, one with a deadline with the margin of safety; under a rule of best fit on a dedicated computer
// only if it ends on no other.
func (s *shelf) soonest(j *Job, present bool) Place {
	best := Place{End: Never}
	work := j.Work
	if j.Deadline != 0 {
		work *= 1 + s.rule.Margin
	}
	safe := s.hint(j, present, work)
	for _, i := range s.order {
		c := &s.computers[i]
		if s.rule.Fit == BestFit && c.Dedicated && best.End < Never && !s.computers[best.Computer].Dedicated {
			break
		}
		start := s.start(i, j)
		if present && start > s.now || !c.betters(safe, start, work) || c.Lacks(j) != "" {
			continue
		}
		if end := c.Forecast.End(start, work); end < safe {
			best, safe = Place{i, start, c.Forecast.End(start, j.Work)}, end
		}
	}
	s.last = best.Computer
	return best
}

// hint is an instant before which some computer ends the work: what cannot is passed over at little cost. One that is dedicated says nothing of the others.
func (s *shelf) hint(j *Job, present bool, work float64) grid.Tick {
	if len(s.computers) == 0 {
		return Never
	}
	c, start := &s.computers[s.last], s.start(s.last, j)
	if c.Dedicated || present && start > s.now || c.Lacks(j) != "" {
		return Never
	}
	if end := c.Forecast.End(start, work); end < Never {
		return end + 1
	}
	return Never
}

// betters tells, at little cost, whether c could end work before an instant if it always had the best performance foreseen.
func (c *Computer) betters(end, from grid.Tick, work float64) bool {
	return end == Never || c.Forecast.peak*float64(end-from+slop) >= 1000*work
}

// slop is for what floats round, in ticks.
const slop = 2

// need is the performance that would still end j in time.
func (j *Job) need(now grid.Tick) float64 {
	return 1000 * j.Work / float64(max(j.Deadline-now+slop, 1))
}

// reaches tells, at little cost, whether c could end j in time if it always had the best performance foreseen.
func reaches(c *Computer, from grid.Tick, j *Job) bool {
	return j.Deadline == 0 || c.Forecast.peak*float64(j.Deadline-from+slop) >= 1000*j.Work
}
