package plan

import (
	"slices"
	"sort"

	"gbroker/grid"
)

// Plan is what a site will run when, by the policy of the package. It is
// immutable and may be read by many at once.
type Plan struct {
	snapshot Snapshot
	later    []Question // taken by With, in order
	starts   map[grid.JobID]grid.Tick
	moments  []moment
	// What is free after each moment's pass, node by node: all of it, and what a
	// job that runs beyond the shadow may take of it. The memory is left out at a
	// site that declares none.
	free, both             []int32
	freeMemory, bothMemory []int64
}

// moment is an instant at which something ended, came or started. What is free
// stays so until the next.
type moment struct {
	at     grid.Tick
	shadow grid.Tick // of the head's reservation
	total  int       // free cores
	queued bool      // somebody waits
}

// Build runs the policy forward until every waiting job that can ever start has
// started and ended.
func Build(s Snapshot) *Plan {
	p, _ := build(s, nil)
	return p
}

// build also tells the start of the last of later.
func build(s Snapshot, later []Question) (p *Plan, last grid.Tick) {
	p = &Plan{snapshot: s, later: later, starts: make(map[grid.JobID]grid.Tick, len(s.Waiting))}
	memory := slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Memory > 0 })
	p.moments = make([]moment, 0, len(s.Waiting)+len(s.Running)+len(later)+1)
	e := newSchedule(s, later)
	for more := true; more; more = e.advance() {
		e.pass()
		for _, started := range e.started {
			if started.Index == len(e.jobs)-1 {
				last = e.now
			}
			if started.Index < len(s.Waiting) && s.Waiting[started.Index].Job != "" {
				p.starts[s.Waiting[started.Index].Job] = e.now
			}
		}
		p.record(e, memory)
	}
	return p, last
}

func (p *Plan) record(e *schedule, memory bool) {
	m := moment{at: e.now, shadow: e.shadow, total: e.total, queued: len(e.queue) > 0}
	both := e.both
	if m.queued {
		e.mend()
	} else {
		both = e.free
	}
	p.moments = append(p.moments, m)
	for n := range e.free.cores {
		p.free = append(p.free, small(e.free.cores[n]))
		p.both = append(p.both, small(both.cores[n]))
	}
	if memory {
		p.freeMemory = append(p.freeMemory, e.free.memory...)
		p.bothMemory = append(p.bothMemory, both.memory...)
	}
}

func small(n int) int32 { return int32(min(max(n, 0), 1<<31-1)) }

// Start is the planned start of a waiting job of the snapshot; false for a job
// that is not waiting there, or can not start as the site is now.
func (p *Plan) Start(job grid.JobID) (grid.Tick, bool) {
	at, ok := p.starts[job]
	return at, ok
}

// Ask is the earliest start of one more job at the end of the queue, which may
// backfill like any other. It can never start where refusal is not nil.
func (p *Plan) Ask(q Question) (start grid.Tick, refusal *grid.Refusal) {
	if r := Refuse(p.snapshot.Site, p.snapshot.Nodes, q.Demand); r != nil {
		return 0, r
	}
	w := newWork(q.Demand, q.Limit)
	notBefore := max(q.NotBefore, p.snapshot.At)
	first := sort.Search(len(p.moments), func(i int) bool { return p.moments[i].at > notBefore }) - 1
	n := len(p.snapshot.Nodes)
	search := newSearch(n)
	for k := max(first, 0); k < len(p.moments); k++ {
		m := &p.moments[k]
		if w.cores > m.total {
			continue
		}
		at := max(notBefore, m.at)
		cores, memory := p.free, p.freeMemory
		if m.queued && at+w.limit > m.shadow {
			cores, memory = p.both, p.bothMemory
		}
		if search.fits(w.pieces, slice(cores, k, n), slice(memory, k, n)) {
			return at, nil
		}
	}
	// Not reached: at the last moment all has ended, and on the empty site it fits.
	return 0, lack("too few processors", int64(w.cores), 0)
}

func slice[T any](all []T, k, n int) []T {
	if len(all) == 0 {
		return nil
	}
	return all[k*n : (k+1)*n]
}

// search looks for room in what a plan recorded.
type search struct {
	room   room
	placer *placer
}

func newSearch(nodes int) *search {
	r := room{make([]int, nodes), make([]int64, nodes)}
	for i := range r.memory {
		r.memory[i] = unlimited
	}
	return &search{room: r, placer: newPlacer(nodes)}
}

func (s *search) fits(p pieces, cores []int32, memory []int64) bool {
	s.load(cores, memory)
	_, ok := s.place(p)
	return ok
}

// load takes what is free, node by node; no memory is memory that does not count.
func (s *search) load(cores []int32, memory []int64) {
	for i, c := range cores {
		s.room.cores[i] = int(c)
	}
	copy(s.room.memory, memory)
}

// narrow leaves what is free now and also then.
func (s *search) narrow(cores []int32, memory []int64) {
	for i, c := range cores {
		s.room.cores[i] = min(s.room.cores[i], int(c))
	}
	for i, m := range memory {
		s.room.memory[i] = min(s.room.memory[i], m)
	}
}

// place finds shares in what was loaded, valid until the next call.
func (s *search) place(p pieces) ([]Share, bool) { return s.placer.place(p, s.room) }

// With is the plan as if the job of q came too, so that questions about several
// jobs can be answered cumulatively. p stays as it is.
func (p *Plan) With(q Question) (with *Plan, start grid.Tick, refusal *grid.Refusal) {
	if r := Refuse(p.snapshot.Site, p.snapshot.Nodes, q.Demand); r != nil {
		return p, 0, r
	}
	with, start = build(p.snapshot, append(slices.Clip(p.later), q))
	return with, start, nil
}
