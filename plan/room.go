package plan

import (
	"cmp"
	"math/bits"
	"slices"

	"gbroker/grid"
)

// What is free, over time and by node: the lines, and what is derived from them.

// amountsOf is the vector of a part.
func (e *schedule) amountsOf(part int32) []int64 {
	k := int(part) * e.width
	return e.amounts[k : k+e.width]
}

// sharesOf is where an allocation lies.
func (e *schedule) sharesOf(b *allocation) []Share {
	return e.shares(e.parts[b.lo:b.hi], e.amounts[int(b.lo)*e.width:int(b.hi)*e.width])
}

// takeAtFirst takes parts before the profile is made.
func (e *schedule) takeAtFirst(lo, hi int32, from, to grid.Tick) {
	for k := lo; k < hi; k++ {
		l := &e.lines[e.parts[k].node]
		first, end := l.Change(from, to, e.amountsOf(k), -1)
		l.Settle(first, end, e.width)
	}
}

// makeProfile adds up the lines.
func (e *schedule) makeProfile() {
	parts := 0
	for n := range e.lines {
		parts += len(e.lines[n].At) - 1
	}
	steps := make([]profileStep, 0, parts)
	var sum int64
	for n := range e.lines {
		l := &e.lines[n]
		before := max(l.Free[0], 0)
		sum += before
		for i := 1; i < len(l.At); i++ {
			free := max(l.Free[i*e.width], 0)
			steps = append(steps, profileStep{l.At[i], free - before, true})
			before = free
		}
	}
	slices.SortFunc(steps, func(a, b profileStep) int { return cmp.Compare(a.at, b.at) })
	out := append(make([]profileStep, 0, len(steps)+1), profileStep{at: e.now, free: sum})
	for _, s := range steps {
		sum += s.free
		if last := &out[len(out)-1]; last.at == s.at {
			last.free, last.gives = sum, true
		} else {
			out = append(out, profileStep{s.at, sum, true})
		}
	}
	e.profile = newProfile(out)
}

// fewNodes are looked at one by one.
const fewNodes = 64

// makeBuckets is done before the first search: not every policy searches.
func (e *schedule) makeBuckets() {
	if e.busy != nil || len(e.nodes) <= fewNodes {
		return
	}
	width := grid.Tick(1)
	if len(e.works) > 0 {
		var sum grid.Tick
		for i := range e.works {
			sum += e.works[i].limit / grid.Tick(len(e.works))
		}
		width = max(sum/bucketsEach, 1)
	}
	e.busy = &buckets{origin: e.lines[0].At[0], width: width, words: len(e.open)}
	for n := range e.lines {
		e.noteBusy(n, 0, len(e.lines[n].At)-1)
	}
}

// bucketsEach is how many buckets a job of the mean limit covers.
const bucketsEach = 16

// noteBusy tells the buckets which steps of a node have no free core.
func (e *schedule) noteBusy(n, first, end int) {
	l := &e.lines[n]
	for i := first; i < end; i++ {
		if l.Free[i*e.width] <= 0 && i+1 < len(l.At) {
			e.busy.busy(n, l.At[i], l.At[i+1])
		}
	}
}

// shift takes parts (sign -1) or gives them back (+1), over an interval that does not
// begin before now.
func (e *schedule) shift(lo, hi int32, from, to grid.Tick, sign int64) {
	if sign > 0 {
		e.floors = e.floors[:0]
	}
	var cores int64
	for k := lo; k < hi; k++ {
		n := int(e.parts[k].node)
		l := &e.lines[n]
		amounts := e.amountsOf(k)
		first, end := l.Change(from, to, amounts, sign)
		if e.shiftsEvenly(n, first, end, sign*amounts[0]) {
			cores += amounts[0]
		}
		if e.busy != nil {
			if sign > 0 {
				e.busy.unknown(n, from, to)
			}
			e.noteBusy(n, first, end)
		}
		l.Settle(first, end, e.width)
	}
	if cores > 0 {
		e.profile.change(from, to, sign*cores)
	}
}

// shiftsEvenly tells whether the change of a line counts in full. Where a node has
// more in use than it has, only what is above nothing counts, and is counted here.
func (e *schedule) shiftsEvenly(n, first, end int, more int64) bool {
	l := &e.lines[n]
	even := true
	for i := first; i < end; i++ {
		free := l.Free[i*e.width]
		even = even && min(free, free-more) >= 0
	}
	if even {
		return true
	}
	for i := first; i < end; i++ {
		free := l.Free[i*e.width]
		e.profile.change(l.At[i], l.At[i+1], max(free, 0)-max(free-more, 0))
	}
	return false
}

// refresh brings a node to now.
func (e *schedule) refresh(n int) {
	l := &e.lines[n]
	l.Advance(e.now)
	copy(e.free[n*e.width:(n+1)*e.width], l.Free[l.Head*e.width:])
	if e.free[n*e.width] > 0 && e.up(n) {
		e.open.add(n)
	} else {
		e.open.drop(n)
	}
}

func (e *schedule) refreshParts(lo, hi int32) {
	for _, p := range e.parts[lo:hi] {
		e.refresh(int(p.node))
	}
}

// expect counts a reservation that lies ahead on the nodes of parts, or (-1) one that
// does no longer.
func (e *schedule) expect(lo, hi int32, more int32) {
	for _, p := range e.parts[lo:hi] {
		n := int(p.node)
		if e.count[n] += more; e.count[n] > 0 {
			e.ahead.add(n)
		} else {
			e.ahead.drop(n)
		}
	}
}

// placeNow finds a place for a work from now to the end of its limit. Policies of at
// most one reservation first take nodes on which a reservation lies ahead, so that
// the others are left to who needs them for longer; see package plan.
func (e *schedule) placeNow(w *work) bool {
	if w.cores > e.total || e.mustFail(w) {
		return false
	}
	e.placer.begin(w)
	first, then := withAhead, withoutAhead
	if e.policy.many() {
		first, then = anyOpen, 0
	}
	if e.offerAll(w, first) || then != 0 && e.offerAll(w, then) || e.placer.placed() {
		return true
	}
	e.noteFailure(w)
	return false
}

const (
	anyOpen = 1 + iota
	withAhead
	withoutAhead
)

// offerAll offers nodes that are open now, in their order. Where no reservation lies
// ahead, what is free now stays free.
func (e *schedule) offerAll(w *work, which int) bool {
	for i := range w.class.nodes {
		word, ahead := w.class.nodes[i]&e.open[i], e.ahead[i]
		switch which {
		case withAhead:
			word &= ahead
		case withoutAhead:
			word &^= ahead
		}
		for ; word != 0; word &= word - 1 {
			bit := bits.TrailingZeros64(word)
			n := i*64 + bit
			if ahead>>bit&1 != 0 {
				if e.offer(n, e.now, e.now+w.limit) {
					return true
				}
			} else if e.placer.offer(n, e.free[n*e.width:(n+1)*e.width]) {
				return true
			}
		}
	}
	return false
}

// earliest finds the first instant from one on from which a work has room for its
// whole limit, on the first nodes that have it; never where there is none.
func (e *schedule) earliest(w *work, from grid.Tick) grid.Tick {
	e.makeBuckets()
	at := e.first(w, e.notBefore(w, from))
	if at != never {
		e.noteFloor(w, at)
	}
	return at
}
