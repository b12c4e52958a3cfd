package pool

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// Groups leave no computer out, and their levels are those of their computers.
func TestGroups(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const now, span, count = 100, 10, 4
		computers := drawComputers(t)
		all, free := 0, 0
		levels := make([]float64, count)
		kinds := make(map[Kind]bool)
		for _, g := range Groups(now, span, count, computers) {
			if kinds[g.Kind] {
				t.Fatalf("%+v is there twice", g)
			}
			kinds[g.Kind] = true
			all, free = all+g.Computers, free+g.Free
			for n := range levels {
				levels[n] += float64(g.Computers) * g.Levels[n]
			}
		}
		for n := range levels {
			sum := 0.0
			for i := range computers {
				for at := grid.Tick(now + n*span); at < grid.Tick(now+(n+1)*span); at++ {
					sum += computers[i].Forecast.At(at) / span
				}
			}
			if math.Abs(sum-levels[n]) > 1e-9 {
				t.Fatalf("interval %d: %v, twin %v", n, levels[n], sum)
			}
		}
		for i := range computers {
			if computers[i].Free <= now {
				free--
			}
		}
		if all != len(computers) || free != 0 {
			t.Fatalf("%d of %d computers, free: %d too many", all, len(computers), free)
		}
	})
}

func TestKindsAreClasses(t *testing.T) {
	t.Parallel()
	a := Computer{Speed: 1, Memory: 8 << 30}
	for _, c := range []struct {
		other Computer
		alike bool
	}{
		{Computer{Speed: 1.4, Memory: 15 << 30}, true}, {Computer{Speed: 1.42, Memory: 8 << 30}, false}, {Computer{Speed: 1, Memory: 16 << 30}, false},
		{Computer{Speed: 0.99, Memory: 8 << 30}, false}, {Computer{Speed: 1, Memory: 8 << 30, System: "linux"}, false},
	} {
		if got := a.kind() == c.other.kind(); got != c.alike {
			t.Errorf("%+v: %v", c.other, got)
		}
	}
}

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
