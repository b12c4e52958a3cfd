// # The planning cycle
//
// [Lookahead] plans all jobs of a home that wait for several sites, in the order of fee and priority,
// each beside those before it:
//
//	waiting ──by fee, priority──► Coallocate ──► planned ── it must be reserved by now ──► reserve
//	   ▲                             │ slots taken                │ not yet
//	   └── what came meanwhile       ▼                            ▼
//	                          cut from the offers         the next cycle plans it anew
//
// A plan is no promise: only what is reserved holds. A job is reserved when its start is within the
// window after its delivery could be made, so that the files go out in time. Fee here is what
// was offered for a core and hour; the order within equal fees and priorities is as given.
package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// Waits is one job of a planning cycle.
type Waits struct {
	Wide
	Job      grid.JobID
	Priority int
	Delivery func(grid.SiteName) grid.Tick // how long its files take to a site; nil is that of the offer
	Alone    []Alone
}

// Ahead is what a cycle says of one job, in the order in which it was given.
type Ahead struct {
	Job grid.JobID
	Allocated
	// Reserve tells that it is to be reserved now; what is not stays a plan.
	Reserve bool
}

// Lookahead plans the jobs over what sites offer. Each must have passed its Check.
func Lookahead(jobs []Waits, offers []Offered, window grid.Tick) []Ahead {
	out := make([]Ahead, len(jobs))
	if len(jobs) == 0 {
		return out
	}
	m, sound, rejected := marketOf(&jobs[0].Wide, offers)
	h := newHall(m)
	index := make(map[grid.SiteName]int, len(sound))
	for i, o := range sound {
		index[o.Site.Name] = i
	}
	for _, i := range order(jobs) {
		w := &jobs[i]
		wanted := w.wanted(sound)
		if w.Delivery != nil {
			for j, o := range sound {
				wanted.Delivery[j] = min(max(w.Delivery(o.Site.Name), 0), maxInstant)
			}
		}
		out[i] = Ahead{Job: w.Job, Allocated: h.allocate(&w.Wide, wanted, w.Alone)}
		out[i].Rejected = rejected
		late := grid.Tick(0) // the longest delivery
		for _, p := range out[i].Parts {
			late = max(late, wanted.Delivery[index[p.Site]])
			for _, node := range p.taken {
				h.take(node, out[i].Start, out[i].Until)
			}
		}
		out[i].Reserve = len(out[i].Parts) > 0 && out[i].Start <= w.Now+late+w.Margin+window
	}
	return out
}

// order is that in which jobs are planned.
func order(jobs []Waits) []int {
	all := make([]int, len(jobs))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Or(cmp.Compare(jobs[b].Fee, jobs[a].Fee), cmp.Compare(jobs[b].Priority, jobs[a].Priority))
	})
	return all
}
