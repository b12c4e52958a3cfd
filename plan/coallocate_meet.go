package plan

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"gbroker/grid"
)

// mostMeetings bounds the sets that one search for meetings gives, and mostSteps what it tries for them.
const (
	mostMeetings = 64
	mostSteps    = 2_000
)

// Meets tells of which sites the nodes reach each other. It is made once for all jobs of a cycle, and keeps what it finds.
type Meets struct {
	index map[grid.SiteName]int
	of    []set // by site: those that it meets
	seed  uint64
	found map[string]met // by the sites that were looked at
}

// met are the sets that one search has found; there are more where it is not all.
type met struct {
	sets []set
	all  bool
}

// NewMeets takes what each site declares of the others: two meet where both do. Where there are too many sets to look at all,
// the seed says which come first.
func NewMeets(sites []grid.SiteName, declares func(a, b int) bool, seed uint64) *Meets {
	m := &Meets{index: make(map[grid.SiteName]int, len(sites)), seed: seed, found: map[string]met{}}
	for i, name := range sites {
		m.index[name] = i
		m.of = append(m.of, newSet(len(sites)))
		for j := range i {
			if declares(i, j) && declares(j, i) {
				m.of[i].add(j)
				m.of[j].add(i)
			}
		}
	}
	return m
}

// Meetings are the sets of two of n sites or more, of which every two meet, and to which no other can be added; in ascending
// order each. There are more where it is not all.
func Meetings(n int, declares func(a, b int) bool) (sets [][]int, all bool) {
	m := NewMeets(make([]grid.SiteName, n), declares, 0)
	every := newSet(n)
	for i := range n {
		every.add(i)
	}
	found := m.among(every)
	for _, s := range found.sets {
		sets = append(sets, s.members())
	}
	return sets, found.all
}

// among are the meetings of some of the sites.
func (m *Meets) among(some set) met {
	key := make([]byte, 0, 8*len(some))
	for _, word := range some {
		for shift := 0; shift < 64; shift += 8 {
			key = append(key, byte(word>>shift))
		}
	}
	found, known := m.found[string(key)]
	if !known {
		found = m.search(some)
		m.found[string(key)] = found
	}
	return found
}

// search goes through the sites in an order of chance, so that of too many sets each may be among the first.
func (m *Meets) search(some set) met {
	order := slices.DeleteFunc(some.members(), func(i int) bool { return !m.of[i].and(some).any() })
	random := rand.New(rand.NewPCG(m.seed, 0))
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	c := cliques{of: make([]set, len(order))}
	may := newSet(len(order))
	for i, a := range order {
		may.add(i)
		c.of[i] = newSet(len(order))
		for j, b := range order {
			if m.of[a].has(b) {
				c.of[i].add(j)
			}
		}
	}
	found := met{all: len(order) == 0 || c.extend(newSet(len(order)), may, newSet(len(order)))}
	for _, clique := range c.found {
		s := newSet(len(m.of))
		for _, i := range clique.members() {
			s.add(order[i])
		}
		found.sets = append(found.sets, s)
	}
	slices.SortFunc(found.sets, func(a, b set) int { return slices.Compare(a, b) })
	return found
}

// cliques are the maximal ones of a graph, after Bron and Kerbosch with a pivot.
type cliques struct {
	of    []set
	found []set
	steps int
}

// extend finds those with all that is picked and some of what may be added, but nothing that is done; it changes all three.
func (c *cliques) extend(picked, may, done set) (all bool) {
	c.steps++
	if !may.any() {
		if !done.any() {
			c.found = append(c.found, slices.Clone(picked))
		}
		return true
	}
	rest := may.without(c.of[c.pivot(may, done)])
	for v := rest.next(0); v >= 0; v = rest.next(v + 1) {
		if len(c.found) == mostMeetings || c.steps == mostSteps {
			return false
		}
		picked.add(v)
		if !c.extend(picked, may.and(c.of[v]), done.and(c.of[v])) {
			return false
		}
		picked.drop(v)
		may.drop(v)
		done.add(v)
	}
	return true
}

// pivot is who has the most neighbours among those that may be added.
func (c *cliques) pivot(may, done set) (pivot int) {
	most := -1
	for _, from := range []set{may, done} {
		for v := from.next(0); v >= 0; v = from.next(v + 1) {
			n := 0
			for w, word := range c.of[v] {
				n += bits.OnesCount64(word & may[w])
			}
			if n > most {
				pivot, most = v, n
			}
		}
	}
	return pivot
}

// asks is what is asked of the market: once; but where all sites have to meet, once of single sites, and once of each
// meeting of those that have any room. The sites that are not of one deliver too late. There are more where it is not all.
func (w *Wide) asks(wanted Wanted, o *offers) (out []Wanted, all bool) {
	if w.Meet == nil {
		return []Wanted{wanted}, true
	}
	some, at := newSet(len(w.Meet.of)), make([]int, len(o.market.sites))
	for j, roomy := range o.hall.roomy(&wanted, &o.chunks[0]) {
		i, known := w.Meet.index[o.market.sites[j].site.Name]
		if at[j] = -1; known && roomy {
			at[j] = i
			some.add(i)
		}
	}
	single := wanted
	single.MaxSites = 1
	out = []Wanted{single}
	found := w.Meet.among(some)
	for _, s := range found.sets {
		next := wanted
		next.Delivery = make([]grid.Tick, len(at))
		for j, i := range at {
			if next.Delivery[j] = maxInstant; i >= 0 && s.has(i) {
				next.Delivery[j] = wanted.Delivery[j]
			}
		}
		out = append(out, next)
	}
	return out, found.all
}

// roomy tells of each site whether it has room, at one time or another, for the least that a job takes of one.
func (h *hall) roomy(wanted *Wanted, c *chunkOffers) []bool {
	shortest := endless
	for _, speed := range h.m.speeds {
		shortest = min(shortest, wanted.length(speed))
	}
	pieces := make([]int, len(h.m.sites))
	for i := range h.m.nodes {
		site := h.m.nodes[i].site
		from := wanted.usable(int(site))
		if slices.ContainsFunc(h.runs[i], func(r run) bool { return r.end-max(r.start, from) >= shortest }) {
			pieces[site] += int(c.worth[h.kindOf[i]])
		}
	}
	out := make([]bool, len(pieces))
	for j, n := range pieces {
		out[j] = n >= max(wanted.MinPerSite, 1)
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
