package pool

import (
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// drawForecast draws one of few, short steps, whose H are eighths, so that sums of floats are exact.
func drawForecast(t *rapid.T) Forecast {
	var steps []Step
	at := grid.Tick(0)
	for range rapid.IntRange(0, 4).Draw(t, "steps") {
		steps = append(steps, Step{at, float64(rapid.IntRange(0, 8).Draw(t, "H")) / 8})
		at += grid.Tick(rapid.IntRange(1, 40).Draw(t, "span"))
	}
	period := grid.Tick(0)
	if rapid.Bool().Draw(t, "repeats") {
		period = at + grid.Tick(rapid.IntRange(1, 20).Draw(t, "last"))
	}
	return NewForecast(grid.Tick(rapid.IntRange(0, 100).Draw(t, "origin")), period, steps...)
}

// slowly is the performance at a tick, by looking at one step after the other.
func slowly(f *Forecast, t grid.Tick) (h float64) {
	if t -= f.origin; t < 0 {
		return 0
	}
	for f.period > 0 && t >= f.period {
		t -= f.period
	}
	for _, s := range f.steps {
		if s.From <= t {
			h = s.H
		}
	}
	return h
}

// The end of a job is that of a twin which works tick by tick.
func TestForecastAgainstTicks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawForecast(t)
		from := grid.Tick(rapid.IntRange(0, 200).Draw(t, "from"))
		work := float64(rapid.IntRange(0, 1600).Draw(t, "work")) / 8 // ticks of the reference
		const far = 20_000
		end, left := from, work
		for ; left > 0 && end < far; end++ {
			if h := f.At(end); h != slowly(&f, end) {
				t.Fatalf("H at %d: %v, twin %v: %+v", end, h, slowly(&f, end), f)
			}
			left -= slowly(&f, end)
		}
		got := f.End(from, work/1000)
		if idle := f.period == 0 || f.whole == 0; left > 0 && !idle && got >= far && got < Never {
			return // the twin has not that long
		} else if left > 0 {
			end = Never
		}
		if got != end {
			t.Fatalf("from %d, work %v: ends at %d, twin %d: %+v", from, work, got, end, f)
		}
		if end < Never {
			if done := 1000 * f.Done(from, end); done < work-1e-9 || end > from && 1000*f.Done(from, end-1) >= work+1e-9 {
				t.Fatalf("from %d to %d %v is done of %v: %+v", from, end, done, work, f)
			}
		}
	})
}

// The first performance is that which is found tick by tick.
func TestFirstPerformance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawForecast(t)
		from := grid.Tick(rapid.IntRange(0, 400).Draw(t, "from"))
		want := Never
		for at := from; at < from+1000; at++ {
			if slowly(&f, at) > 0 {
				want = at
				break
			}
		}
		if got := f.First(from); got != want {
			t.Fatalf("from %d: %d, twin %d: %+v", from, got, want, f)
		}
	})
}

// Where there is performance in each period all work ends, also where sums round.
func TestAllWorkEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var steps []Step
		for i := range grid.Tick(5) {
			steps = append(steps, Step{i * 1000, rapid.Float64Range(0.01, 3).Draw(t, "H")})
		}
		f := NewForecast(0, 6000, append(steps, Step{5000, 0})...)
		from := grid.Tick(rapid.IntRange(0, 20_000).Draw(t, "from"))
		n := grid.Tick(rapid.IntRange(1, 50).Draw(t, "periods"))
		work := f.Done(from, (from/6000+n)*6000) * (1 + 1e-15*float64(rapid.IntRange(-9, 9).Draw(t, "off")))
		end := f.End(from, work)
		if end == Never || end < from || work > 0 && 1000*f.Done(from, end) < 1000*work-1e-3 {
			t.Fatalf("work %v from %d ends at %d, when %v are done", work, from, end, f.Done(from, end))
		}
	})
}
