package plan

import (
	"fmt"
	"iter"
	"slices"
	"sort"

	"gbroker/grid"
)

// Timeline is what is free at one site over time, counted: a step function whose
// values are vectors (cores, memory, any named resource), from an instant on without
// end. It is immutable; any number of goroutines may read it, and those that hold an
// old one keep it while others change theirs. Values may be negative: an outage under
// jobs that run.
//
// It is the view for many readers. The scheduler that [Counted] is keeps its own
// steps, of cores alone, which it changes in place thousands of times in a pass; a
// [Plan] knows node by node who lies where, and so sees what a sum over nodes hides,
// that four free cores on four nodes are no place for a piece of four. What a Timeline
// refuses no placement on nodes can do; what it grants may still fail on them.
//
// The points lie in pages of some hundred. The spine lists the pages with the least
// and the most of each resource in each, so that a search passes over a whole page
// where all of it or none of it will do, and with an amount that is added to all of
// the page's points. A change of any length so copies the pages at its two ends and
// the spine; the rest is shared with the timeline it came from.
//
//	spine    at    0        7:00     9:30          first instant of each page
//	         plus  0        -64      0             added to each value of the page
//	         least 12       0        40            with plus
//	         most  5000     300      5000
//	pages    [0 5000|6:10 12|...] [7:00 64|...] [9:30 40|...]
//
// No two neighbours are equal: timelines that are equal as functions have the same steps.
type Timeline struct {
	names []string
	spine spine
}

// Vector is an amount of each resource of a timeline, in the order in which they were
// named when it was made. One of another length is a mistake of the program.
type Vector []int64

// Forever as the end of a change is that it has none.
const Forever = never

// Bounds of a timeline, so that nothing overflows.
const (
	mostResources = 256
	mostAmount    = int64(1) << 56 // of a capacity or change, either way
	mostFree      = int64(1) << 60 // of a value, either way
)

// spine lists the pages. What it holds of page p and resource r is at p*width+r.
type spine struct {
	width             int         // number of resources
	at                []grid.Tick // first instants
	pages             []*page
	plus, least, most []int64
}

// pageSize is the most points on a page. A change at a million points copies about as
// much of the spine as of pages.
const pageSize = 512

// page is a stretch of points. What is free of resource r from at[i] on is, without
// the spine's plus, column(r)[i].
type page struct {
	owner *edit // who may change it in place
	n     int
	at    [pageSize]grid.Tick
	free  []int64
}

func newPage(owner *edit, width int) *page {
	return &page{owner: owner, free: make([]int64, width*pageSize)}
}

func (p *page) column(r int) []int64 { return p.free[r*pageSize : r*pageSize+p.n] }

// find is the point that holds t: the last that is no later, or the first.
func (p *page) find(t grid.Tick) int {
	return max(sort.Search(p.n, func(i int) bool { return p.at[i] > t })-1, 0)
}

// before is the number of points before t.
func (p *page) before(t grid.Tick) int {
	return sort.Search(p.n, func(i int) bool { return p.at[i] >= t })
}

// NewTimeline has all of the capacity free from an instant on. The order of the
// resources is that of every [Vector] of this timeline and of those made from it.
func NewTimeline(start grid.Tick, capacity ...grid.Resource) (*Timeline, error) {
	if err := checkInstant(start); err != nil {
		return nil, err
	}
	if len(capacity) == 0 || len(capacity) > mostResources {
		return nil, fmt.Errorf("%w: %d resources: from 1 to %d", grid.ErrInvalid, len(capacity), mostResources)
	}
	width := len(capacity)
	t := &Timeline{spine: spine{width: width, at: []grid.Tick{start}, plus: make([]int64, width)}}
	first := newPage(nil, width)
	first.n, first.at[0] = 1, start
	for r, c := range capacity {
		if slices.Contains(t.names, c.Name) {
			return nil, fmt.Errorf("%w: the resource %.80q comes twice", grid.ErrInvalid, c.Name)
		}
		if err := checkAmount(c.Name, c.Amount); err != nil {
			return nil, err
		}
		t.names = append(t.names, c.Name)
		t.spine.least = append(t.spine.least, c.Amount)
		first.column(r)[0] = c.Amount
	}
	t.spine.most = slices.Clone(t.spine.least)
	t.spine.pages = []*page{first}
	return t, nil
}

func checkInstant(at grid.Tick) error {
	if at < -maxInstant || at > maxInstant {
		return fmt.Errorf("%w: the instant %d ms: at most %d ms from 1970", grid.ErrInvalid, at, grid.Tick(maxInstant))
	}
	return nil
}

func checkAmount(name string, amount int64) error {
	if amount < -mostAmount || amount > mostAmount {
		return fmt.Errorf("%w: %d of %.80q: at most %d", grid.ErrInvalid, amount, name, mostAmount)
	}
	return nil
}

// Vector is amounts by name; what is not named is 0. A resource that the timeline
// does not have is a grid.ErrNotFound.
func (t *Timeline) Vector(amounts ...grid.Resource) (Vector, error) {
	v := make(Vector, len(t.names))
	for _, a := range amounts {
		r := slices.Index(t.names, a.Name)
		if r < 0 {
			return nil, fmt.Errorf("%w: the resource %.80q; there are %.200q", grid.ErrNotFound, a.Name, t.names)
		}
		if err := checkAmount(a.Name, a.Amount); err != nil {
			return nil, err
		}
		v[r] = a.Amount
	}
	return v, nil
}

// Start is the first instant. Whoever asks for an earlier one is told of the first.
func (t *Timeline) Start() grid.Tick { return t.spine.at[0] }

// Len is the number of steps.
func (t *Timeline) Len() int {
	n := 0
	for _, p := range t.spine.pages {
		n += p.n
	}
	return n
}

// At is what is free at an instant.
func (t *Timeline) At(at grid.Tick) Vector {
	p := t.spine.find(at)
	v := make(Vector, t.spine.width)
	t.spine.load(v, p, t.spine.pages[p].find(at))
	return v
}

// Steps are the instants from which something else is free, with what is free from
// then on. The vector is valid until the next step.
func (t *Timeline) Steps() iter.Seq2[grid.Tick, Vector] {
	return func(yield func(grid.Tick, Vector) bool) {
		v := make(Vector, t.spine.width)
		for p, page := range t.spine.pages {
			for i := range page.n {
				t.spine.load(v, p, i)
				if !yield(page.at[i], v) {
					return
				}
			}
		}
	}
}

// Equal tells whether the same is free of the same resources at every instant.
func (t *Timeline) Equal(o *Timeline) bool {
	if !slices.Equal(t.names, o.names) || t.Len() != o.Len() {
		return false
	}
	next, stop := iter.Pull2(o.Steps())
	defer stop()
	for at, v := range t.Steps() {
		if otherAt, other, _ := next(); at != otherAt || !slices.Equal(v, other) {
			return false
		}
	}
	return true
}

// find is the page that holds t: the last that begins no later, or the first.
func (s *spine) find(t grid.Tick) int {
	return max(sort.Search(len(s.at), func(p int) bool { return s.at[p] > t })-1, 0)
}

// within tells, without a look at the page, whether all of page p lies between two
// instants. The last page does only where there is no end.
func (s *spine) within(p int, from, to grid.Tick) bool {
	return s.at[p] >= from && (to == Forever || p+1 < len(s.at) && s.at[p+1] <= to)
}

// load sets v to what is free from point i of page p on.
func (s *spine) load(v Vector, p, i int) {
	for r := range v {
		v[r] = s.free(p, i, r)
	}
}

// free is one value. Its two parts may have wrapped around where many changes took
// and gave; their sum is within mostFree, and so it is right.
func (s *spine) free(p, i, r int) int64 {
	return s.pages[p].free[r*pageSize+i] + s.plus[p*s.width+r]
}
