package plan

import (
	"slices"

	"gbroker/grid"
)

// steps is free capacity over time: a step function that ends at all of it. It is
// kept without equal neighbours.
type steps struct {
	points []step
	first  int // the point that holds now; those before it are past
}

// step is what is free from an instant until the next step.
type step struct {
	at   grid.Tick
	free int32
}

func (s *steps) reset(now grid.Tick, free int32) {
	s.points, s.first = append(s.points[:0], step{now, free}), 0
}

func (s *steps) copyFrom(o *steps) {
	s.points, s.first = append(s.points[:0], o.points[o.first:]...), 0
}

// advance forgets what lies before now.
func (s *steps) advance(now grid.Tick) {
	for s.first+1 < len(s.points) && s.points[s.first+1].at <= now {
		s.first++
	}
	if s.first > 64 && s.first > len(s.points)/2 {
		s.points = slices.Delete(s.points, 0, s.first)
		s.first = 0
	}
}

// holding is the index of the step that holds t, which is not past.
func (s *steps) holding(t grid.Tick) int {
	low, high := s.first, len(s.points)
	for high-low > 1 {
		if mid := int(uint(low+high) / 2); s.points[mid].at <= t {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// split makes a step begin at t and returns its index.
func (s *steps) split(t grid.Tick) int {
	i := s.holding(t)
	if s.points[i].at >= t {
		return i
	}
	s.points = slices.Insert(s.points, i+1, step{t, s.points[i].free})
	return i + 1
}

// add makes n more free from one instant until another; fewer where n is negative.
func (s *steps) add(from, to grid.Tick, n int32) {
	if from >= to {
		return
	}
	i := s.split(from)
	j := s.split(to)
	for k := i; k < j; k++ {
		s.points[k].free += n
	}
	s.merge(j)
	s.merge(i)
}

// merge forgets step i where it is as the one before.
func (s *steps) merge(i int) {
	if i > s.first && s.points[i].free == s.points[i-1].free {
		s.points = slices.Delete(s.points, i, i+1)
	}
}

// earliest is the first instant from now on from which n are free for a time d. At
// the last step n must be free.
func (s *steps) earliest(now grid.Tick, n int32, d grid.Tick) grid.Tick {
	start, _ := s.before(now, n, d, never)
	return start
}

// before is the first instant from now on, and before an end, from which n are free
// for a time d or until that end.
func (s *steps) before(now grid.Tick, n int32, d, end grid.Tick) (grid.Tick, bool) {
	points := s.points[s.first:]
	for k := 0; k < len(points); k++ {
		if points[k].free < n {
			continue
		}
		start := max(points[k].at, now)
		if start >= end {
			return end, false
		}
		until := min(start+d, end)
		for k++; ; k++ {
			if k == len(points) || points[k].at >= until {
				return start, true
			}
			if points[k].free < n {
				break
			}
		}
	}
	return end, false
}

// never is later than any instant.
const never = grid.Tick(1) << 62
