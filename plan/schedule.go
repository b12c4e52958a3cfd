package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// Pass is one run of the scheduler: which waiting jobs start at s.At, and where,
// in the order of their start, until their limits.
func Pass(s Snapshot) []Allocation {
	e := newSchedule(&s, nil, 0)
	e.pass()
	var out []Allocation
	for _, id := range e.started {
		b := &e.allocations[id]
		out = append(out, Allocation{int(b.job), b.start, b.until, e.sharesOf(b)})
	}
	return out
}

// allocation is what a job has that runs or has run, or what is reserved.
type allocation struct {
	job        int32     // index into Snapshot.Waiting; -1 for what runs already, and for reservations of others
	lo, hi     int32     // its parts
	start, end grid.Tick // really, as far as is believed
	until      grid.Tick // what the scheduler is promised
	latest     grid.Tick // of a reservation for a job that waits: then it joins the queue
	ahead      bool      // a reservation that has not begun
}

// schedule is the state of a policy at one instant.
type schedule struct {
	*ground
	seeker      // by what the scheduler is promised and has reserved
	policy      Policy
	now         grid.Tick
	waiting     []Waiting
	works       []work    // by index into waiting
	runs        *Runs     // nil: jobs end at their limits
	lag         grid.Tick // what ends is free so much later
	scratch     set
	allocations []allocation
	parts       []portion
	amounts     []int64 // width numbers for each part

	free  []int64 // now, width numbers for each node
	total int64   // free cores now
	open  set     // nodes with a free core now
	ahead set     // nodes on which a reservation lies ahead
	count []int32 // by node: how many

	promised []due  // what goes on, by its promised end; the numbers are those of allocations
	ends     agenda // and by its real end
	wakes    agenda // reservations that begin or end
	early    bool   // something was given back sooner than was promised, since the last pass
	ended    bool   // something ended, since the last pass

	queue      *lineup // who waits without a reservation that is kept
	short      *lineup // the same, the shortest first (EASYSJBF)
	position   []int32 // by index into waiting
	shortly    []int32 // position in short
	passed     []int32 // FirstFit: by index into waiting, how often it was overtaken
	wished     wish
	barred     bool    // nobody behind the queue may start now
	bound      []int32 // reservations whose jobs wait for them, by their start
	fixedAhead int     // reservations of the snapshot that have not begun

	failures []failed // of this pass
	floors   []floor  // until something is given back
	one      headReservation
	kept     keptReservations
	started  []int32 // allocations of the last pass
	placed   []int32 // by index into waiting: its allocation, or -1
	tickets  tickets
}

func newSchedule(s *Snapshot, runs *Runs, lag grid.Tick) *schedule {
	g := newGround(s)
	e := &schedule{
		ground: g, seeker: newSeeker(g, vacancy{}), policy: s.Policy, now: s.At, waiting: s.Waiting, runs: runs, lag: lag,
		scratch: newSet(len(g.nodes)), open: newSet(len(g.nodes)), ahead: newSet(len(g.nodes)),
		free:        make([]int64, g.width*len(g.nodes)),
		count:       make([]int32, len(g.nodes)),
		allocations: make([]allocation, 0, len(s.Running)+len(s.Waiting)+len(s.Reservations)),
		parts:       make([]portion, 0, 2*(len(s.Running)+len(s.Waiting))),
		amounts:     make([]int64, 0, 2*g.width*(len(s.Running)+len(s.Waiting))),
		promised:    make([]due, 0, len(s.Running)+len(s.Waiting)),
		ends:        make(agenda, 0, len(s.Running)+len(s.Waiting)),
		placed:      make([]int32, len(s.Waiting)),
	}
	e.one.job = -1
	e.makeLines()
	e.takeRunning(s.Running)
	e.makeWorks()
	e.takeReservations(s)
	e.makeProfile()
	e.makeQueue()
	e.countCaps(s)
	for n := range e.lines {
		e.refresh(n)
	}
	e.total = e.profile.advance(e.now)
	return e
}

// roomOfLine is how many steps a line holds before its memory grows.
const roomOfLine = 8

func (e *schedule) makeLines() {
	n := len(e.nodes)
	at := make([]grid.Tick, n*roomOfLine)
	free := make([]int64, n*roomOfLine*e.width)
	e.lines = make([]line, n)
	for i := range e.lines {
		k := i * roomOfLine
		e.lines[i].At = at[k : k+1 : k+roomOfLine]
		e.lines[i].At[0] = e.now
		e.lines[i].Free = free[k*e.width : (k+1)*e.width : (k+roomOfLine)*e.width]
		copy(e.lines[i].Free, e.of(i))
	}
}

// takeRunning allocates what runs. A job beyond its end is expected to end at the next instant.
func (e *schedule) takeRunning(running []Running) {
	for i := range running {
		r := &running[i]
		until := min(max(min(r.End, e.now+longest)+e.lag, e.now+1), e.now+longest)
		b := allocation{job: -1, start: min(r.Start, e.now), until: until, end: until}
		if e.runs != nil {
			if run := e.runs.Running[i]; run < longest {
				b.end = min(max(r.Start+run+e.lag, e.now+1), until)
			}
		}
		b.lo, b.hi = e.keepShares(r.Shares)
		e.ends.push(due{b.end, int32(len(e.allocations))})
		e.allocate(b)
		e.takeAtFirst(b.lo, b.hi, e.now, until)
	}
}

// keepShares makes parts of shares; they may name nodes that the site no longer has.
func (e *schedule) keepShares(shares []Share) (lo, hi int32) {
	lo = int32(len(e.parts))
	for i := range shares {
		s := &shares[i]
		if s.Node < 0 || s.Node >= len(e.nodes) {
			continue
		}
		e.parts = append(e.parts, portion{int32(s.Node), s.Processes})
		at := len(e.amounts)
		for range e.width {
			e.amounts = append(e.amounts, 0)
		}
		e.vector(e.amounts[at:], s.Cores, s.Memory, s.Resources)
	}
	e.sortParts(lo)
	return lo, int32(len(e.parts))
}

// expectAll makes room for the parts of all who wait in the queue; there may be more.
func (e *schedule) expectAll() {
	most := int64(1) // cores of a node
	for n := range e.nodes {
		most = max(most, e.of(n)[0])
	}
	var parts int64
	for _, job := range e.queue.jobs {
		parts += 1 + (e.works[job].cores-1)/most
	}
	e.parts = slices.Grow(e.parts, int(parts))
	e.amounts = slices.Grow(e.amounts, int(parts)*e.width)
}

// allocate notes an allocation among what goes on.
func (e *schedule) allocate(b allocation) {
	id := int32(len(e.allocations))
	e.allocations = append(e.allocations, b)
	at := len(e.promised)
	for at > 0 && e.promised[at-1].at > b.until {
		if at > 32 { // far from the end: by halves
			at, _ = slices.BinarySearchFunc(e.promised, b.until+1, func(d due, t grid.Tick) int { return cmp.Compare(d.at, t) })
			break
		}
		at--
	}
	e.promised = slices.Insert(e.promised, at, due{b.until, id})
}

// makeWorks reckons what the waiting jobs ask for.
func (e *schedule) makeWorks() {
	shop := newWorkshop(e.ground, len(e.waiting))
	e.works = make([]work, len(e.waiting))
	for i := range e.waiting {
		w := &e.waiting[i]
		e.works[i] = shop.work(e.ground, &w.Demand, min(w.Limit, longest)+e.lag, e.class(w.Queue, &w.Demand, true))
		e.placed[i] = -1
	}
}

// makeQueue lines up who can ever start and waits for no reservation.
func (e *schedule) makeQueue() {
	jobs := make([]int32, 0, len(e.waiting))
	for i := range e.waiting {
		w := &e.waiting[i]
		if !w.Ineligible && !e.stands(w.Queue) && !e.isBound(int32(i)) && e.withinQueue(w.Queue, w.Limit) && e.placer.onEmptySite(&e.works[i]) {
			jobs = append(jobs, int32(i))
		}
	}
	e.lineUp(jobs)
}

func (e *schedule) lineUp(jobs []int32) {
	if e.policy.Order != ByArrival {
		slices.SortStableFunc(jobs, func(a, b int32) int { return cmp.Compare(e.rank(a), e.rank(b)) })
	}
	e.queue = newLineup(jobs, e.works)
	e.position = positions(jobs, len(e.waiting))
	switch e.policy.Kind {
	case EASYSJBF:
		jobs = slices.Clone(jobs)
		slices.SortStableFunc(jobs, func(a, b int32) int {
			return cmp.Or(cmp.Compare(e.works[a].limit, e.works[b].limit), cmp.Compare(a, b))
		})
		e.short = newLineup(jobs, e.works)
		e.shortly = positions(jobs, len(e.waiting))
	case FirstFit:
		if e.passed == nil {
			e.passed = make([]int32, len(e.waiting))
			for i := range e.waiting {
				e.passed[i] = int32(min(max(e.waiting[i].Overtaken, 0), most))
			}
		}
	}
}

func (e *schedule) rank(job int32) int64 {
	w := &e.works[job]
	return e.policy.Rank(w.cores, w.limit, e.waiting[job].Priority)
}

func positions(jobs []int32, n int) []int32 {
	of := make([]int32, n)
	for i, j := range jobs {
		of[j] = int32(i)
	}
	return of
}

// advance goes to the next instant at which something ends or begins; false where
// nothing more happens.
func (e *schedule) advance() bool {
	e.dropHeadReservation()
	at := min(e.ends.first(), e.wakes.first(), e.kept.due.first())
	if at == never {
		return false
	}
	e.now = at
	for e.ends.first() <= at {
		e.end(e.ends.pop().id)
	}
	for e.wakes.first() <= at {
		e.wake(e.wakes.pop().id)
	}
	e.total = e.profile.advance(at)
	return true
}

// end gives back what an allocation holds.
func (e *schedule) end(id int32) {
	b := &e.allocations[id]
	if b.until > e.now {
		e.shift(b.lo, b.hi, e.now, b.until, +1)
		e.early = true
	}
	e.ended = true
	e.release(id)
	e.refreshParts(b.lo, b.hi)
	e.returnTickets(id)
}

// release takes an allocation out of what goes on.
func (e *schedule) release(id int32) {
	until := e.allocations[id].until
	at := 0
	if e.promised[0].at < until {
		at, _ = slices.BinarySearchFunc(e.promised, until, func(d due, t grid.Tick) int { return cmp.Compare(d.at, t) })
	}
	for e.promised[at].id != id {
		at++
	}
	if at == 0 {
		e.promised = e.promised[1:]
		return
	}
	e.promised = slices.Delete(e.promised, at, at+1)
}

// start starts a waiting job where the placer put it.
func (e *schedule) start(job int32) {
	lo := int32(len(e.parts))
	e.parts = append(e.parts, e.placer.parts...)
	e.amounts = append(e.amounts, e.placer.amounts...)
	e.sortParts(lo)
	e.shift(lo, int32(len(e.parts)), e.now, e.now+e.works[job].limit, -1)
	e.begin(job, lo, int32(len(e.parts)))
}

// begin starts a job whose parts are taken already.
func (e *schedule) begin(job, lo, hi int32) {
	b := allocation{job: job, lo: lo, hi: hi, start: e.now, until: e.now + e.works[job].limit}
	b.end = b.until
	if e.runs != nil {
		b.end = e.now + min(max(e.runs.Waiting[job], 1)+e.lag, e.works[job].limit)
	}
	id := int32(len(e.allocations))
	e.placed[job] = id
	e.started = append(e.started, id)
	e.ends.push(due{b.end, id})
	e.allocate(b)
	e.refreshParts(lo, hi)
	e.total = e.profile.advance(e.now)
}

// leave takes a job out of the queue.
func (e *schedule) leave(position int) {
	e.queue.leave(position)
	if e.short != nil {
		e.short.leave(int(e.shortly[e.queue.jobs[position]]))
	}
}

// pass starts what may start now; started lists it.
func (e *schedule) pass() {
	e.started, e.failures = e.started[:0], e.failures[:0]
	e.barred = false
	e.readmit()
	e.startBound()
	switch {
	case e.policy.Kind == FCFS:
		e.barred = e.inOrder() >= 0
	case e.policy.Kind == FirstFit:
		e.firstFit()
	case e.policy.many():
		e.reserveInOrder()
	default:
		e.backfill()
	}
	e.early, e.ended = false, false
}

// many tells whether the policy makes reservations that are kept from pass to pass.
func (p Policy) many() bool {
	return p.Kind == EASY && p.reservations() > 1 || p.Kind >= ConsRebuild
}

func (p Policy) conservative() bool { return p.Kind >= ConsRebuild }
