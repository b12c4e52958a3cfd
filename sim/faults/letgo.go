package faults

import (
	"slices"

	"gbroker/grid"
)

// letGo: its home had told the end of a start, and its site dropped what it had of it at that word; and both have lost that since, the home
// with what stands beside its journal: of a rerunnable one the end, of another that it began.
func (f *fact) letGo(e start, by grid.Tick) bool {
	known := e.at
	if f.rerun {
		known = e.ended
	}
	forgets := func(l lapse) bool { return l.at <= by && l.covers(known) }
	told := func(l lapse) bool { return forgets(l) && l.words && l.covers(f.toldAt) }
	return e.where != f.home && e.ended > 0 && e.ended <= f.toldAt && f.toldAt <= f.erased[e.where] &&
		slices.ContainsFunc(f.home.lapses, told) && slices.ContainsFunc(e.where.lapses, forgets)
}
