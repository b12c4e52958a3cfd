package replay

import (
	"cmp"
	"slices"

	"gbroker/grid"
	"gbroker/sim/replay/counted"
)

const (
	day       = 86400
	likeDays  = 14 // the next day may be like one of so many before
	foreseen  = 60 // days; then nobody comes
	daysOrder = 7919
)

// later foresees who comes after an instant: each day brings the jobs that one of the
// last days brought, at the same hours; which one is drawn. Nobody comes while no
// whole day is known.
type later struct {
	known  []Job // that came, by submit time
	now    grid.Tick
	days   int // that are known, of the last
	draw   uint64
	block  int   // the day that goes on, from 0
	shift  int64 // of the day that it is like
	at, to int   // the rest of that day, in known
}

// come is who may come after now, in a draw.
func come(known []Job, now grid.Tick, draw int) later {
	l := later{known: known, now: now, draw: uint64(draw), block: -1}
	l.days = min(int((int64(now)-known[0].Submit)/day), likeDays)
	return l
}

// Next is the next arrival. Its number is below 0: -1 less its own in the log.
func (l *later) Next() (grid.Tick, counted.Job, bool) {
	for l.at == l.to {
		if l.days == 0 || l.block == foreseen {
			return 0, counted.Job{}, false
		}
		l.block++
		l.choose()
	}
	j := &l.known[l.at]
	l.at++
	return grid.Tick(j.Submit + l.shift), counted.Job{Ref: int32(-l.at), Cores: j.Procs, Limit: grid.Tick(j.Limit)}, true
}

// choose draws the day that the next one is like. The draws take all days in turn for
// the first.
func (l *later) choose() {
	back := int64(l.draw % uint64(l.days))
	if l.block > 0 {
		back = int64(mix(l.draw*daysOrder+uint64(l.block)) % uint64(l.days))
	}
	from := int64(l.now) - (back+1)*day
	l.shift = int64(l.block)*day + int64(l.now) - from
	l.at, l.to = l.after(from), l.after(from+day)
}

// after is the first that came after an instant.
func (l *later) after(t int64) int {
	i, _ := slices.BinarySearchFunc(l.known, t+1, func(j Job, t int64) int { return cmp.Compare(j.Submit, t) })
	return i
}
