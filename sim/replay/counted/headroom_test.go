package counted

import (
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// fits tells whether n are free from an instant that is not past, for a time d.
func fits(s *profile, at grid.Tick, n int32, d grid.Tick) bool {
	for i := s.holding(at); i < len(s.points) && s.points[i].at < at+d; i++ {
		if s.points[i].free < n {
			return false
		}
	}
	return true
}

// Headroom from which something is taken is that of the profile from which it is taken.
func TestHeadroomTake(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s profile
		s.reset(3, 9)
		for range rapid.IntRange(0, 5).Draw(t, "taken") {
			from := grid.Tick(rapid.IntRange(3, 12).Draw(t, "from"))
			s.take(s.holding(from), from, rapid.Int32Range(1, 3).Draw(t, "cores"), grid.Tick(rapid.IntRange(1, 9).Draw(t, "for")))
		}
		r := s.room(3, nil)
		cores, d := rapid.Int32Range(1, 9).Draw(t, "cores"), grid.Tick(rapid.IntRange(1, 12).Draw(t, "for"))
		if got, want := r.fits(cores, 3+d), fits(&s, 3, cores, d); got != want {
			t.Fatalf("%v: %d fit for %d: %v, in %v: %v", r, cores, d, got, s.points, want)
		}
		if many, few, limit := r.outline(3); r.fits(cores, 3+d) && (cores > many || cores > few && d > limit) {
			t.Fatalf("%v: %d fit for %d, and are outside of (%d, %d, %d)", r, cores, d, many, few, limit)
		}
		r.take(cores, 3+d)
		s.take(s.first, 3, cores, d)
		if want := s.room(3, nil); !slices.Equal(r, want) {
			t.Fatalf("%v are left, of the profile %v", r, want)
		}
	})
}
