package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// takeReservations allocates what is reserved. A job that waits and has a reservation is bound
// to it: it starts in it, and no sooner, on its nodes, which are kept for all of its limit.
// Until then it is not in the queue. Where it could not start by the end, it joins the queue.
func (e *schedule) takeReservations(s *Snapshot) {
	if len(s.Reservations) == 0 {
		return
	}
	waits := make(map[grid.JobID]int32)
	for i := range s.Waiting {
		if w := &s.Waiting[i]; w.Job != "" && !w.Ineligible {
			waits[w.Job] = int32(i)
		}
	}
	runs := make(map[grid.JobID]bool)
	for i := range s.Running {
		runs[s.Running[i].Job] = s.Running[i].Job != ""
	}
	all := slices.Clone(s.Reservations)
	slices.SortStableFunc(all, func(a, b Reservation) int { return cmp.Compare(a.Start, b.Start) })
	for i := range all {
		r := &all[i]
		if r.End <= max(e.now, r.Start) || runs[r.Job] {
			continue // past, or the job that runs in it holds its shares itself
		}
		job, waiting := waits[r.Job]
		if !waiting || r.Job == "" {
			e.takeReservation(r)
			continue
		}
		delete(waits, r.Job) // its further reservations are kept for nobody else either
		id, latest := int32(len(e.allocations)), min(r.End, e.now+longest)
		r.End = max(r.End, max(r.Start, e.now)+e.works[job].limit)
		e.takeReservation(r)
		e.allocations[id].job, e.allocations[id].latest = job, latest
		e.bound = append(e.bound, id)
		e.wakes.push(due{latest, id})
	}
}

func (e *schedule) takeReservation(r *Reservation) {
	b := allocation{job: -1, start: max(r.Start, e.now), until: min(r.End, e.now+2*longest)}
	b.start = min(b.start, b.until-1)
	b.end, b.ahead = b.until, b.start > e.now
	b.lo, b.hi = e.keepShares(r.Shares)
	id := int32(len(e.allocations))
	e.allocate(b)
	e.wakes.push(due{b.until, id})
	if b.ahead {
		e.fixedAhead++
		e.wakes.push(due{b.start, id})
		e.expect(b.lo, b.hi, +1)
	}
	e.takeAtFirst(b.lo, b.hi, b.start, b.until)
}

// wake looks after a reservation that begins or ends.
func (e *schedule) wake(id int32) {
	b := &e.allocations[id]
	if b.ahead && e.now >= b.start {
		b.ahead = false
		e.fixedAhead--
		e.expect(b.lo, b.hi, -1)
	}
	if b.until <= e.now && b.until != 0 {
		e.release(id)
		b.until, e.ended = 0, true
	}
	e.refreshParts(b.lo, b.hi)
}

// isBound tells whether a job waits for its reservation.
func (e *schedule) isBound(job int32) bool {
	return slices.ContainsFunc(e.bound, func(id int32) bool { return e.allocations[id].job == job })
}

// startBound starts the jobs whose reservations have begun.
func (e *schedule) startBound() {
	begun := func(id int32) bool { return e.allocations[id].start <= e.now }
	if e.policy.Kind != ConsCompress && slices.ContainsFunc(e.bound, begun) {
		e.unreserve() // to be made anew beside them
	}
	// Who leaves gives back what the start does not need: others that were tried before may start beside it.
	for before := -1; before != len(e.bound); {
		before = len(e.bound)
		e.bound = slices.DeleteFunc(e.bound, func(id int32) bool { return begun(id) && e.leaveReservation(id) })
	}
}

// leaveReservation starts the job of a reservation in it, or after its end has it join the
// queue; false where it goes on waiting.
func (e *schedule) leaveReservation(id int32) bool {
	b := &e.allocations[id]
	job := b.job
	if b.until > e.now {
		e.shift(b.lo, b.hi, e.now, b.until, +1)
		e.refreshParts(b.lo, b.hi)
	}
	e.total = e.profile.advance(e.now)
	starts := e.placeOn(&e.works[job], b)
	if !starts && e.now < b.latest {
		e.shift(b.lo, b.hi, e.now, b.until, -1)
		e.refreshParts(b.lo, b.hi)
		e.total = e.profile.advance(e.now)
		return false
	}
	if b.until > e.now {
		e.release(id)
	}
	b.job, b.until, b.end, e.early = -1, 0, e.now, true
	if starts {
		e.start(job)
	} else {
		e.rejoin(job)
	}
	return true
}

// placeOn finds a place now on the nodes of a reservation.
func (e *schedule) placeOn(w *work, b *allocation) bool {
	clear(e.scratch)
	for _, p := range e.parts[b.lo:b.hi] {
		if n := int(p.node); w.class.nodes.has(n) {
			e.scratch.add(n)
		}
	}
	e.placer.begin(w)
	for n := e.scratch.next(0); n >= 0; n = e.scratch.next(n + 1) {
		if e.offer(n, e.now, e.now+w.limit) {
			return true
		}
	}
	return e.placer.placed()
}

// rejoin puts a job that missed its reservation into the queue, if it can ever start.
func (e *schedule) rejoin(job int32) {
	e.unreserve()
	w := &e.waiting[job]
	if !e.withinQueue(w.Queue, w.Limit) || !e.placer.onEmptySite(&e.works[job]) {
		return
	}
	var jobs []int32
	for p, j := range e.queue.jobs {
		if e.queue.cores[p] != hasLeft {
			jobs = append(jobs, j)
		}
	}
	jobs = append(append(jobs, job), e.tickets.aside...)
	slices.Sort(jobs)
	e.kept.of = nil
	e.lineUp(jobs)
	for _, other := range e.tickets.aside {
		e.leave(int(e.position[other]))
	}
	e.giveTickets(w.Caps, e.works[job].cores, -1)
}
