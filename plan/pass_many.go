package plan

import "gbroker/grid"

// The pass of one reservation is another one (pass_one.go), for it chooses other nodes.

// keptReservations are those of EASY with several and of the conservative policies.
// As long as everything ends when it was promised to, making them anew would find the
// same instants and the same nodes: what came in between only took room elsewhere,
// and of fewer nodes the first ones with room are still the same. So they are kept.
type keptReservations struct {
	of     []allocation // by position in the queue: where it is ahead
	order  []int32      // positions that have one, ascending; some have started
	active int
	moved  bool   // ConsCompress: who moved left room on which those before were not tried
	due    agenda // starts, by position; some are out of date
}

// reserveInOrder is the pass of EASY with several reservations and of the
// conservative policies.
func (e *schedule) reserveInOrder() {
	k := &e.kept
	if len(k.of) != len(e.queue.jobs) {
		k.of = make([]allocation, len(e.queue.jobs))
	}
	switch {
	case e.policy.Kind != ConsCompress:
		if e.early {
			e.unreserve()
		}
	case e.early, e.ended && k.moved:
		e.compress()
	}
	e.startDue()
	e.reserveNext()
	if !e.policy.conservative() {
		e.startAll()
	}
}

// startDue starts every job whose reservation is now.
func (e *schedule) startDue() {
	k := &e.kept
	for k.due.first() <= e.now {
		d := k.due.pop()
		r := &k.of[d.id]
		if !r.ahead || r.start != d.at {
			continue
		}
		r.ahead = false
		k.active--
		e.expect(r.lo, r.hi, -1)
		e.begin(e.queue.jobs[d.id], r.lo, r.hi)
	}
}

// reserveNext starts who fits, else gives a reservation, while there are any.
func (e *schedule) reserveNext() {
	for e.policy.conservative() || e.kept.active < e.policy.reservations() {
		p := e.queue.head()
		if p < 0 {
			return
		}
		job := e.queue.jobs[p]
		at := e.earliest(&e.works[job], e.now)
		e.leave(p)
		switch at {
		case never: // it cannot start, and blocks nobody
		case e.now:
			e.start(job)
		default:
			e.keep(p, at)
		}
	}
}

// keep reserves at an instant what the placer found.
func (e *schedule) keep(p int, at grid.Tick) {
	k := &e.kept
	r := &k.of[p]
	if n := len(e.placer.parts); r.hi-r.lo == int32(n) {
		copy(e.parts[r.lo:], e.placer.parts)
		copy(e.amounts[int(r.lo)*e.width:], e.placer.amounts)
	} else {
		r.lo = int32(len(e.parts))
		e.parts = append(e.parts, e.placer.parts...)
		e.amounts = append(e.amounts, e.placer.amounts...)
		r.hi = int32(len(e.parts))
	}
	if !r.ahead {
		k.order = append(k.order, int32(p))
		k.active++
	}
	if !r.ahead || r.start != at {
		k.due.push(due{at, int32(p)})
	}
	r.start, r.ahead = at, true
	e.takeKept(int32(p), -1)
}

// takeKept takes (-1) what a reservation holds, or gives it back; one that is due is
// seen in what is free now.
func (e *schedule) takeKept(p int32, sign int64) {
	r := &e.kept.of[p]
	e.shift(r.lo, r.hi, r.start, r.start+e.works[e.queue.jobs[p]].limit, sign)
	e.expect(r.lo, r.hi, int32(-sign))
	if r.start <= e.now {
		e.refreshParts(r.lo, r.hi)
	}
}

// unreserve forgets all reservations.
func (e *schedule) unreserve() {
	k := &e.kept
	for _, p := range k.order {
		if r := &k.of[p]; r.ahead {
			e.takeKept(p, +1)
			r.ahead = false
			e.queue.join(int(p), &e.works[e.queue.jobs[p]])
		}
	}
	k.order, k.due, k.active = k.order[:0], k.due[:0], 0
	e.total = e.profile.advance(e.now)
}

// compress takes out each reservation, in the order of the queue, and places it again
// at the earliest instant that fits, once.
func (e *schedule) compress() {
	k := &e.kept
	k.moved = false
	order := k.order[:0]
	for _, p := range k.order {
		r := &k.of[p]
		if !r.ahead {
			continue
		}
		order = append(order, p)
		e.takeKept(p, +1)
		w := &e.works[e.queue.jobs[p]]
		if at := e.earliest(w, e.now); at <= r.start {
			k.moved = k.moved || at < r.start
			e.keep(int(p), at)
		} else { // of several chunks the placer may miss the place it had
			e.takeKept(p, -1)
		}
	}
	k.order = order
	e.total = e.profile.advance(e.now)
}
