package grid

import "time"

// Tick is an instant (milliseconds since the Unix epoch) or a span
// (milliseconds). The zero instant means "not yet".
type Tick int64

// Spans.
const (
	Millisecond Tick = 1
	Second      Tick = 1000
	Minute      Tick = 60 * Second
	Hour        Tick = 60 * Minute
	Day         Tick = 24 * Hour
)

// Span converts a time.Duration, rounding down to the millisecond.
func Span(d time.Duration) Tick { return Tick(d / time.Millisecond) }

// InstantOf converts a wall clock time; the zero time becomes 0.
func InstantOf(t time.Time) Tick {
	if t.IsZero() {
		return 0
	}
	return Tick(t.UnixMilli())
}

// Seconds is the span in seconds.
func (t Tick) Seconds() float64 { return float64(t) / 1000 }

// Duration is the span as a time.Duration.
func (t Tick) Duration() time.Duration { return time.Duration(t) * time.Millisecond }

// Time is the instant in UTC; 0 gives the zero time.
func (t Tick) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// FromSeconds is the span nearest to s seconds. s must be within ±1e12; a value
// outside, or NaN, gives the nearer bound (NaN gives 0).
func FromSeconds(s float64) Tick {
	const limit = 1e12
	switch {
	case s != s:
		return 0
	case s > limit:
		s = limit
	case s < -limit:
		s = -limit
	}
	if s < 0 {
		return Tick(s*1000 - 0.5)
	}
	return Tick(s*1000 + 0.5)
}

// Stamp is the instant for people, in UTC.
func (t Tick) Stamp() string { return t.Time().Format(time.RFC3339) }
