package plan

import (
	"cmp"
	"maps"
	"slices"

	"gbroker/grid"
)

func (w *nodeTwin) inOrder() []int {
	var order []int
	for n := range w.s.Nodes {
		order = append(order, n)
	}
	return order
}

// aheadFirst has the nodes first on which a reservation lies ahead.
func (w *nodeTwin) aheadFirst() []int {
	ahead := func(n int) bool {
		on := func(r twinRun) bool {
			return r.start > w.now && slices.ContainsFunc(r.shares, func(h Share) bool { return h.Node == n })
		}
		for _, r := range w.kept {
			if on(r) {
				return true
			}
		}
		for _, r := range w.bound {
			if on(r) {
				return true
			}
		}
		return slices.ContainsFunc(w.ran, func(r twinRun) bool { return r.reserved && on(r) })
	}
	order := w.inOrder()
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := ahead(a), ahead(b); {
		case x && !y:
			return -1
		case y && !x:
			return 1
		}
		return 0
	})
	return order
}

// latestFirst has the nodes first on which something ends the latest before t; those of one job in their order.
func (w *nodeTwin) latestFirst(t grid.Tick) []int {
	type key struct {
		until grid.Tick
		id    int
	}
	held := slices.AppendSeq(slices.Clone(w.ran), maps.Values(w.bound))
	of := func(n int) (k key) {
		for _, r := range held {
			if r.end > w.now && r.until <= t && slices.ContainsFunc(r.shares, func(h Share) bool { return h.Node == n }) {
				if r.until > k.until || r.until == k.until && r.id > k.id {
					k = key{r.until, r.id}
				}
			}
		}
		return k
	}
	order := w.inOrder()
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := of(a), of(b)
		return cmp.Or(cmp.Compare(y.until, x.until), cmp.Compare(y.id, x.id))
	})
	return order
}

func (w *nodeTwin) sorted(by Order) []int {
	var queue []int
	for _, i := range w.queue {
		if w.from[i] <= w.now {
			queue = append(queue, i)
		}
	}
	rank := func(i int) int64 {
		x := w.s.Waiting[i]
		cores := int64(x.Demand.Chunks[0].Count) * int64(max(x.Demand.Chunks[0].Cores, 1))
		switch by {
		case ShortestFirst:
			return int64(w.limit(i))
		case LongestFirst:
			return -int64(w.limit(i))
		case SmallestFirst:
			return cores
		case LargestFirst:
			return -cores
		case ByPriority:
			return -x.Priority
		}
		return 0
	}
	slices.SortStableFunc(queue, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	return queue
}
