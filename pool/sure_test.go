package pool

import (
	"math"
	"math/rand/v2"
	"testing"

	"gbroker/grid"
)

// As sure as it says: of jobs whose true time is drawn like those before, four of five end in the interval, and as many in time as was said.
func TestSureAsItSays(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	drawn := func() float64 { return math.Exp(0.3 * r.NormFloat64()) }
	const n = 4000
	within, in, said := 0, 0, 0.0
	for range n {
		var errors []float64
		for range 50 {
			errors = append(errors, drawn())
		}
		deadline := grid.Tick(100_000 + r.IntN(200_000))
		e := Sure(Place{0, 1000, 151_000}, deadline, errors)
		end := 1000 + grid.Tick(150_000*drawn())
		if e.Earliest <= end && end <= e.Latest {
			within++
		}
		if end <= deadline {
			in++
		}
		said += e.InTime
	}
	if part := float64(within) / n; part < 0.75 || part > 0.85 {
		t.Errorf("%.3f of the ends lie in the interval", part)
	}
	if off := math.Abs(float64(in)-said) / n; off > 0.03 {
		t.Errorf("%d of %d were in time, said were %.0f", in, n, said)
	}
	if e := Sure(Place{0, 0, 100}, 100, nil); e.Latest != 200 || e.InTime > 0.8 || e.Earliest != 50 {
		t.Errorf("without experience: %+v", e)
	}
}
