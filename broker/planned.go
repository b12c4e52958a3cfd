package broker

import (
	"reflect"

	"gbroker/grid"
	"gbroker/plan"
)

// planned keeps the plan of the last look: to make one of a long queue costs more
// than all else of a step. It holds until the batch system shows something else, or
// an instant comes at which the plan itself expects a change.
type planned struct {
	snapshot plan.Snapshot
	plan     *plan.Plan
	until    grid.Tick
}

// planOf is the plan of a snapshot.
func (c *Core) planOf(s plan.Snapshot) *plan.Plan {
	k := &c.planned
	if k.plan == nil || s.At < k.snapshot.At || s.At >= k.until || !alikeButForTime(k.snapshot, s) {
		*k = planned{s, plan.Build(s), 0}
		k.until = nextChange(s, k.plan)
	}
	return k.plan
}

func alikeButForTime(a, b plan.Snapshot) bool {
	a.At, b.At = 0, 0
	return reflect.DeepEqual(a, b)
}

// nextChange is the first instant after the snapshot at which something of its plan
// begins or ends.
func nextChange(s plan.Snapshot, p *plan.Plan) grid.Tick {
	first := s.At + grid.Day
	at := func(t grid.Tick) { first = min(first, max(t, s.At)) }
	for _, r := range s.Running {
		at(r.End)
	}
	for _, r := range s.Reservations {
		if r.Start > s.At {
			at(r.Start)
		}
		at(r.End)
	}
	for _, w := range s.Waiting {
		if start, ok := p.Start(w.Job); ok {
			at(start)
		}
	}
	return first
}
