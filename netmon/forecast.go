package netmon

import (
	"math"
	"slices"
	"time"
)

const (
	meanWindow   = 10
	medianWindow = 5
	smoothing    = 0.3  // weight of the newest value
	forgetting   = 0.75 // weight that an error keeps with each newer one
)

// series is a sequence of measurements and the forecast of the next.
type series struct {
	recent []value             // the newest last, at most meanWindow
	errs   [predictors]float64 // each predictor's forgotten sum of relative errors
	at     time.Time           // of the newest
}

// value is one measurement and the slot of the day when it was made.
type value struct {
	x    float64
	slot int
}

// A scale tells how much faster it goes now than in a slot of the day; nil is no faster.
type scale func(from int) float64

// The predictors, in the order in which they win ties.
const (
	byMedian = iota
	byMean
	bySmooth
	byLast
	predictors
)

func (s *series) measured() bool { return len(s.recent) > 0 }

// add takes a value > 0 measured at the instant now.
func (s *series) add(now time.Time, x float64, by scale) {
	if s.measured() {
		xs := s.values(by)
		for k := range s.errs {
			s.errs[k] = forgetting*s.errs[k] + apart(predict(xs, k), x)
		}
	}
	if len(s.recent) == meanWindow {
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	s.recent = append(s.recent, value{x, slotOf(now)})
	s.at = now
}

// values are the recent ones, as they would be now.
func (s *series) values(by scale) []float64 {
	xs := make([]float64, len(s.recent))
	for i, v := range s.recent {
		xs[i] = v.x
		if by != nil {
			xs[i] *= by(v.slot)
		}
	}
	return xs
}

func predict(xs []float64, k int) float64 {
	switch k {
	case byMedian:
		return median(xs[max(0, len(xs)-medianWindow):])
	case byMean:
		sum := 0.0
		for _, x := range xs {
			sum += x
		}
		return sum / float64(len(xs))
	case bySmooth:
		smooth := xs[0]
		for _, x := range xs[1:] {
			smooth += smoothing * (x - smooth)
		}
		return smooth
	}
	return xs[len(xs)-1]
}

// forecast is the expected next value; the series must not be empty.
func (s *series) forecast(by scale) float64 {
	best := 0
	for k := range s.errs {
		if s.errs[k] < s.errs[best] {
			best = k
		}
	}
	return predict(s.values(by), best)
}

// spread is how far the recent values lie from the forecast, in the mean and relative to it.
func (s *series) spread(by scale) float64 {
	f, sum := s.forecast(by), 0.0
	for _, x := range s.values(by) {
		sum += math.Abs(x-f) / f
	}
	return sum / float64(len(s.recent))
}

func median(xs []float64) float64 {
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
