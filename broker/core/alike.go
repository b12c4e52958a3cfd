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

// alikeButForTime tells that two snapshots show the same. Most are told apart, or are not, by a look at the jobs, of which
// there may be thousands; the rest is short.
func alikeButForTime(a, b plan.Snapshot) bool {
	if a.Site != b.Site || !alikeLists(a.Running, b.Running, alikeRunning) || !alikeLists(a.Waiting, b.Waiting, alikeWaiting) {
		return false
	}
	if same(a.Nodes, b.Nodes) {
		a.Nodes, b.Nodes = nil, nil
	}
	a.Running, a.Waiting, b.Running, b.Waiting = nil, nil, nil, nil
	a.At, b.At = 0, 0
	return reflect.DeepEqual(&a, &b)
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
		(same(a.Shares, b.Shares) || reflect.DeepEqual(a.Shares, b.Shares))
}

func alikeWaiting(a, b *plan.Waiting) bool {
	return a.Job == b.Job && a.Queue == b.Queue && a.Limit == b.Limit && a.Priority == b.Priority && a.Held == b.Held && a.Why == b.Why &&
		a.Trait == b.Trait && a.Overtaken == b.Overtaken && slices.Equal(a.Caps, b.Caps) && alikeDemand(a, b)
}

func alikeDemand(a, b *plan.Waiting) bool {
	if !same(a.Demand.Chunks, b.Demand.Chunks) {
		return reflect.DeepEqual(a.Demand, b.Demand)
	}
	x, y := a.Demand, b.Demand
	x.Chunks, y.Chunks = nil, nil
	return reflect.DeepEqual(x, y)
}
