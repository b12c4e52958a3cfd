package plan

import (
	"slices"

	"gbroker/grid"
)

// MostMeetings bounds the sets of [Meetings].
const MostMeetings = 64

// Meetings are the sets of two of n sites or more, of which every two meet, and to which no other can be added; in ascending
// order each. They are the maximal cliques, after Bron and Kerbosch with a pivot. There are more where it is not all.
func Meetings(n int, meet func(a, b int) bool) (sets [][]int, all bool) {
	m := meetings{meet: func(a, b int) bool { return a != b && meet(a, b) && meet(b, a) }}
	every := make([]int, n)
	for i := range every {
		every[i] = i
	}
	some := slices.DeleteFunc(slices.Clone(every), func(i int) bool { return len(m.of(i, every)) == 0 })
	all = len(some) == 0 || m.extend(nil, some, nil)
	return m.sets, all
}

type meetings struct {
	meet func(a, b int) bool
	sets [][]int
}

// extend finds the sets with all that is picked and some of what may be added, but nothing that is done.
func (m *meetings) extend(picked, may, done []int) (all bool) {
	if len(may) == 0 {
		if len(done) == 0 {
			m.sets = append(m.sets, slices.Sorted(slices.Values(picked)))
		}
		return true
	}
	pivot, most := 0, -1
	for _, v := range slices.Concat(may, done) {
		if n := len(m.of(v, may)); n > most {
			pivot, most = v, n
		}
	}
	for _, v := range may {
		if m.meet(pivot, v) {
			continue
		}
		if len(m.sets) == MostMeetings || !m.extend(append(slices.Clip(picked), v), m.of(v, may), m.of(v, done)) {
			return false
		}
		may, done = slices.DeleteFunc(slices.Clone(may), func(o int) bool { return o == v }), append(slices.Clip(done), v)
	}
	return true
}

// of are those of a list that one meets.
func (m *meetings) of(v int, list []int) (out []int) {
	for _, o := range list {
		if m.meet(v, o) {
			out = append(out, o)
		}
	}
	return out
}

// asks is what is asked of the market: once; but where all sites have to meet, once of single sites, and once of each of
// their meetings. The sites that are not of one deliver too late.
func (w *Wide) asks(wanted Wanted, sites []*ground) []Wanted {
	if w.Meet == nil {
		return []Wanted{wanted}
	}
	single := wanted
	single.MaxSites = 1
	out := []Wanted{single}
	sets, _ := Meetings(len(sites), func(a, b int) bool { return w.Meet(sites[a].site.Name, sites[b].site.Name) })
	for _, set := range sets {
		some := wanted
		some.Delivery = make([]grid.Tick, len(sites))
		for j := range some.Delivery {
			if some.Delivery[j] = maxInstant; slices.Contains(set, j) {
				some.Delivery[j] = wanted.Delivery[j]
			}
		}
		out = append(out, some)
	}
	return out
}

// earliest is the first end that one of the questions has, and those that have it.
func (o *offers) earliest(asks []Wanted) (b best, first []Wanted) {
	b = best{start: endless, end: endless}
	for i := range asks {
		x := o.search(&asks[i])
		if !x.found || x.end > b.end {
			continue
		}
		if x.end < b.end {
			b, first = x, nil
		}
		first = append(first, asks[i])
	}
	return b, first
}
