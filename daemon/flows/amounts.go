package flows

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"gbroker/api/workflow"
	"gbroker/grid"
)

// asking is what a site is asked when it could have: so many tasks of one demand at once. One of no demand is about so many cores.
type asking struct {
	each  grid.Demand
	times int
}

const (
	// maxDemands bounds the demands of tasks that sites are asked about, maxMany the questions about several of those at once.
	maxDemands, maxMany = 12, 72
	// maxBytes bounds the memory that is asked about.
	maxBytes = int64(1) << 56
)

// demand is that of all of them.
func (a *asking) demand() grid.Demand {
	if len(a.each.Chunks) == 0 {
		return grid.Demand{Chunks: []grid.Chunk{{Count: a.times, Processes: 1, Cores: 1}}}
	}
	d := a.each
	d.Chunks = slices.Clone(d.Chunks)
	for i := range d.Chunks {
		d.Chunks[i].Count *= a.times
	}
	d.DistinctNodes = d.DistinctNodes && a.times == 1 // of one task: two may share a node
	return d
}

// note takes a site's word.
func (a *asking) note(p *workflow.Place, row *grid.Candidate) {
	if len(a.each.Chunks) == 0 {
		note(p, a.times, row)
		return
	}
	all := amountsOf(a.each)
	for _, what := range all {
		what.Amount *= int64(a.times)
		noteAmount(p, what, row, len(all) == 1 && a.times*a.each.Cores() <= p.Cores)
	}
}

// amountsOf are those of a demand beside its cores.
func amountsOf(d grid.Demand) (list []grid.Resource) {
	if m := d.Memory(); m > 0 {
		list = append(list, grid.Resource{Name: workflow.Memory, Amount: m})
	}
	return append(list, d.Resources()...)
}

// amounts are the questions about memory and named resources: of the demands of tasks, how many could be had at once.
func amounts(tasks []grid.Demand, places []workflow.Place) (list []asking) {
	demands := telling(tasks)
	for _, d := range demands {
		for _, n := range multiples(d, places, maxMany/len(demands)) {
			list = append(list, asking{d, n})
		}
	}
	return list
}

// telling are the demands by which the most is learned: of each name those with the most and the least of it, then others, evenly.
func telling(tasks []grid.Demand) (list []grid.Demand) {
	distinct, names := map[string]grid.Demand{}, map[string]bool{}
	for _, d := range tasks {
		if text, err := json.Marshal(d); err == nil && len(amountsOf(d)) > 0 {
			distinct[string(text)] = d
		}
		for _, r := range amountsOf(d) {
			names[r.Name] = true
		}
	}
	left := slices.Sorted(maps.Keys(distinct))
	take := func(k int) {
		list, left = append(list, distinct[left[k]]), slices.Delete(left, k, k+1)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, sign := range []int64{1, -1} {
			best, most := -1, int64(0)
			for k, text := range left {
				if n := amountIn(distinct[text], name); n > 0 && (best < 0 || sign*n > most) {
					best, most = k, sign*n
				}
			}
			if best >= 0 && len(list) < maxDemands {
				take(best)
			}
		}
	}
	for len(left) > 0 && len(list) < maxDemands {
		take(len(left) / 2)
	}
	return list
}

func amountIn(d grid.Demand, name string) int64 {
	for _, r := range amountsOf(d) {
		if r.Name == name {
			return r.Amount
		}
	}
	return 0
}

// multiples are how many tasks of a demand to ask about: one, as many as there are cores for at each place, and between, some at most.
func multiples(d grid.Demand, places []workflow.Place, some int) []int {
	cores, most := max(d.Cores(), 1), grid.MaxProcesses/max(d.Processes(), d.Cores(), 1)
	for _, r := range amountsOf(d) {
		most = int(min(int64(most), maxBytes/r.Amount))
	}
	list, far := []int{1}, 1
	for i := range places {
		n := min(places[i].Cores/cores, most)
		list, far = append(list, n), max(far, n)
	}
	for n := 2; n < far; n = n * 3 / 2 {
		list = append(list, n)
	}
	list = slices.DeleteFunc(list, func(n int) bool { return n < 1 })
	slices.Sort(list)
	return thinned(slices.Compact(list), max(some, 2))
}

// thinned has at most so many of a list, evenly, with the first and the last.
func thinned(list []int, most int) (few []int) {
	if len(list) <= most {
		return list
	}
	for k := range most {
		few = append(few, list[k*(len(list)-1)/(most-1)])
	}
	return few
}

// byAmount has a place's word about a resource.
func byAmount(p *workflow.Place, name string) *workflow.Amount {
	at := slices.IndexFunc(p.Amounts, func(a workflow.Amount) bool { return a.Name == name })
	if at < 0 {
		at, p.Amounts = len(p.Amounts), append(p.Amounts, workflow.Amount{Name: name})
	}
	return &p.Amounts[at]
}

// noteAmount takes its word about so much of a resource. There is as much as it does not refuse for ever; surely is that it refuses for the want of that alone.
func noteAmount(p *workflow.Place, what grid.Resource, row *grid.Candidate, surely bool) {
	a, n := byAmount(p, what.Name), int(what.Amount)
	after, ever := opening(row)
	switch {
	case ever:
		a.Most = max(a.Most, n)
		a.Openings = append(a.Openings, workflow.Opening{Cores: n, After: after})
	case surely:
		a.Lacks = cmp.Or(min(a.Lacks, n), n)
	}
}
