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
	recent []float64 // the newest last, at most meanWindow
	smooth float64
	errs   [predictors]float64 // each predictor's forgotten sum of relative errors
	at     time.Time           // of the newest
}

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
func (s *series) add(now time.Time, x float64) {
	if s.measured() {
		for k := range s.errs {
			p := s.predict(k)
			s.errs[k] = forgetting*s.errs[k] + math.Abs(p-x)/max(p, x)
		}
		s.smooth += smoothing * (x - s.smooth)
	} else {
		s.smooth = x
	}
	if len(s.recent) == meanWindow {
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	s.recent = append(s.recent, x)
	s.at = now
}

func (s *series) predict(k int) float64 {
	switch k {
	case byMedian:
		return median(s.recent[max(0, len(s.recent)-medianWindow):])
	case byMean:
		sum := 0.0
		for _, x := range s.recent {
			sum += x
		}
		return sum / float64(len(s.recent))
	case bySmooth:
		return s.smooth
	}
	return s.recent[len(s.recent)-1]
}

// forecast is the expected next value; the series must not be empty.
func (s *series) forecast() float64 {
	best := 0
	for k := range s.errs {
		if s.errs[k] < s.errs[best] {
			best = k
		}
	}
	return s.predict(best)
}

// spread is how far the recent values lie from the forecast, in the mean and relative to it.
func (s *series) spread() float64 {
	f, sum := s.forecast(), 0.0
	for _, x := range s.recent {
		sum += math.Abs(x-f) / f
	}
	return sum / float64(len(s.recent))
}

func median(xs []float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
