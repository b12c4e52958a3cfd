package plan

// ranking tells, while single pieces come and go, how many the sites with the most have
// together. It need not know which those are: with above(v) the number of sites that have
// more than v, each site of the first K' that has n counts in above(0) .. above(n-1), so
//
//	pieces of the first K'  =  sum over v of min(K', above(v))
//
//	number   7 | 4  4  4 | 2 | 0 ...      K' = 2: above(0..3) = 5, 5, 4, 4 count 2 each,
//	           above[4..6] = 1             above(4..6) = 1: 2+2+2+2+1+1+1 = 7+4
//
// Where a site counts only from m pieces on, above(m-1) has the weight m, and what is below none.
type ranking struct {
	top    int     // K': so many sites may take part
	free   []int32 // by site
	levels []layer
}

// layer is how many sites have more than a number, and what one of the first K' that comes to have more adds.
type layer struct{ above, weight int32 }

func newRanking(sites, widest, top, least int) *ranking {
	r := &ranking{top: top, free: make([]int32, sites), levels: make([]layer, widest+1)}
	for v := range r.levels {
		switch {
		case v == least-1:
			r.levels[v].weight = int32(least)
		case v >= least:
			r.levels[v].weight = 1
		}
	}
	return r
}

// change gives a site one piece more, or takes one away where goes is 1, and tells by how much the sum changes.
func (r *ranking) change(site int32, goes int) int {
	more := 1 - 2*goes
	v := int(r.free[site]) - goes
	r.free[site] += int32(more)
	l := &r.levels[v]
	others := int(l.above) - goes
	l.above += int32(more)
	return more * int(l.weight) & -int(uint(others-r.top)>>63)
}
