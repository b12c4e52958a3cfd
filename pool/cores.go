package pool

import (
	"slices"

	"gbroker/grid"
)

// cores are those of a computer in a plan: when each comes free, the first first.
type cores struct {
	free   []grid.Tick
	tenant string
}

func newCores(now grid.Tick, c *Computer) *cores {
	l := &cores{free: slices.Clone(c.PerCore), tenant: c.Tenant}
	for i := range l.free {
		l.free[i] = max(now, l.free[i])
	}
	slices.Sort(l.free)
	return l
}

// Width is how many cores of a computer a job takes: one for each core, and as many as have the memory that it asks for.
func (c *Computer) Width(j *Job) int {
	all := len(c.PerCore)
	if j.Whole {
		return all
	}
	n := max(int(j.Cores), 1)
	if c.Memory > 0 {
		n = max(n, int(float64(j.Memory)/float64(c.Memory)*float64(all)+1-1e-9))
	}
	return min(n, all)
}

// rooms is how many jobs can begin at an instant, at most.
func (c *Computer) rooms(now grid.Tick) (n int) {
	if c.PerCore == nil {
		if c.Free <= now {
			return 1
		}
		return 0
	}
	for _, free := range c.PerCore {
		if free <= now {
			n++
		}
	}
	return n
}

// start is when a job can begin on a computer of the plan.
func (s *shelf) start(i int, j *Job) grid.Tick {
	if s.cores == nil || s.cores[i] == nil {
		return max(s.free[i], j.NotBefore)
	}
	l := s.cores[i]
	if all := len(l.free); l.tenant != j.User {
		return max(l.free[all-1], j.NotBefore)
	}
	return max(l.free[s.computers[i].Width(j)-1], j.NotBefore)
}

// take puts a job onto a computer of the plan, from its start there to an end.
func (s *shelf) take(i int, j *Job, end grid.Tick) {
	if s.cores == nil || s.cores[i] == nil {
		s.free[i] = end
		return
	}
	l, start := s.cores[i], s.start(i, j)
	l.tenant = j.User
	for k := range l.free {
		l.free[k] = max(l.free[k], start) // what was free before is of no use any more
		if k < s.computers[i].Width(j) {
			l.free[k] = max(start, end)
		}
	}
	slices.Sort(l.free)
}
