package counted

import (
	"gbroker/grid"
)

// headroom is how much is free from now on, for how long: so many cores until an instant,
// then fewer until another. The last level ends never, or nothing is free behind it.
type headroom []level

// level is what is free from now until an instant.
type level struct {
	free  int32
	until grid.Tick
}

// fits tells whether so many are free from now to an end.
func (r headroom) fits(cores int32, end grid.Tick) bool {
	for _, l := range r {
		if l.free < cores {
			return false
		}
		if end <= l.until {
			return true
		}
	}
	return false
}

// outline is what must hold of a job that fits now: it asks for at most many, and, if
// for more than few, for no longer than limit.
func (r headroom) outline(now grid.Tick) (many, few int32, limit grid.Tick) {
	n := len(r)
	switch {
	case n == 0:
		return 0, 0, 0
	case r[n-1].until < never:
		return r[0].free, 0, r[n-1].until - now
	case n == 1:
		return r[0].free, r[0].free, 0
	}
	return r[0].free, r[n-1].free, r[n-2].until - now
}

// take takes cores from now to an end.
func (r *headroom) take(cores int32, end grid.Tick) {
	begin, low := -never, gone
	kept := (*r)[:0]
	for _, l := range *r {
		if begin < end {
			l.free -= cores
		}
		begin = l.until
		low = min(low, l.free)
		switch n := len(kept); {
		case low <= 0:
			*r = kept
			return
		case n > 0 && kept[n-1].free == low:
			kept[n-1].until = l.until
		default:
			kept = append(kept, level{low, l.until})
		}
	}
	*r = kept
}
