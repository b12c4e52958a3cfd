package core

import (
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// What this site tells its members of when jobs would start here, so that their searches need ask only those who could win (starts_search.go):
// [grid.Starts], by its plan of what is known, at most each Config.Tell when it has changed, and now and then when it has not.

const (
	// startsKept is after how long the same is told again, in case it was lost.
	startsKept = 30 * grid.Second
	// startsFor is how long it is believed: what changes is told sooner.
	startsFor = 45 * grid.Second
)

// startWalltimes are the classes of walltimes.
var startWalltimes = []grid.Tick{15 * grid.Second, grid.Minute, 4 * grid.Minute, 16 * grid.Minute, grid.Hour, 4 * grid.Hour, 16 * grid.Hour, 64 * grid.Hour}

// startProcesses are the classes of processes at a site of so many cores: as close as there is room for, with 1 and all.
func startProcesses(cores int) (list []int) {
	for n := 1; n < cores; n *= 2 {
		list = append(list, n)
		if half := n + n/2; n > 1 && half < cores {
			list = append(list, half)
		}
	}
	if cores > 0 {
		list = append(list, cores)
	}
	for k := 1; len(list) > grid.MaxStartProcesses; k++ { // the small ones first: of many processes the next class is told by fewer
		k = min(k, len(list)-2)
		list = slices.Delete(list, k, k+1)
	}
	return list
}

// foretold is what a site has told of starts.
type foretold struct {
	at     grid.Tick // when that was so
	starts grid.Starts
}

// told is it as it is sent now.
func (f *foretold) told(now grid.Tick) grid.Starts {
	if f.starts.IsZero() || now-f.at > startsFor {
		return grid.Starts{}
	}
	s := f.starts
	s.Age = now - f.at
	return s
}

// startsDue looks at this site where something may have changed since members were told.
func (c *estimator) startsDue() {
	c.armGeneral(startsDue, c.cfg.Tell)
	if c.changes != c.toldChanges || c.now-c.toldAt >= startsKept {
		c.look()
	}
}

// tellStarts tells the members when jobs would start here, if it is time and something has changed.
func (c *estimator) tellStarts(s plan.Snapshot, o forecast) {
	if c.cfg.Tell == 0 || c.now-c.toldAt < c.cfg.Tell/2 || !slices.ContainsFunc(c.neighbours(), c.lives) {
		return
	}
	c.toldChanges = c.changes
	told := foretold{at: s.At}
	if !c.draining && c.cfg.Prices == nil && o.ahead == nil && !o.unsure { // else it is by who asks, or nobody can say
		told.starts = c.startsOf(s, o.likely)
	}
	if c.now-c.toldAt < startsKept && alikeStarts(&c.foretold, &told) {
		return
	}
	c.toldAt, c.foretold = c.now, told
	for _, p := range c.neighbours() {
		if c.lives(p) {
			c.send(p, wire.Announce{Site: c.factsOf(s), Starts: told.told(c.now)})
		}
	}
}

// startsOf asks the plan for each class.
func (c *estimator) startsOf(s plan.Snapshot, p plan.Ensemble) grid.Starts {
	b := p.Batch()
	t := grid.Starts{Processes: startProcesses(loadOf(s).Cores), Walltimes: startWalltimes, Whole: len(s.Nodes) == 1}
	for _, n := range t.Processes {
		d := grid.Demand{Chunks: []grid.Chunk{{Count: n, Processes: 1, Cores: 1}}}
		for _, w := range t.Walltimes {
			start, refusal := b.Ask(plan.Question{Demand: d, Limit: c.limit(w), NotBefore: s.At, Before: s.At, Trait: c.shape(d, w), Walltime: w}) // nobody comes
			wait := grid.Unforeseen
			if refusal == nil {
				wait = min(max(0, start-s.At), grid.Unforeseen)
			}
			t.Waits = append(t.Waits, wait)
		}
	}
	return t
}

// alikeStarts tells that it makes no difference which of two is known: no start is farther off than a second, or a hundredth of the wait.
func alikeStarts(a, b *foretold) bool {
	if !slices.Equal(a.starts.Processes, b.starts.Processes) || a.starts.Whole != b.starts.Whole || len(a.starts.Waits) != len(b.starts.Waits) {
		return false
	}
	for i, w := range a.starts.Waits {
		v := b.starts.Waits[i]
		if (w == 0) != (v == 0) || (w == grid.Unforeseen) != (v == grid.Unforeseen) {
			return false
		}
		if off := (a.at + w) - (b.at + v); w != 0 && w != grid.Unforeseen && max(off, -off) > max(grid.Second, v/100) {
			return false
		}
	}
	return true
}
