package faults

import "gbroker/grid"

// clock is the clock of a site's machines: true time, seen through a drift and an
// offset that steps.
type clock struct {
	rate   float64 // seconds of it per true second
	offset grid.Tick
	back   grid.Tick // it was set back by so much, in all
}

// set has it show another time from now on.
func (c *clock) set(by grid.Tick) {
	c.offset += by
	c.back += max(0, -by)
}

// mono is what has passed by this clock since the world began, steps left out.
func (c *clock) mono(now grid.Tick) grid.Tick { return grid.Tick(float64(now-genesis) * c.rate) }

// wall is what the clock shows.
func (c *clock) wall(now grid.Tick) grid.Tick { return genesis + c.mono(now) + c.offset }

// truly is how long the world waits for a span of this clock.
func (c *clock) truly(span grid.Tick) grid.Tick { return grid.Tick(float64(span)/c.rate) + 1 }

// genesis is when every history begins.
const genesis = grid.Tick(1_700_000_000_000)
