package plan

import "gbroker/grid"

// Shortfall is why there is no place on a timeline.
type Shortfall struct {
	Why      Why
	Resource string // which lacks; "" beyond the horizon
	Asked    int64
	// Available is the most of it that is ever free from the instant asked about on,
	// or, for NeverForSoLong, what is free of it in the end.
	Available int64
}

// Why tells the kinds of shortfall apart.
type Why uint8

// The kinds of shortfall.
const (
	// BeyondHorizon is that there is a place, but it begins after the horizon.
	BeyondHorizon Why = 1 + iota
	// NeverSoMuch is that more is asked than is ever free.
	NeverSoMuch
	// NeverForSoLong is that as much is free at times, but never for so long with all
	// that is asked of the other resources.
	NeverForSoLong
)

// Refusal is the shortfall in the words of grid.
func (s *Shortfall) Refusal() *grid.Refusal {
	switch s.Why {
	case BeyondHorizon:
		return &grid.Refusal{Reason: "beyond the horizon"}
	case NeverForSoLong:
		return lack("never enough "+s.Resource+" for so long", s.Asked, s.Available)
	}
	return lack("not enough "+s.Resource, s.Asked, s.Available)
}

// Earliest is the first instant from notBefore on from which so much is free for a
// time d (at least 1 ms; more than 31,000 years is for ever), if it is no later than
// the horizon. A resource of which 0 or less is asked does not count, even where less
// is free.
func (t *Timeline) Earliest(need Vector, d, notBefore, horizon grid.Tick) (grid.Tick, *Shortfall) {
	q := query{need: need, d: max(d, 1), doubtful: make([]int, 0, 8)}
	if d > maxInstant {
		q.d = Forever
	}
	q.notBefore = min(notBefore, maxInstant+1)
	q.horizon = min(horizon, maxInstant)
	start, found := q.search(&t.spine)
	switch {
	case !found:
		return 0, t.shortfall(q)
	case start > q.horizon:
		return 0, &Shortfall{Why: BeyondHorizon}
	}
	return start, nil
}

// query is what is looked for.
type query struct {
	need                  Vector
	d, notBefore, horizon grid.Tick
	doubtful              []int // resources of which some points of the present page have too little
}

// search is the first place; if it is beyond the horizon, any there.
func (q *query) search(s *spine) (start grid.Tick, found bool) {
	last := len(s.pages) - 1
	ends := s.holds(last, s.pages[last].n-1, q.need)
	start = never
	for p := s.find(q.notBefore); p <= last; p++ {
		at := max(s.at[p], q.notBefore)
		switch {
		case at-start >= q.d:
			return start, true
		case ends && start == never && at > q.horizon:
			return never, true
		}
		switch q.doubt(s, p) {
		case all:
			start = min(start, at)
		case none:
			start = never
		default:
			if start, found = q.scan(s, p, start); found {
				return start, true
			}
		}
	}
	return start, start != never
}

// Which points of a page have enough.
type enough uint8

const (
	some enough = iota
	all
	none
)

// doubt says whether all or no points of page p have enough, by its summary; else it
// sets the resources to look at.
func (q *query) doubt(s *spine, p int) enough {
	q.doubtful = q.doubtful[:0]
	least, most := s.least[p*s.width:(p+1)*s.width], s.most[p*s.width:(p+1)*s.width]
	for r, n := range q.need {
		switch {
		case n <= 0 || least[r] >= n:
		case most[r] < n:
			return none
		default:
			q.doubtful = append(q.doubtful, r)
		}
	}
	if len(q.doubtful) == 0 {
		return all
	}
	return some
}

// scan goes on over the points of page p: start is where the present run of points
// with enough began, or never. Where no run can be long enough before the page's end,
// or that of the next few points, only the one that reaches it matters, and it is
// sought from there backward.
func (q *query) scan(s *spine, p int, start grid.Tick) (_ grid.Tick, found bool) {
	page := s.pages[p]
	ends := Forever
	if p+1 < len(s.at) {
		ends = s.at[p+1]
	}
	i := 0
	if s.at[p] < q.notBefore {
		i = page.find(q.notBefore)
	}
	for j := 0; i < page.n && !found; i = j {
		began := min(start, max(page.at[i], q.notBefore))
		if j = page.n; ends-began < q.d {
			start = q.backward(s, p, i, j, began)
			continue
		}
		if j = min(i+fewPoints, page.n); j < page.n && page.at[j]-began < q.d {
			start = q.backward(s, p, i, j, began)
			continue
		}
		start, found = q.forward(s, p, i, j, start)
	}
	return start, found
}

const fewPoints = 32

// backward is where the run began that reaches the end of points i to j, or never;
// began is where it did if all of them have enough.
func (q *query) backward(s *spine, p, i, j int, began grid.Tick) grid.Tick {
	at := &s.pages[p].at
	for k := j - 1; k >= i; k-- {
		switch {
		case !q.lacks(s, p, k):
		case k == j-1:
			return never
		default:
			return at[k+1]
		}
	}
	return began
}

// lacks tells whether point i of page p has too little.
func (q *query) lacks(s *spine, p, i int) bool {
	for _, r := range q.doubtful {
		if s.free(p, i, r) < q.need[r] {
			return true
		}
	}
	return false
}

// forward looks for a run that is long enough. Which point has enough is hard to
// foretell, so the loop for one resource has no branch on it.
func (q *query) forward(s *spine, p, i, j int, start grid.Tick) (_ grid.Tick, found bool) {
	page := s.pages[p]
	if len(q.doubtful) > 1 {
		for ; i < j; i++ {
			if page.at[i]-start >= q.d {
				return start, true
			}
			start = min(start, max(page.at[i], q.notBefore))
			if q.lacks(s, p, i) {
				start = never
			}
		}
		return start, false
	}
	r := q.doubtful[0]
	need, free := q.need[r]-s.plus[p*s.width+r], page.column(r)[i:j]
	for k, at := range page.at[i:j] {
		if at-start >= q.d {
			return start, true
		}
		start = min(start, max(at, q.notBefore))
		if free[k] < need {
			start = never
		}
	}
	return start, false
}

// holds tells whether so much is free from point i of page p on.
func (s *spine) holds(p, i int, need Vector) bool {
	for r, n := range need {
		if n > 0 && s.free(p, i, r) < n {
			return false
		}
	}
	return true
}

// shortfall is why there is no place at all: in the end there is too little.
func (t *Timeline) shortfall(q query) *Shortfall {
	s := &t.spine
	var out *Shortfall
	for r, n := range q.need {
		if n <= 0 {
			continue
		}
		if _, most := s.extent(r, q.notBefore, Forever); most < n {
			return &Shortfall{NeverSoMuch, t.names[r], n, most}
		}
		last := len(s.pages) - 1
		if ever := s.free(last, s.pages[last].n-1, r); ever < n && out == nil {
			out = &Shortfall{NeverForSoLong, t.names[r], n, ever}
		}
	}
	return out
}

// Fits tells whether so much is free at every instant from one until just before
// another, or at the first if there is none between.
func (t *Timeline) Fits(from, to grid.Tick, need Vector) bool {
	for r, n := range need {
		if n <= 0 {
			continue
		}
		if least, _ := t.spine.extent(r, from, to); least < n {
			return false
		}
	}
	return true
}

// Least is the least that is free of each resource from an instant until just before
// another, or at the first if there is none between.
func (t *Timeline) Least(from, to grid.Tick) Vector {
	v := make(Vector, t.spine.width)
	for r := range v {
		v[r], _ = t.spine.extent(r, from, to)
	}
	return v
}

// extent is the least and the most that is free of resource r from an instant until
// just before another, or at the first.
func (s *spine) extent(r int, from, to grid.Tick) (least, most int64) {
	first := s.find(from)
	for p := first; p < len(s.pages) && (p == first || s.at[p] < to); p++ {
		low, high := s.least[p*s.width+r], s.most[p*s.width+r]
		if !s.within(p, from, to) {
			page := s.pages[p]
			i := page.find(from)
			low, high = s.free(p, i, r), s.free(p, i, r)
			for k, j := i+1, page.before(to); k < j; k++ {
				low, high = min(low, s.free(p, k, r)), max(high, s.free(p, k, r))
			}
		}
		if p == first {
			least, most = low, high
		}
		least, most = min(least, low), max(most, high)
	}
	return least, most
}
