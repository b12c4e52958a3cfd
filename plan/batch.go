package plan

import (
	"slices"
	"sort"

	"gbroker/grid"
)

// Batch answers a row of questions about one plan, each as if the jobs of those
// before had come and stood where their answer says: they are booked, and no later
// answer moves them. A question costs a search and, if it is booked, a copy of what
// lies behind its start; the plan is not run forward again (see [Plan.With] for
// that, which the first answer of a batch equals).
//
// A Batch belongs to one goroutine; the plan it came from stays as it is.
type Batch struct {
	p        Plan // its moments and what is free are this batch's own
	search   *search
	bookings []grid.Tick // starts that lie ahead, ascending
}

// Batch begins a row of questions.
func (p *Plan) Batch() *Batch {
	b := &Batch{p: *p, search: newSearch(len(p.snapshot.Nodes))}
	b.p.moments = slices.Clone(p.moments)
	b.p.free, b.p.both = slices.Clone(p.free), slices.Clone(p.both)
	b.p.freeMemory, b.p.bothMemory = slices.Clone(p.freeMemory), slices.Clone(p.bothMemory)
	return b
}

// Ask is the earliest start of one more job; the job then counts as coming.
func (b *Batch) Ask(q Question) (start grid.Tick, refusal *grid.Refusal) {
	p := &b.p
	if r := Refuse(p.snapshot.Site, p.snapshot.Nodes, q.Demand); r != nil {
		return 0, r
	}
	w := newWork(q.Demand, q.Limit)
	notBefore := max(q.NotBefore, p.snapshot.At)
	for k := max(p.at(notBefore), 0); k < len(p.moments); k++ {
		if w.cores > p.moments[k].total {
			continue
		}
		at := max(notBefore, p.moments[k].at)
		if shares, ok := b.room(k, at, w); ok {
			b.book(at, at+w.limit, shares)
			return at, nil
		}
	}
	return 0, lack("too few processors", int64(w.cores), 0) // not reached: in the end all is free
}

// at is the moment that holds at the instant t; -1 if t lies before all.
func (p *Plan) at(t grid.Tick) int {
	return sort.Search(len(p.moments), func(i int) bool { return p.moments[i].at > t }) - 1
}

// room looks for a place for w at the instant at, which moment k holds: on what is
// free then, and not needed by one that is booked to start while w runs.
func (b *Batch) room(k int, at grid.Tick, w work) ([]Share, bool) {
	m := &b.p.moments[k]
	cores, memory := b.p.free, b.p.freeMemory
	if m.queued && at+w.limit > m.shadow {
		cores, memory = b.p.both, b.p.bothMemory
	}
	n := len(b.p.snapshot.Nodes)
	b.search.load(slice(cores, k, n), slice(memory, k, n))
	first, _ := slices.BinarySearch(b.bookings, at+1)
	for _, t := range b.bookings[first:] {
		if t >= at+w.limit {
			break
		}
		then := b.p.at(t)
		b.search.narrow(slice(b.p.free, then, n), slice(b.p.freeMemory, then, n))
	}
	return b.search.place(w.pieces)
}

// book takes the shares from start to end.
func (b *Batch) book(start, end grid.Tick, shares []Share) {
	first, last := b.split(start), b.split(end)
	n := len(b.p.snapshot.Nodes)
	for k := first; k < last; k++ {
		for _, s := range shares {
			subtract(b.p.free, k*n+s.Node, int32(s.Cores))
			subtract(b.p.both, k*n+s.Node, int32(s.Cores))
			subtract(b.p.freeMemory, k*n+s.Node, s.Memory)
			subtract(b.p.bothMemory, k*n+s.Node, s.Memory)
		}
	}
	if start > b.p.snapshot.At {
		i, _ := slices.BinarySearch(b.bookings, start)
		b.bookings = slices.Insert(b.bookings, i, start)
	}
}

func subtract[T int32 | int64](all []T, i int, amount T) {
	if len(all) > 0 {
		all[i] = max(all[i]-amount, 0)
	}
}

// split makes the instant t the beginning of a moment, and says which.
func (b *Batch) split(t grid.Tick) int {
	p, n := &b.p, len(b.p.snapshot.Nodes)
	k := p.at(t)
	if k >= 0 && p.moments[k].at == t {
		return k
	}
	m := p.moments[k]
	m.at = t
	p.moments = slices.Insert(p.moments, k+1, m)
	p.free, p.both = again(p.free, k, n), again(p.both, k, n)
	p.freeMemory, p.bothMemory = again(p.freeMemory, k, n), again(p.bothMemory, k, n)
	return k + 1
}

// again repeats the row k of n.
func again[T any](all []T, k, n int) []T {
	if len(all) == 0 {
		return all
	}
	return slices.Insert(all, (k+1)*n, slices.Clone(all[k*n:(k+1)*n])...)
}
