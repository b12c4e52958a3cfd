package pool

import (
	"math"
	"slices"
	"sort"

	"gbroker/grid"
)

// Never is the end of what does not end.
const Never = grid.Tick(math.MaxInt64)

// Step is an interval of a forecast; it lasts until the next step.
type Step struct {
	From grid.Tick // an instant; in a forecast with a period, since its origin
	H    float64   // effective performance
}

// Forecast is the effective performance of a computer by interval. The zero value is one that has none.
type Forecast struct {
	origin grid.Tick
	period grid.Tick // 0: the last step lasts for ever
	steps  []Step    // the first begins at 0, since the origin
	sums   []float64 // work until each step, in ticks of the reference
	whole  float64   // work of a period
	peak   float64
	mean   float64
}

// Constant is one performance for ever.
func Constant(h float64) Forecast { return NewForecast(0, 0, Step{0, h}) }

// NewForecast makes one of steps in order; before the first there is nothing. A period repeats the steps from
// the origin on; without one their instants are since the origin too, and the last lasts for ever.
func NewForecast(origin, period grid.Tick, steps ...Step) Forecast {
	f := Forecast{origin: origin, period: period, steps: slices.Clone(steps)}
	for i := range f.steps {
		if h := f.steps[i].H; !(h >= 0) { // NaN too
			f.steps[i].H = 0
		}
	}
	if len(f.steps) == 0 || f.steps[0].From > 0 {
		f.steps = slices.Insert(f.steps, 0, Step{})
	}
	sum := 0.0
	for i, s := range f.steps {
		f.sums = append(f.sums, sum)
		f.peak = max(f.peak, s.H)
		if end := f.until(i); end < Never {
			sum += s.H * float64(end-s.From)
		}
	}
	f.whole, f.mean = sum, f.steps[len(f.steps)-1].H
	if period > 0 {
		f.mean = sum / float64(period)
	}
	return f
}

// until is the end of a step.
func (f *Forecast) until(i int) grid.Tick {
	switch {
	case i+1 < len(f.steps):
		return f.steps[i+1].From
	case f.period > 0:
		return f.period
	}
	return Never
}

// Peak is the highest performance that is foreseen.
func (f *Forecast) Peak() float64 { return f.peak }

// Mean is the performance in the long run: of a period, or the last.
func (f *Forecast) Mean() float64 { return f.mean }

// First is the first instant from one on at which there is any performance; [Never] if there is none.
func (f *Forecast) First(from grid.Tick) grid.Tick {
	if f.peak == 0 {
		return Never
	}
	from = max(from, f.origin)
	_, over := f.within(from)
	begun := from - over // of the period
	for at := f.step(over); ; at++ {
		if at == len(f.steps) {
			if f.period == 0 {
				return Never
			}
			at, begun = 0, begun+f.period
		}
		if f.steps[at].H > 0 {
			return max(from, begun+f.steps[at].From)
		}
	}
}

// Steps are the intervals, since the origin.
func (f *Forecast) Steps() []Step { return f.steps }

// At is the performance at an instant.
func (f *Forecast) At(t grid.Tick) float64 {
	if len(f.steps) == 0 || t < f.origin {
		return 0
	}
	_, at := f.within(t)
	return f.steps[f.step(at)].H
}

// within divides an instant into whole periods and what is over.
func (f *Forecast) within(t grid.Tick) (periods, over grid.Tick) {
	t -= f.origin
	if f.period > 0 {
		return t / f.period, t % f.period
	}
	return 0, t
}

// step is the one in which a time since the origin lies.
func (f *Forecast) step(at grid.Tick) int {
	if len(f.steps) == 1 {
		return 0
	}
	return sort.Search(len(f.steps), func(i int) bool { return f.steps[i].From > at }) - 1
}

// done is the work from the origin to t, in ticks of the reference.
func (f *Forecast) done(t grid.Tick) float64 {
	if len(f.steps) == 0 || t <= f.origin {
		return 0
	}
	periods, over := f.within(t)
	i := f.step(over)
	return float64(periods)*f.whole + f.sums[i] + f.steps[i].H*float64(over-f.steps[i].From)
}

// Done is the work of an interval, in seconds of the reference.
func (f *Forecast) Done(from, to grid.Tick) float64 { return (f.done(to) - f.done(from)) / 1000 }

// End is when work that begins at an instant will have been done: the smallest whole tick; [Never] if it will not.
func (f *Forecast) End(from grid.Tick, work float64) grid.Tick {
	if work <= 0 {
		return from
	}
	from = max(from, f.origin)
	const far = 1 << 53 // ticks that are exact
	if len(f.steps) == 1 {
		if span := ticks(work * 1000 / f.steps[0].H); span < far { // not where H is 0
			return from + grid.Tick(span)
		}
		return Never
	}
	if len(f.steps) == 0 {
		return Never
	}
	target := f.done(from) + work*1000
	periods := 0.0
	if f.period > 0 {
		if periods = math.Floor(target / f.whole); !(periods*float64(f.period) < far) { // not where whole is 0
			return Never
		}
		if target -= periods * f.whole; target <= 0 && periods > 0 { // an end is no beginning
			periods, target = periods-1, f.whole
		}
		target = min(target, f.whole) // sums round
	}
	i := sort.Search(len(f.sums), func(i int) bool { return f.sums[i] >= target }) - 1
	i = max(i, 0)
	span := ticks((target - f.sums[i]) / f.steps[i].H)
	if !(span < far) {
		return Never
	}
	return max(from, f.origin+grid.Tick(periods)*f.period+f.steps[i].From+grid.Tick(span))
}

// ticks rounds a span up to whole ticks, but not where it is beyond one by no more than floats round.
func ticks(span float64) float64 { return math.Ceil(span - 1e-6) }
