package experiment

import (
	"math"
	"math/bits"
	"slices"
)

// exactly is for how many values a spread is exact.
const exactly = 1 << 21

// fineness is into how many steps a spread that is not exact divides each doubling.
const fineness = 1 << 10

// spread is what a great many numbers come to, in bounded memory: exact up to [exactly], and then to a part in
// [fineness]. Its numbers are whole and not negative.
type spread struct {
	values []int64
	counts []int64 // once there are too many values
	n      int64
	sum    float64
	sorted bool
}

func (s *spread) add(v int64) {
	v = max(v, 0)
	s.n++
	s.sum += float64(v)
	if s.counts != nil {
		s.counts[step(v)]++
		return
	}
	s.values, s.sorted = append(s.values, v), false
	if len(s.values) > exactly {
		s.counts = make([]int64, step(math.MaxInt64)+1)
		for _, v := range s.values {
			s.counts[step(v)]++
		}
		s.values = nil
	}
}

func (s *spread) mean() float64 {
	if s.n == 0 {
		return 0
	}
	return s.sum / float64(s.n)
}

// at is the least value that a part of all does not exceed.
func (s *spread) at(part float64) float64 {
	if s.n == 0 {
		return 0
	}
	rank := min(max(int64(math.Ceil(part*float64(s.n))), 1), s.n)
	if s.counts == nil {
		if !s.sorted {
			slices.Sort(s.values)
			s.sorted = true
		}
		return float64(s.values[rank-1])
	}
	for i, n := range s.counts {
		if rank -= n; rank <= 0 {
			return float64(most(i))
		}
	}
	return math.MaxInt64
}

// step numbers the ranges of values: one value each up to fineness, then fineness of them for each doubling.
func step(v int64) int {
	shift := max(0, bits.Len64(uint64(v))-bits.Len64(fineness))
	return shift*fineness + int(v>>shift)
}

// most is the largest value of a range.
func most(step int) int64 {
	shift := max(0, step/fineness-1)
	return (int64(step-shift*fineness)+1)<<shift - 1
}
