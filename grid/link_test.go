package grid

import (
	"math"
	"testing"
)

// Between two sizes it is the time that goes linearly with the size: a way with a delay and a rate is told as it is.
func TestBandwidthBetweenSizes(t *testing.T) {
	t.Parallel()
	const delay, rate = 0.05, 12.5e6
	at := func(z int64) float64 { return float64(z) / (delay + float64(z)/rate) }
	var l Link
	for _, z := range []int64{1 << 10, 16 << 10, 1 << 20, 64 << 20} {
		l.Rates = append(l.Rates, Rate{Size: z, BytesPerSecond: at(z), Measured: z < 64<<20})
	}
	for z := int64(1 << 10); z <= 64<<20; z += z / 3 {
		got, measured := l.Bandwidth(z)
		if math.Abs(got-at(z)) > 1e-6*at(z) || measured != (z <= 1<<20) {
			t.Fatalf("%d bytes: %.0f B/s, measured %v; want %.0f", z, got, measured, at(z))
		}
	}
	for z, want := range map[int64]float64{1: at(1 << 10), 1 << 40: at(64 << 20)} {
		if got, _ := l.Bandwidth(z); got != want {
			t.Errorf("%d bytes: %.0f B/s, want that of the nearest size, %.0f", z, got, want)
		}
	}
}
