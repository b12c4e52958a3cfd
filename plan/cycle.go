package plan

import (
	"slices"

	"gbroker/grid"
)

// Lag is how late a scheduler starts a job after the end that makes room for it: it looks at its queue at intervals, and
// takes a while to do so. What is submitted is mostly looked at at once. The zero value is none.
type Lag struct{ Usual, Most grid.Tick }

// Started is a job that was seen to start: it had waited since then, and was considered.
type Started struct{ At, Since grid.Tick }

// Cycle learns the lag of a scheduler from ends and starts that were seen. The zero value knows nothing.
type Cycle struct {
	lags []grid.Tick // the last ones
	next int
}

const (
	cycleMemory = 32
	// fewStarts are too few to go by.
	fewStarts = 3
	// mostLag bounds what may still be the reaction to an end: what starts later had another reason.
	mostLag = 10 * grid.Minute
)

// See takes what started, with the ends of the time since then. A job that waited when another ended started because of
// the last such end: none after it can be the reason, and one before it did not do.
func (c *Cycle) See(ends []grid.Tick, started ...Started) {
	for _, s := range started {
		last := grid.Tick(-1)
		for _, e := range ends {
			if e > s.Since && e <= s.At {
				last = max(last, e)
			}
		}
		if last >= 0 && s.At-last <= mostLag {
			c.take(s.At - last)
		}
	}
}

func (c *Cycle) take(lag grid.Tick) {
	if len(c.lags) < cycleMemory {
		c.lags = append(c.lags, lag)
		return
	}
	c.lags[c.next] = lag
	c.next = (c.next + 1) % cycleMemory
}

// Lag is what was learned; before that, what follows of the interval at which the scheduler says that it looks (0: it does not say).
func (c *Cycle) Lag(interval grid.Tick) Lag {
	if len(c.lags) < fewStarts {
		interval = min(max(interval, 0), mostLag)
		return Lag{interval / 2, interval}
	}
	var sum grid.Tick
	for _, l := range c.lags {
		sum += l
	}
	return Lag{sum / grid.Tick(len(c.lags)), slices.Max(c.lags)}
}
