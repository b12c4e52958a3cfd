package pool

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// ends tells when jobs would end on the computer that is best for them, were all free.
type ends struct {
	now       grid.Tick
	computers []Computer
	taken     []bool // these are not looked at; nil is none
	order     []int  // by peak, the highest first; made when it is needed
}

func newEnds(now grid.Tick, computers []Computer) *ends { return &ends{now: now, computers: computers} }

// first is the earliest end.
func (e *ends) first(j *Job) grid.Tick {
	_, end := e.soonest(j, -1)
	return end
}

// soonest is the computer that ends j first, and when; of several the one that is preferred. It is -1 where none ends it. A computer is looked
// at only if its peak could better what was found.
func (e *ends) soonest(j *Job, preferred int) (at int, end grid.Tick) {
	if e.order == nil {
		e.order = make([]int, len(e.computers))
		for i := range e.order {
			e.order[i] = len(e.order) - 1 - i // pools that are sorted from the weakest on are sorted then
		}
		slices.SortFunc(e.order, func(a, b int) int {
			return cmp.Or(cmp.Compare(e.computers[b].Forecast.peak, e.computers[a].Forecast.peak), b-a)
		})
	}
	at, end = -1, Never
	for _, i := range e.order {
		c := &e.computers[i]
		if c.Forecast.peak*float64(end-e.now) < 1000*j.Work {
			break
		}
		if e.taken != nil && e.taken[i] || c.Lacks(j) != "" {
			continue
		}
		if t := c.Forecast.End(e.now, j.Work); t < end || t == end && i == preferred && t < Never {
			at, end = i, t
		}
	}
	return at, end
}
