package workflow

import (
	"cmp"
	"slices"
	"time"

	"gbroker/flow"
)

// Opening is that so many cores of a place can be had together after a wait, as the site itself estimates it: what others, and
// earlier tasks, run and have queued there is in it.
type Opening struct {
	Cores int           `json:"cores"`
	After time.Duration `json:"after"`
}

// taken is what openings leave closed of one resource of a place, of which it has so many. Between two openings so many cores are free as the one before says; before the
// first none is, and after the last all are. One after more than [flow.MaxTime] is after that: a site that says so is late, and spoils nothing.
func taken(openings []Opening, most, resource int) (list []flow.Taken) {
	openings = slices.Clone(openings)
	slices.SortFunc(openings, func(a, b Opening) int { return cmp.Compare(a.Cores, b.Cores) })
	for i := len(openings) - 2; i >= 0; i-- { // who has more has less: it was asked about for tasks of several kinds
		openings[i].After = min(openings[i].After, openings[i+1].After)
	}
	free, from := 0, flow.Time(0)
	for _, o := range openings {
		after := min(micro(o.After), flow.MaxTime)
		if closed := most - free; after > from && closed > 0 {
			amounts := make([]int64, resource+1)
			amounts[resource] = int64(closed)
			list = append(list, flow.Taken{From: from, To: after, Amounts: amounts})
			from = after
		}
		free = min(o.Cores, most)
	}
	return list
}

// Probes are the numbers of cores about which the sites are asked before a plan: what tasks need, what places have, and
// powers of two between, n at most.
func Probes(needs []int, places []Place, n int) []int {
	most := 1
	list := slices.Clone(needs)
	for _, p := range places {
		most = max(most, p.Cores)
		list = append(list, p.Cores)
	}
	for c := 1; c < most; c *= 2 {
		list = append(list, c)
	}
	list = slices.DeleteFunc(list, func(c int) bool { return c < 1 || c > most })
	slices.Sort(list)
	list = slices.Compact(list)
	for len(list) > n { // evenly fewer: the least and the most stay
		list = slices.Delete(list, len(list)/2, len(list)/2+1)
	}
	return list
}
