package pool

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"gbroker/grid"
)

// Assignment is one job on one computer, by their places in what was given, and when it is expected to end.
type Assignment struct {
	Job, Computer int
	End           grid.Tick
}

// Assign says which of the waiting jobs begin now on which of the computers that are free. Computers that are busy
// are told too, with when they come free. Chance is looked at where a rule draws a computer.
func (r Rule) Assign(now grid.Tick, computers []Computer, jobs []Job, chance *rand.Rand) []Assignment {
	free := freeAt(now, computers)
	if len(free) == 0 || len(jobs) == 0 {
		return nil
	}
	if r.Fit == AnyFit {
		return r.byComputer(now, computers, free, jobs, chance)
	}
	return r.byJob(now, computers, free, jobs)
}

func freeAt(now grid.Tick, computers []Computer) (free []int) {
	for i := range computers {
		if computers[i].Free <= now {
			free = append(free, i)
		}
	}
	return free
}

// byComputer gives each computer, in an order drawn by chance, the first job that is for it.
func (r *Rule) byComputer(now grid.Tick, computers []Computer, free []int, jobs []Job, chance *rand.Rand) (out []Assignment) {
	order := r.order(now, computers, jobs)
	chance.Shuffle(len(free), func(i, k int) { free[i], free[k] = free[k], free[i] })
	for _, c := range free {
		at := slices.IndexFunc(order, func(j int) bool { return r.takes(now, &computers[c], &jobs[j]) })
		if at < 0 {
			continue
		}
		j := order[at]
		out = append(out, Assignment{j, c, computers[c].Forecast.End(now, jobs[j].Work)})
		if order = slices.Delete(order, at, at+1); len(order) == 0 {
			break
		}
	}
	return out
}

// takes tells whether a rule would begin j on c now.
func (r *Rule) takes(now grid.Tick, c *Computer, j *Job) bool {
	if r.InTime && !reaches(c, now, j) || c.Lacks(j) != "" {
		return false
	}
	_, inTime := r.ends(c, j, now)
	return inTime || !r.InTime
}

// reaches tells, at little cost, whether c could end j in time if it always had the best performance foreseen. Two ticks are for rounding.
func reaches(c *Computer, now grid.Tick, j *Job) bool {
	return j.Deadline == 0 || c.Forecast.peak*float64(j.Deadline-now+2) >= 1000*j.Work
}

// byJob gives each job, in the rule's order, the weakest computer that ends it in time.
func (r *Rule) byJob(now grid.Tick, computers []Computer, free []int, jobs []Job) (out []Assignment) {
	s := newShelf(computers, free)
	for _, j := range r.order(now, computers, jobs) {
		if s.left == 0 {
			break
		}
		at := s.first(now, &jobs[j], func(c *Computer) bool { return r.takes(now, c, &jobs[j]) })
		if at < 0 {
			continue
		}
		c := s.take(at)
		out = append(out, Assignment{j, c, computers[c].Forecast.End(now, jobs[j].Work)})
	}
	return out
}

// shelf is free computers from the weakest to the strongest, the dedicated ones last.
type shelf struct {
	computers []Computer
	order     []int     // -1 is taken
	peaks     []float64 // the highest peak up to there
	left      int
}

func newShelf(computers []Computer, free []int) *shelf {
	s := &shelf{computers: computers, order: free, left: len(free), peaks: make([]float64, len(free))}
	slices.SortFunc(free, func(a, b int) int {
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
	for i, c := range free {
		peak = max(peak, computers[c].Forecast.peak)
		s.peaks[i] = peak
	}
	return s
}

// first is the place of the first computer that will do; -1 if none will. Those that cannot reach the deadline are passed over at once.
func (s *shelf) first(now grid.Tick, j *Job, will func(*Computer) bool) int {
	from := 0
	if j.Deadline != 0 {
		need := 1000 * j.Work / float64(max(j.Deadline-now+2, 1))
		from, _ = slices.BinarySearch(s.peaks, need)
	}
	for i := from; i < len(s.order); i++ {
		if c := s.order[i]; c >= 0 && will(&s.computers[c]) {
			return i
		}
	}
	return -1
}

// take takes what stands at a place.
func (s *shelf) take(at int) int {
	c := s.order[at]
	s.order[at] = -1
	s.left--
	return c
}
