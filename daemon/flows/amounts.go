package flows

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"gbroker/grid"
)

// maxAmount is the most of a named resource that is asked about beside what tasks need, and maxAmounts bounds those questions.
const maxAmount, maxAmounts = 16, 20

// amounts are those of resources to ask about, each name with its share of them: what tasks need, and powers of two, by which it is found how much
// there is.
func amounts(needs []grid.Resource) (list []grid.Resource) {
	needed := map[string][]int64{}
	for _, r := range needs {
		if r.Amount <= grid.MaxProcesses {
			needed[r.Name] = append(needed[r.Name], r.Amount)
		}
	}
	names := slices.Sorted(maps.Keys(needed))
	for _, name := range names {
		needed[name] = wanted(needed[name], max(maxAmounts/len(names), 1))
	}
	for turn, more := 0, true; more; turn++ {
		more = false
		for _, name := range names {
			if turn < len(needed[name]) && len(list) < maxAmounts {
				list, more = append(list, grid.Resource{Name: name, Amount: needed[name][turn]}), true
			}
		}
	}
	slices.SortFunc(list, func(a, b grid.Resource) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Amount, b.Amount))
	})
	return list
}

// wanted are the amounts of one resource to ask about, the most telling first: of those that are needed as many as its share, evenly from the most to
// the least; the others; powers of two.
func wanted(needed []int64, share int) (list []int64) {
	slices.Sort(needed)
	needed = slices.Compact(needed)
	last := len(needed) - 1
	for k := range share {
		list = append(list, needed[last-k*last/max(share-1, 1)])
	}
	list = append(list, needed...)
	for n := int64(1); n <= maxAmount; n *= 2 {
		list = append(list, n)
	}
	said := map[int64]bool{}
	return slices.DeleteFunc(list, func(n int64) bool {
		again := said[n]
		said[n] = true
		return again
	})
}
