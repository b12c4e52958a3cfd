package core

import (
	"math/rand/v2"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/wire"
)

// Two clocks are compared over a question and its answer, in whole ticks, however short the way: what is told of the other's
// holds, and nothing is known where it was set between.
func TestClockOf(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	upTo := func(limit float64) float64 { return r.Float64() * limit }
	for range 100000 {
		way := []float64{0.1, 3, 300}[r.IntN(3)]
		ahead := upTo(2000) - 1000 // all in ticks, as real numbers
		here := func(at float64) grid.Tick { return grid.Tick(1e12 + at) }
		there := func(at float64) grid.Tick { return grid.Tick(1e12 + at + ahead) }
		asked := upTo(1)
		received := asked + upTo(way)
		answered := received + upTo(1)
		heard := answered + upTo(way)
		c := wire.Clocks{Asked: here(asked), Received: there(received), Answered: there(answered)}
		offset, bound := clockOf(c, here(heard))
		if off := float64(offset) - ahead; off > float64(bound)+1 || off < -float64(bound)-1 || float64(bound) > way+2 {
			t.Fatalf("seed %d: it is %.2f ahead; said is %d within %d, of a way of %.1f", seed, ahead, offset, bound, way)
		}
		c.Answered += 2*grid.Tick(way) + 10 // set between
		if _, bound := clockOf(c, here(heard)); way < 100 && bound != grid.Day {
			t.Fatalf("seed %d: set by %v over a way of %.1f, its clock is known to %d", seed, 2*grid.Tick(way)+10, way, bound)
		}
	}
}
