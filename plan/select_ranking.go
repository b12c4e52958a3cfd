package plan

// ranking keeps the sites ordered by how many free nodes each has, most first, and
// the sum over the first of them (told by its changes), while single nodes come and go. Sites of equal
// number stand together:
//
//	number   7 | 4  4  4 | 2 | 0 ...
//	           above[4]=1  above[2]=4     above[v]: how many sites have more than v
//
// One node more moves a site to the head of its group, which then belongs to the
// group before; one less moves it to the tail. Either is one exchange.
type ranking struct {
	top   int // K': so many sites may take part,
	least int // with at least so many nodes
	free  []int32
	place []int32 // by site
	sites []int32 // by place
	above []int32 // by number
}

func newRanking(sites, widest, top, least int) *ranking {
	r := &ranking{
		top: top, least: least,
		free: make([]int32, sites), place: make([]int32, sites), sites: make([]int32, sites),
		above: make([]int32, widest+1),
	}
	for j := range r.sites {
		r.place[j], r.sites[j] = int32(j), int32(j)
	}
	return r
}

// add gives site one node more, and tells by how much the sum changes.
func (r *ranking) add(site int32) (change int) {
	v := r.free[site]
	head := r.above[v]
	r.above[v]++
	r.free[site]++
	r.exchange(site, head)
	if int(head) >= r.top {
		return 0
	}
	return r.worth(v+1) - r.worth(v)
}

// remove takes one node from site, and tells by how much the sum changes.
func (r *ranking) remove(site int32) (change int) {
	v := r.free[site]
	r.above[v-1]--
	tail := r.above[v-1]
	r.free[site]--
	r.exchange(site, tail)
	if int(tail) >= r.top {
		return 0
	}
	return r.worth(v-1) - r.worth(v)
}

// worth is what v nodes of one site count for.
func (r *ranking) worth(v int32) int {
	if int(v) < r.least {
		return 0
	}
	return int(v)
}

// exchange puts site at a place, and who was there at the site's.
func (r *ranking) exchange(site, place int32) {
	other, old := r.sites[place], r.place[site]
	r.sites[place], r.sites[old] = site, other
	r.place[site], r.place[other] = place, old
}
