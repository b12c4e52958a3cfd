package plan

import (
	"slices"
	"sort"

	"gbroker/grid"
)

// Placement is a waiting job that starts now.
type Placement struct {
	Index  int // into Snapshot.Waiting
	Shares []Share
}

// Pass is one run of the scheduler: which waiting jobs start at s.At, and where,
// in the order of their start.
func Pass(s Snapshot) []Placement {
	e := newSchedule(s, nil)
	e.pass()
	return e.started
}

// longest bounds a limit, so that no instant overflows.
const longest = grid.Tick(1) << 50

// work is a job that waits, or will.
type work struct {
	pieces pieces
	cores  int
	limit  grid.Tick
}

// hold is a running job.
type hold struct {
	end    grid.Tick
	shares []Share
}

// arrival is a job that joins the queue later.
type arrival struct {
	job int
	at  grid.Tick
}

// schedule is the state of the policy at one instant.
type schedule struct {
	now      grid.Tick
	jobs     []work
	queue    []int // into jobs, ascending
	arrivals []arrival
	running  []hold // by end
	free     room
	total    int // free cores
	least    int // no job of the queue behind the head asks for fewer cores

	head     int // into jobs; -1: no reservation
	shadow   grid.Tick
	reserved []Share
	spare    room // what is free at the shadow, the reservation taken
	both     room // the lesser of free and spare

	placer  *placer
	scratch room
	started []Placement // of the last pass
}

func newSchedule(s Snapshot, later []Question) *schedule {
	n := len(s.Nodes)
	blank := func() room { return room{make([]int, n), make([]int64, n)} }
	e := &schedule{
		now: s.At, head: -1, free: emptySite(s.Nodes), spare: blank(), both: blank(), scratch: blank(),
		placer: newPlacer(n), jobs: make([]work, 0, len(s.Waiting)+len(later)),
		running: make([]hold, 0, len(s.Running)+len(s.Waiting)),
	}
	for i, w := range s.Waiting {
		e.jobs = append(e.jobs, newWork(w.Demand, w.Limit))
		if refuse(s.Site, e.free, e.placer, w.Demand, e.jobs[i].pieces) == nil {
			e.queue = append(e.queue, i)
		}
	}
	for _, q := range later {
		e.arrivals = append(e.arrivals, arrival{job: len(e.jobs), at: max(q.NotBefore, s.At)})
		e.jobs = append(e.jobs, newWork(q.Demand, q.Limit))
	}
	slices.SortStableFunc(e.arrivals, func(a, b arrival) int { return int(a.at - b.at) })
	for _, r := range s.Running {
		e.running = append(e.running, hold{max(r.End, s.At+1), r.Shares})
		e.free.take(r.Shares)
	}
	slices.SortStableFunc(e.running, func(a, b hold) int {
		switch {
		case a.end < b.end:
			return -1
		case a.end > b.end:
			return 1
		}
		return 0
	})
	e.total = e.free.total()
	e.arrive()
	return e
}

func newWork(d grid.Demand, limit grid.Tick) work {
	p := piecesOf(d)
	return work{pieces: p, cores: p.cores(), limit: min(max(limit, 1), longest)}
}

// arrive moves the jobs that have come by now into the queue.
func (e *schedule) arrive() {
	for len(e.arrivals) > 0 && e.arrivals[0].at <= e.now {
		job := e.arrivals[0].job
		e.arrivals = e.arrivals[1:]
		at := sort.SearchInts(e.queue, job)
		e.queue = slices.Insert(e.queue, at, job)
		e.least = 0
	}
}

// advance goes to the next instant at which something ends or comes; false where
// nothing more happens.
func (e *schedule) advance() bool {
	switch {
	case len(e.running) > 0 && len(e.arrivals) > 0:
		e.now = min(e.running[0].end, e.arrivals[0].at)
	case len(e.running) > 0:
		e.now = e.running[0].end
	case len(e.arrivals) > 0:
		e.now = e.arrivals[0].at
	default:
		return false
	}
	k := 0
	for k < len(e.running) && e.running[k].end <= e.now {
		e.free.give(e.running[k].shares)
		k++
	}
	if k > 0 {
		e.running = e.running[k:]
		e.total = e.free.total()
	}
	e.arrive()
	return true
}

// pass starts what may start now; e.started lists it.
func (e *schedule) pass() {
	e.started = nil
	for len(e.queue) > 0 && e.startFirst() {
		e.queue = e.queue[1:]
	}
	if len(e.queue) == 0 {
		e.head = -1
		return
	}
	if e.head != e.queue[0] {
		e.reserve(e.queue[0])
	}
	e.mend()
	if e.total > 0 && e.total >= e.least {
		e.backfill()
	}
}

// startFirst starts the first job of the queue if it fits.
func (e *schedule) startFirst() bool {
	job := e.queue[0]
	if e.jobs[job].cores > e.total {
		return false
	}
	shares, ok := e.placer.place(e.jobs[job].pieces, e.free)
	if !ok && e.head == job && e.now >= e.shadow && e.free.holds(e.reserved) {
		shares, ok = e.reserved, true // placement of several chunks may miss it
	}
	if ok {
		e.start(job, shares)
	}
	return ok
}

func (e *schedule) start(job int, shares []Share) {
	shares = slices.Clone(shares)
	end := e.now + e.jobs[job].limit
	at := sort.Search(len(e.running), func(i int) bool { return e.running[i].end > end })
	e.running = slices.Insert(e.running, at, hold{end, shares})
	e.free.take(shares)
	for _, s := range shares {
		e.total -= s.Cores
	}
	e.started = append(e.started, Placement{Index: job, Shares: shares})
}

// reserve finds the earliest instant at which job fits as things are, and what
// its reservation leaves over then.
func (e *schedule) reserve(job int) {
	w := e.jobs[job]
	e.head, e.shadow = job, e.now
	e.scratch.copyFrom(e.free)
	for i := 0; i < len(e.running); {
		e.shadow = e.running[i].end
		for ; i < len(e.running) && e.running[i].end == e.shadow; i++ {
			e.scratch.give(e.running[i].shares)
		}
		if shares, ok := e.placer.place(w.pieces, e.scratch); ok {
			e.reserved = append(e.reserved[:0], shares...)
			break
		}
	}
	e.spare.copyFrom(e.scratch)
	e.spare.take(e.reserved)
}

// mend brings both up to date.
func (e *schedule) mend() {
	for n := range e.both.cores {
		e.both.cores[n] = min(e.free.cores[n], e.spare.cores[n])
		e.both.memory[n] = min(e.free.memory[n], e.spare.memory[n])
	}
}

// backfill starts jobs behind the head that do not delay it.
func (e *schedule) backfill() {
	kept, least, least1 := 1, muchAsked, e.least
	i := 1
	for ; i < len(e.queue) && e.total > 0 && e.total >= least1; i++ {
		job := e.queue[i]
		if w := &e.jobs[job]; w.cores > e.total || !e.tryBackfill(job) {
			least = min(least, w.cores)
			e.queue[kept] = job
			kept++
		}
	}
	if i == len(e.queue) {
		e.least = least
	}
	e.queue = append(e.queue[:kept], e.queue[i:]...)
}

func (e *schedule) tryBackfill(job int) bool {
	w := &e.jobs[job]
	short := e.now+w.limit <= e.shadow
	where := e.both
	if short {
		where = e.free
	}
	shares, ok := e.placer.place(w.pieces, where)
	if !ok {
		return false
	}
	if !short {
		e.spare.take(shares)
	}
	e.start(job, shares)
	e.mend()
	return true
}
