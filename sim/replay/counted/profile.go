package counted

import (
	"math"
	"slices"

	"gbroker/grid"
)

// profile is free capacity over time: a step function that ends at all of it. It is
// kept without equal neighbours.
type profile struct {
	points []step
	first  int // the point that holds now; those before it are past
	fresh  []step
}

// step is what is free from an instant until the next step.
type step struct {
	at   grid.Tick
	free int32
}

func (s *profile) reset(now grid.Tick, free int32) {
	s.points, s.first = append(s.points[:0], step{now, free}), 0
}

func (s *profile) copyFrom(o *profile) {
	s.points, s.first = append(s.points[:0], o.points[o.first:]...), 0
}

// advance forgets what lies before now.
func (s *profile) advance(now grid.Tick) {
	for s.first+1 < len(s.points) && s.points[s.first+1].at <= now {
		s.first++
	}
	if s.first > 64 && s.first > len(s.points)/2 {
		s.points = slices.Delete(s.points, 0, s.first)
		s.first = 0
	}
}

// holding is the step that holds an instant that is not past.
func (s *profile) holding(at grid.Tick) int {
	low, high := s.first+1, len(s.points)
	for low < high {
		if mid := int(uint(low+high) / 2); s.points[mid].at <= at {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low - 1
}

// room is what is free from now on, for how long, in the memory of into.
func (s *profile) room(now grid.Tick, into headroom) headroom {
	into = into[:0]
	low := s.points[s.first].free
	for i := s.first + 1; low > 0; i++ {
		if i == len(s.points) {
			return append(into, level{low, never})
		}
		if p := &s.points[i]; p.free < low {
			into = append(into, level{low, p.at})
			low = p.free
		}
	}
	return into
}

// edge is an instant from which a number of cores more (or fewer) is free than before
// the change, until the next edge.
type edge struct {
	at   grid.Tick
	more int32
}

// change applies edges that ascend, the last of them with 0 more. Step k holds the
// first. All steps from it to the last are written anew, in one go.
func (s *profile) change(k int, edges []edge) {
	s.fresh = s.fresh[:0]
	points := s.points
	from, free := k, points[k].free
	before := int32(math.MinInt32) // what is free before the next step that is written
	if points[k].at < edges[0].at {
		from, before = k+1, free
	} else if k > s.first {
		before = points[k-1].free
	}
	var more int32
	i := k + 1
	for e := 0; e < len(edges); {
		at := edges[e].at
		if i < len(points) && points[i].at <= at {
			at, free = points[i].at, points[i].free
			i++
		}
		for e < len(edges) && edges[e].at == at {
			more = edges[e].more
			e++
		}
		if free+more != before {
			before = free + more
			s.fresh = append(s.fresh, step{at, before})
		}
	}
	s.replace(from, i)
}

// replace puts the fresh steps in the place of those from one index until another.
func (s *profile) replace(from, to int) {
	more := len(s.fresh) - (to - from)
	n := len(s.points)
	switch {
	case more > 0:
		s.points = append(s.points, s.fresh[:more]...)
		copy(s.points[to+more:], s.points[to:n])
	case more < 0:
		copy(s.points[to+more:], s.points[to:])
		s.points = s.points[:n+more]
	}
	copy(s.points[from:], s.fresh)
}

// take makes n fewer free for a time d from an instant that step k holds.
func (s *profile) take(k int, from grid.Tick, n int32, d grid.Tick) {
	s.change(k, []edge{{from, -n}, {from + d, 0}})
}

// move makes n free for a time d from had, and takes them from an earlier instant
// that step k holds.
func (s *profile) move(k int, from, had grid.Tick, n int32, d grid.Tick) {
	s.change(k, []edge{{from, -n}, {min(had, from+d), 0}, {max(had, from+d), n}, {had + d, 0}})
}

// earliest is the first instant from now on from which n are free for a time d, and
// the step that holds it. At the last step n must be free.
func (s *profile) earliest(now grid.Tick, n int32, d grid.Tick) (start grid.Tick, k int) {
	start, k, _ = s.before(now, n, d, never, never)
	return start, k
}

// before is the first instant from now on, before an end and before a last instant,
// from which n are free for a time d or until that end, and the step that holds it.
//
// Most of the time of conservative policies is spent here. Which step has enough is
// hard to foretell, so the loop has no branch on it: start is where the present run
// of steps with enough began, or never.
func (s *profile) before(now grid.Tick, n int32, d, end, last grid.Tick) (grid.Tick, int, bool) {
	points := s.points[s.first:]
	start := grid.Tick(never)
	if points[0].free >= n {
		start = now
	}
	last = min(last, end)
	i := 1
	for ; i < len(points) && points[i].at < last; i++ {
		at := points[i].at
		if at-start >= d {
			return s.found(start, i)
		}
		start = min(start, at)
		if points[i].free < n {
			start = never
		}
	}
	if start >= last {
		return end, 0, false
	}
	for ; i < len(points) && points[i].at < min(start+d, end); i++ {
		if points[i].free < n {
			return end, 0, false
		}
	}
	return s.found(start, i)
}

// found is what before returns: the step that holds start comes before the i-th.
func (s *profile) found(start grid.Tick, i int) (grid.Tick, int, bool) {
	k := s.first + i - 1
	for k > s.first && s.points[k].at > start {
		k--
	}
	return start, k, true
}

// never is later than any instant.
const never = grid.Tick(1) << 62
