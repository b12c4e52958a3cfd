package plan

import (
	"slices"

	"gbroker/grid"
)

// Outcome is an estimate of a start, and the start that came of it.
type Outcome struct {
	Expected, Start grid.Tick // instants
}

// Accuracy is how good estimates were, for jobs that had to wait. Errors are in
// seconds, without their sign; the last three are shares of the jobs.
type Accuracy struct {
	Waited      int
	Mean        float64
	Median, P90 float64 // nearest rank
	Within60    float64
	Within600   float64
	TooEarly    float64 // the job started later than expected
}

// Judge compares estimates with what came of them.
func Judge(list []Outcome) Accuracy {
	a := Accuracy{Waited: len(list)}
	if len(list) == 0 {
		return a
	}
	errs := make([]grid.Tick, len(list))
	var sum grid.Tick
	var in60, in600, early int
	for i, o := range list {
		off := o.Expected - o.Start
		if off < 0 {
			early++
			off = -off
		}
		errs[i] = off
		sum += off
		if off <= grid.Minute {
			in60++
		}
		if off <= 10*grid.Minute {
			in600++
		}
	}
	slices.Sort(errs)
	rank := func(percent int) float64 { return errs[(len(errs)*percent+99)/100-1].Seconds() }
	n := float64(len(list))
	a.Mean, a.Median, a.P90 = sum.Seconds()/n, rank(50), rank(90)
	a.Within60, a.Within600, a.TooEarly = float64(in60)/n, float64(in600)/n, float64(early)/n
	return a
}
