package core

import (
	"math/bits"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// How far off an estimate may be, told from how far off those were of like waits. Jobs are put
// into classes by the wait that was told them, each twice as long as the one before; a class that
// has seen too few takes in its neighbours. Errors count in parts of that wait, so that those of
// shorter waits speak for longer ones. Of the starts a tenth is to come later than told, and a twentieth sooner: which ranks
// among the errors hold that is learned too. So there is room for jobs that move, as they are judged where they start.
const (
	waitClasses = 24                     // the last begins at about 48 days
	enoughOf    = 20                     // jobs that a spread is told by
	leastOf     = 8                      // with fewer than these in all, nothing is
	tooSoon     = 0.05                   // of the starts
	atLeast     = 500 * grid.Millisecond // added to both sides: what telling and starting take
)

// spreadOf is the spread of a class of waits, in parts of a wait.
type spreadOf struct {
	early, late float64
	of          int
}

func classOf(wait grid.Tick) int {
	return min(bits.Len64(uint64(max(0, wait/grid.Second))), waitClasses-1)
}

// scaleOf is the wait that errors are parts of; of none it is what starting takes.
func scaleOf(wait grid.Tick) float64 { return float64(max(0, wait) + grid.Second) }

// spread is how far off an estimate of this site is.
func (c *estimator) spread(e grid.Estimate) grid.Spread {
	if e.Refusal != nil {
		return grid.Spread{}
	}
	class := classOf(e.Wait)
	if c.spreads[class] == nil {
		s := c.spreadFrom(class)
		c.spreads[class] = &s
	}
	s := c.spreads[class]
	if s.of == 0 {
		return grid.Spread{}
	}
	scale := scaleOf(e.Wait)
	return grid.Spread{Early: min(e.Wait, grid.Tick(s.early*scale)+atLeast), Late: min(horizon, grid.Tick(s.late*scale)+atLeast), Of: s.of}
}

// missStarts takes the jobs into account that still wait though an earlier start was told: they are late by so
// much at least. Without them the longest waits would be missing, as a job is judged when it has started.
func (c *estimator) missStarts() {
	before := len(c.waiting)
	c.waiting = c.waiting[:0]
	for _, j := range c.live {
		r := &j.rec
		if r.Role == grid.Owning && r.State == grid.Assigned && r.Local != "" && r.ExpectedStart > 0 && c.now-r.ExpectedStart > atOnce {
			c.waiting = append(c.waiting, outcome{Outcome: plan.Outcome{Expected: r.ExpectedStart, Start: c.now}, queued: r.Queued})
		}
	}
	if before+len(c.waiting) > 0 {
		clear(c.spreads[:])
	}
}

// withSpread is the estimate with its spread.
func (c *estimator) withSpread(e grid.Estimate) grid.Estimate {
	e.Spread = c.spread(e)
	return e
}

// spreadFrom takes the errors of a class, and of as many beside it as are needed.
func (c *estimator) spreadFrom(class int) spreadOf {
	var errors [waitClasses][]float64
	n := 0
	for _, o := range slices.Concat(c.latest(), c.waiting) {
		if o.Expected == 0 {
			continue // nothing was told
		}
		n++
		told := o.Expected - o.queued
		k := classOf(told)
		errors[k] = append(errors[k], float64(o.Start-o.Expected)/scaleOf(told))
	}
	if n < leastOf {
		return spreadOf{}
	}
	list := slices.Clone(errors[class])
	for d := 1; len(list) < min(n, enoughOf); d++ {
		if class-d >= 0 {
			list = append(list, errors[class-d]...)
		}
		if class+d < waitClasses {
			list = append(list, errors[class+d]...)
		}
	}
	slices.Sort(list)
	s := spreadOf{late: max(0, c.lateRank.Of(list)), of: len(list)}
	for i := range list {
		list[i] = -list[i]
	}
	slices.Reverse(list)
	s.early = max(0, c.earlyRank.Of(list))
	return s
}

// judgeSpread learns from a start whether the spread that those before would have told of it held.
func (c *estimator) judgeSpread(x run) {
	if x.expected == 0 {
		return
	}
	s := c.spread(grid.Estimate{Wait: max(0, x.expected-x.queued)})
	if s.Of == 0 {
		return
	}
	c.lateRank.Judge(x.started > x.expected+s.Late)
	c.earlyRank.Judge(x.started < x.expected-s.Early)
}
