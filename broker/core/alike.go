package core

import (
	"reflect"
	"slices"

	"gbroker/plan"
)

// sameLists tells that what may be long are the same lists in memory.
func sameLists(a, b *plan.Snapshot) bool {
	return same(a.Running, b.Running) && same(a.Waiting, b.Waiting) && same(a.Nodes, b.Nodes)
}

func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// alikeButForTime tells that two snapshots show the same; a Forecast is of its time. It is asked at every look, of queues of thousands: lists of which
// one is the other are not gone through.
func alikeButForTime(a, b *plan.Snapshot) bool {
	return a.Stopped == b.Stopped && a.Why == b.Why && a.Default == b.Default && a.Policy == b.Policy && a.Lag == b.Lag &&
		alikeLists(a.Running, b.Running, alikeRunning) && alikeLists(a.Waiting, b.Waiting, alikeWaiting) &&
		a.Shapes == b.Shapes && deepAlike(a.Nodes, b.Nodes) && deepAlike(a.Queues, b.Queues) && deepAlike(a.Reservations, b.Reservations) &&
		deepAlike(a.Caps, b.Caps) && deepAlike(a.Ours, b.Ours) && deepAlike(a.Unusable, b.Unusable) && a.Site.Same(b.Site)
}

// deepAlike tells that two lists are, all the way down.
func deepAlike[T any](a, b []T) bool {
	return same(a, b) || len(a) == len(b) && reflect.DeepEqual(a, b)
}

// alikeLists tells that two lists are, element by element.
func alikeLists[T any](a, b []T, each func(a, b *T) bool) bool {
	if len(a) != len(b) {
		return false
	}
	if same(a, b) {
		return true
	}
	for i := range a {
		if !each(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func alikeRunning(a, b *plan.Running) bool {
	return a.Job == b.Job && a.Start == b.Start && a.End == b.End && a.Trait == b.Trait && slices.Equal(a.Caps, b.Caps) &&
		deepAlike(a.Shares, b.Shares)
}

func alikeWaiting(a, b *plan.Waiting) bool {
	return a.Job == b.Job && a.Queue == b.Queue && a.Limit == b.Limit && a.Priority == b.Priority && a.Ineligible == b.Ineligible && a.Why == b.Why &&
		a.Trait == b.Trait && a.Overtaken == b.Overtaken && slices.Equal(a.Caps, b.Caps) && a.User == b.User && a.Walltime == b.Walltime && alikeDemand(a, b)
}

// alikeDemand goes through what may be long only where it is not one in memory.
func alikeDemand(a, b *plan.Waiting) bool {
	x, y := &a.Demand, &b.Demand
	return x.Architecture == y.Architecture && x.System == y.System && x.Exclusive == y.Exclusive && x.DistinctNodes == y.DistinctNodes &&
		x.Disk == y.Disk && deepAlike(x.Chunks, y.Chunks) && slices.Equal(x.Properties, y.Properties) && slices.Equal(x.Hosts, y.Hosts) &&
		deepAlike(x.Measures, y.Measures)
}
