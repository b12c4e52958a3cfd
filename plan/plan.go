package plan

import (
	"slices"
	"sort"

	"gbroker/grid"
)

// Plan is what a site will run when, by the policy of its scheduler. It is immutable
// and may be read by many at once.
type Plan struct {
	*ground
	at           grid.Tick
	policy       Policy
	waiting      []Waiting
	running      []Running
	reservations []Reservation

	placed      []int32 // by index into waiting: its allocation, or -1
	jobs        map[grid.JobID]int32
	allocations []allocation
	parts       []portion
	amounts     []int64

	free vacancy // all jobs and reservations where they are planned
	// What one more job could not have at a moment; not where every job keeps its
	// reservation, and one more takes the first that is left.
	moments []moment
	guards  []guard
	guarded []int64 // width numbers for each guard
}

// moment is an instant at which something ended or began, after its pass. What is
// free stays so until the next.
type moment struct {
	at     grid.Tick
	shadow grid.Tick // of the head's reservation, or never
	total  int64     // free cores
	beside int64     // those that a job may have that runs beyond the shadow
	lo, hi int32     // its guards, by node and instant
	barred bool      // nobody behind the queue may start
}

// guard is what may be taken of a node by a job that runs beyond an instant, for a
// reservation needs the rest.
type guard struct {
	node int32
	from grid.Tick
}

// Build runs the policy forward, every job to its limit, until every waiting job that
// can ever start has started and ended, and every end noticed at the latest: the safe plan.
func Build(s Snapshot) *Plan { return forward(&s, nil, s.Lag.Most) }

// Likely runs the policy forward where jobs run for as long as is believed, while
// the scheduler's own reservations rest on limits, as ever. A job ends at its limit at the latest, and one
// that outlived a belief at the next instant at the earliest. Where many wait, not all
// of the reservations of a conservative policy are made: see the package comment. Ends are noticed as late as usual. Runs
// that are nil are that all run to their limits.
func Likely(s Snapshot, runs *Runs) *Plan {
	if runs != nil {
		s.Policy = s.Policy.foreseen(len(s.Waiting))
	}
	return forward(&s, runs, s.Lag.Usual)
}

func forward(s *Snapshot, runs *Runs, lag grid.Tick) *Plan {
	e := newSchedule(s, runs, min(max(lag, 0), mostLag))
	p := &Plan{
		ground: e.ground, at: s.At, policy: s.Policy,
		waiting: s.Waiting, running: s.Running, reservations: s.Reservations,
	}
	e.expectAll()
	p.run(e)
	p.placed, p.allocations, p.parts, p.amounts = e.placed, e.allocations, e.parts, e.amounts
	e.makeBuckets()
	p.free = e.vacancy
	for n := range p.free.lines {
		p.free.lines[n].Head = 0
	}
	p.jobs = make(map[grid.JobID]int32, len(s.Waiting))
	for i := range s.Waiting {
		if id := s.Waiting[i].Job; id != "" {
			p.jobs[id] = int32(i)
		}
	}
	return p
}

func (p *Plan) run(e *schedule) {
	if p.policy.conservative() && e.runs == nil {
		for e.pass(); e.advance(); e.pass() {
		}
		return
	}
	jobs := len(e.promised) + len(e.waiting)
	p.moments = make([]moment, 0, jobs+1)
	p.guards, p.guarded = make([]guard, 0, jobs), make([]int64, 0, jobs*p.width)
	for {
		e.pass()
		p.record(e)
		if !e.advance() {
			return
		}
	}
}

// record keeps what the pass left.
func (p *Plan) record(e *schedule) {
	m := moment{at: e.now, shadow: never, total: e.total, beside: e.total, barred: e.barred, lo: int32(len(p.guards))}
	if e.one.taken {
		m.shadow, m.beside = e.one.shadow, e.total-e.lostToHead()
	}
	if m.total > 0 && !m.barred {
		for n := e.ahead.next(0); n >= 0; n = e.ahead.next(n + 1) {
			p.guard(&e.lines[n], n)
		}
	}
	m.hi = int32(len(p.guards))
	if n := len(p.moments); n > 0 {
		p.share(&m, &p.moments[n-1])
	}
	p.moments = append(p.moments, m)
}

// guard notes where less of a node will be free than is now.
func (p *Plan) guard(l *line, n int) {
	width := p.width
	least := l.Free[l.Head*width : (l.Head+1)*width]
	for i := l.Head + 1; i < len(l.At); i++ {
		less := false
		for r, f := range l.Free[i*width : (i+1)*width] {
			less = less || f < least[r]
		}
		if !less {
			continue
		}
		p.guards = append(p.guards, guard{int32(n), l.At[i]})
		at := len(p.guarded)
		p.guarded = append(p.guarded, l.Free[i*width:(i+1)*width]...)
		for r, f := range least {
			p.guarded[at+r] = min(p.guarded[at+r], f)
		}
		least = p.guarded[at : at+width]
	}
}

// share lets a moment have the guards of the one before, where they are the same.
func (p *Plan) share(m, before *moment) {
	n := m.hi - m.lo
	w := int32(p.width)
	if n == before.hi-before.lo && slices.Equal(p.guards[m.lo:m.hi], p.guards[before.lo:before.hi]) &&
		slices.Equal(p.guarded[m.lo*w:m.hi*w], p.guarded[before.lo*w:before.hi*w]) {
		p.guards, p.guarded = p.guards[:m.lo], p.guarded[:m.lo*w]
		m.lo, m.hi = before.lo, before.hi
	}
}

// Allocation is what a waiting job gets: shares of nodes from its start to its end.
type Allocation struct {
	Index      int // of the job, into Snapshot.Waiting
	Start, End grid.Tick
	Shares     []Share
}

// Start is the planned start of a waiting job of the snapshot; false for a job
// that is not waiting there, or can not start as the site is now.
func (p *Plan) Start(job grid.JobID) (grid.Tick, bool) {
	i, ok := p.jobs[job]
	if !ok || p.placed[i] < 0 {
		return 0, false
	}
	return p.allocations[p.placed[i]].start, true
}

// Waiting is when and where the waiting job with an index into the snapshot's list
// runs; false where it can not start as the site is now.
func (p *Plan) Waiting(index int) (Allocation, bool) {
	if index < 0 || index >= len(p.placed) || p.placed[index] < 0 {
		return Allocation{}, false
	}
	b := &p.allocations[p.placed[index]]
	lo, hi := int(b.lo), int(b.hi)
	return Allocation{index, b.start, b.end, p.shares(p.parts[lo:hi], p.amounts[lo*p.width:hi*p.width])}, true
}

// moment is the moment that holds at the instant t, or the first.
func (p *Plan) moment(t grid.Tick) int {
	return max(sort.Search(len(p.moments), func(i int) bool { return p.moments[i].at > t })-1, 0)
}
