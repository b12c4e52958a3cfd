package plan

import "gbroker/grid"

// failed remembers who found no place in a pass. As long as things are only taken,
// who asks for as much as one of them, and for as long, finds none either.
type failed struct {
	class *class
	whole bool
	apart bool
	need  []int64
	count int
	limit grid.Tick
}

// mostFailed bounds how many are compared with.
const mostFailed = 24

// implies tells that a work must fail too.
func (f *failed) implies(w *work, p *piece) bool {
	if f.limit > w.limit || f.count > p.count || f.class != w.class || f.whole && !w.whole || f.apart && !w.apart {
		return false
	}
	for r, a := range f.need {
		if p.need[r] < a {
			return false
		}
	}
	return true
}

// mustFail tells that a work has no place now, by who failed in this pass.
func (e *schedule) mustFail(w *work) bool {
	if len(w.pieces) != 1 {
		return false
	}
	for i := range e.failures {
		if e.failures[i].implies(w, &w.pieces[0]) {
			return true
		}
	}
	return false
}

// noteFailure keeps a work that found no place, instead of those that follow from it.
func (e *schedule) noteFailure(w *work) {
	if len(w.pieces) != 1 {
		return
	}
	p := &w.pieces[0]
	f := failed{w.class, w.whole, w.apart, p.need, p.count, w.limit}
	kept := e.failures[:0]
	for _, o := range e.failures {
		if o.class != f.class || !f.implies(&work{class: o.class, whole: o.whole, apart: o.apart, limit: o.limit}, &piece{count: o.count, need: o.need}) {
			kept = append(kept, o)
		}
	}
	if e.failures = kept; len(kept) < mostFailed {
		e.failures = append(kept, f)
	}
}

// floor is an instant before which a work found no place, now or later. Until
// something is given back, nobody who asks for as much, for as long, finds one there.
type floor struct {
	failed
	at grid.Tick
}

// mostFloors bounds how many are compared with.
const mostFloors = 256

// notBefore is the first instant from one on at which it makes sense to look.
func (e *schedule) notBefore(w *work, from grid.Tick) grid.Tick {
	if len(w.pieces) == 1 {
		for i := range e.floors {
			if f := &e.floors[i]; f.at > from && f.implies(w, &w.pieces[0]) {
				from = f.at
			}
		}
	}
	return from
}

// noteFloor keeps where a work found its place, instead of what follows from that.
func (e *schedule) noteFloor(w *work, at grid.Tick) {
	if len(w.pieces) != 1 {
		return
	}
	p := &w.pieces[0]
	f := floor{failed{w.class, w.whole, w.apart, p.need, p.count, w.limit}, at}
	kept := e.floors[:0]
	for _, o := range e.floors {
		if o.at > at || !f.implies(&work{class: o.class, whole: o.whole, apart: o.apart, limit: o.limit}, &piece{count: o.count, need: o.need}) {
			kept = append(kept, o)
		}
	}
	if len(kept) == mostFloors {
		kept = append(kept[:0], kept[mostFloors/4:]...)
	}
	e.floors = append(kept, f)
}
