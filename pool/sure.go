package pool

import (
	"math"
	"slices"

	"gbroker/grid"
)

// Estimate is what a pool answers when asked when a job would end.
type Estimate struct {
	Place
	InTime   float64   // how likely the end is no later than the deadline; 1 without one
	Earliest grid.Tick // four of five like jobs end between these
	Latest   grid.Tick
}

// Sure makes an estimate of where a job would run. Errors are of runs that ended here: their time in truth by the time that was foreseen. With none of them
// the estimate says so by a wide interval: half to twice the time.
func Sure(p Place, deadline grid.Tick, errors []float64) Estimate {
	if len(errors) == 0 {
		errors = []float64{0.5, 1, 1, 1, 2}
	}
	sorted := slices.Sorted(slices.Values(errors))
	span := float64(p.End - p.Start)
	at := func(part float64) grid.Tick {
		i := min(int(part*float64(len(sorted))), len(sorted)-1)
		return p.Start + grid.Tick(math.Ceil(span*sorted[i]))
	}
	e := Estimate{Place: p, InTime: 1, Earliest: at(0.1), Latest: at(0.9)}
	if deadline != 0 {
		in := 0
		for _, x := range sorted {
			if p.Start+grid.Tick(span*x) <= deadline {
				in++
			}
		}
		e.InTime = float64(in+1) / float64(len(sorted)+2) // a pool is never quite sure
		if p.Start >= deadline {
			e.InTime = 0
		}
	}
	return e
}
