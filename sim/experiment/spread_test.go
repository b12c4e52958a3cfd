package experiment

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Up to its bound a spread is exact, and then right to a thousandth.
func TestSerialSpreadAgainstSorting(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for _, n := range []int{1, 2, 3, 1000, exactly + 1000} {
		var s spread
		var all []int64
		sum := 0.0
		for range n {
			v := int64(math.Exp(r.NormFloat64()*3 + 8))
			s.add(v)
			all = append(all, v)
			sum += float64(v)
		}
		slices.Sort(all)
		if math.Abs(s.mean()-sum/float64(n)) > 1e-6*s.mean() || (s.counts != nil) != (n > exactly) {
			t.Errorf("seed %d: mean %v of %d, not %v", seed, s.mean(), n, sum/float64(n))
		}
		for _, part := range []float64{0, 0.5, 0.99, 1} {
			want := float64(all[max(int(math.Ceil(part*float64(n))), 1)-1])
			if got := s.at(part); n <= exactly && got != want || got < want || got > want*(1+1.0/fineness)+1 {
				t.Errorf("seed %d: %v of %d is %v, not %v", seed, part, n, got, want)
			}
		}
	}
	for _, v := range []int64{0, 1, 1023, 1024, 2047, 2048, 2049, 1 << 40, math.MaxInt64} {
		if m := most(step(v)); m < v || step(m) != step(v) || m < math.MaxInt64 && step(m+1) != step(v)+1 {
			t.Errorf("%d is in a range up to %d", v, m)
		}
	}
}
