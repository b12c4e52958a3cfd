package grid

import "testing"

// The number of a life is later than those that are known, also where the clock was set back; one beyond any clock was drawn by a
// version whose numbers were random alone.
func TestLivesAreInOrder(t *testing.T) {
	t.Parallel()
	const now = 1_800_000_000 * Second
	first := NextLife(now, 7)
	for name, c := range map[string]struct {
		at    Tick
		known []uint64
		later bool
	}{
		"at the same second":               {now, []uint64{first}, true},
		"its clock was set back":           {now - Day, []uint64{first, 0}, true},
		"nothing is known, and later":      {now + 2*Second, nil, true},
		"nothing is known, and set back":   {now - Day, nil, false},
		"known, beside one of no clock":    {now - Day, []uint64{first, 1<<63 + 5}, true},
		"only one that is of no clock":     {now - Day, []uint64{1<<64 - 1}, false},
		"a later one is known besides":     {now, []uint64{NextLife(now+Hour, 1), first}, true},
		"the clock tells nothing, or less": {-5, []uint64{first}, false},
	} {
		if got := NextLife(c.at, 3, c.known...); (got > first) != c.later || got == 0 {
			t.Errorf("%s: %x after %x", name, got, first)
		}
	}
}
