package daemon

import "testing"

// A neighbour that starts again is one broker; a life that comes back after another is the second of two.
func TestLivesOfANeighbour(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		boots   []uint64
		doubled bool
	}{
		"one":                    {[]uint64{7, 7}, false},
		"started again":          {[]uint64{7, 8, 9}, false},
		"of a version of before": {[]uint64{0, 7, 0}, false},
		"two":                    {[]uint64{7, 8, 7}, true},
		"two, by turns":          {[]uint64{7, 8, 7, 8}, true},
		"one was stopped":        {[]uint64{7, 8, 7, 8, 9}, false},
		"the wrong one goes on":  {[]uint64{7, 8, 7, 9, 8}, true},
	} {
		l := lives{}
		told := 0
		for _, b := range c.boots {
			if l.hear(b) {
				told++
			}
		}
		if l.doubled != c.doubled {
			t.Errorf("%s: %v", name, l.doubled)
		}
		if name == "two, by turns" && told != 1 {
			t.Errorf("told %d times", told)
		}
	}
}
