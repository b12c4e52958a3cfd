package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// appointment is a reservation for a job that waits: it starts in it, and no sooner,
// on nodes of the reservation, which are kept for all of its limit. Until then it is
// not in the queue. Where it could not start by the end, it joins the queue.
type appointment struct {
	job, booking int32
	start, end   grid.Tick
}

// takeReservations books what is reserved for nobody who waits, and makes appointments.
func (e *schedule) takeReservations(s *Snapshot) {
	if len(s.Reservations) == 0 {
		return
	}
	waits := make(map[grid.JobID]int32)
	for i := range s.Waiting {
		if w := &s.Waiting[i]; w.Job != "" && !w.Held {
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
		if waiting = waiting && r.Job != ""; waiting {
			delete(waits, r.Job) // its further reservations are kept for nobody else either
			end := min(r.End, e.now+longest)
			e.appointments = append(e.appointments, appointment{job, int32(len(e.bookings)), r.Start, end})
			e.wakes.push(due{end, int32(len(e.bookings))})
			r.End = max(r.End, max(r.Start, e.now)+e.works[job].limit)
		}
		e.takeReservation(r)
	}
}

func (e *schedule) takeReservation(r *Reservation) {
	b := booking{index: -1, start: max(r.Start, e.now), until: min(r.End, e.now+2*longest)}
	b.start = min(b.start, b.until-1)
	b.end, b.ahead = b.until, b.start > e.now
	b.lo, b.hi = e.keepShares(r.Shares)
	id := int32(len(e.bookings))
	e.book(b)
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
	b := &e.bookings[id]
	if b.ahead && e.now >= b.start {
		b.ahead = false
		e.fixedAhead--
		e.expect(b.lo, b.hi, -1)
	}
	if b.until <= e.now && b.until != 0 {
		e.unhold(id)
		b.until, e.ended = 0, true
	}
	e.refreshParts(b.lo, b.hi)
}

func (e *schedule) appointed(job int32) bool {
	return slices.ContainsFunc(e.appointments, func(a appointment) bool { return a.job == job })
}

// keepAppointments starts the jobs whose reservations have begun.
func (e *schedule) keepAppointments() {
	begun := func(a appointment) bool { return a.start <= e.now }
	if e.policy.Kind != ConsCompress && slices.ContainsFunc(e.appointments, begun) {
		e.unreserve() // to be made anew beside them
	}
	e.appointments = slices.DeleteFunc(e.appointments, func(a appointment) bool {
		if !begun(a) {
			return false
		}
		b := &e.bookings[a.booking]
		if b.until > e.now {
			e.shift(b.lo, b.hi, e.now, b.until, +1)
			e.refreshParts(b.lo, b.hi)
		}
		e.total = e.sky.advance(e.now)
		starts := e.placeOn(&e.works[a.job], b)
		if !starts && e.now < a.end {
			e.shift(b.lo, b.hi, e.now, b.until, -1)
			e.refreshParts(b.lo, b.hi)
			e.total = e.sky.advance(e.now)
			return false
		}
		if b.until > e.now {
			e.unhold(a.booking)
		}
		b.until, b.end, e.early = 0, e.now, true
		if starts {
			e.start(a.job)
		} else {
			e.rejoin(a.job)
		}
		return true
	})
}

// placeOn finds a place now on the nodes of a reservation.
func (e *schedule) placeOn(w *work, b *booking) bool {
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

// rejoin puts a job that missed its appointment into the queue, if it can ever start.
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
