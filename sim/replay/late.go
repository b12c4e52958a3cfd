package replay

import (
	"gbroker/plan"
)

// lateness tells by when a job will have started, but for one of ten. It learns from
// the starts that came: their errors count in parts of how far the draws were apart.
type lateness struct {
	rank   plan.Rank
	errors plan.Window
	told   []told // whose start, or whose being late, did not come yet
}

// told is what was told of a job.
type told struct {
	estimate int // of all
	scale    float64
	judged   bool // it is late already
}

const waitScale = 0.1 // of a wait, added to its scale

// tell sets the Late of the i-th estimate, of which nine of ten draws start by then.
func (l *lateness) tell(all []Estimate, i int, by int64) {
	e := &all[i]
	t := told{estimate: i, scale: float64(by-e.Expected) + waitScale*float64(e.Expected-e.At) + 1}
	error := 1.0
	if s := l.errors.Sorted(); len(s) > 0 {
		error = max(0, l.rank.Of(s))
	}
	e.Late = e.Expected + int64(error*t.scale)
	l.told = append(l.told, t)
}

// learn takes what came by now: who started, and who should have.
func (l *lateness) learn(all []Estimate, starts []int64, now int64) {
	left := l.told[:0]
	for _, t := range l.told {
		e := &all[t.estimate]
		start := starts[e.Job]
		if !t.judged && (start != Unknown || e.Late < now) {
			t.judged = true
			l.rank.Judge(start == Unknown || start > e.Late)
		}
		if start == Unknown {
			left = append(left, t)
			continue
		}
		l.errors.Add(float64(start-e.Expected) / t.scale)
	}
	l.told = left
}
