package pool

import (
	"container/heap"
	"math/rand/v2"
	"slices"

	"gbroker/grid"
	"gbroker/pool"
)

// Outcome is of one run.
type Outcome struct {
	Failures int
	Refused  int     // of these, no computer could end them in time when they came, were all free
	Waited   int     // or not any more, while they waited
	Late     int     // or they were begun and did not end in time
	Useful   float64 // the part of the pool's performance, until the last arrival, that went into jobs which ended in time
}

// begun is a job that runs.
type begun struct {
	job      pool.Job
	computer int
	from     grid.Tick
	end      grid.Tick // in truth, or when it is killed
	inTime   bool
}

// agenda is what runs, by its end.
type agenda []begun

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, k int) bool { return a[i].end < a[k].end }
func (a agenda) Swap(i, k int)      { a[i], a[k] = a[k], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(begun)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}

// run is a simulation under way.
type run struct {
	world
	model     *Model
	rule      Rule
	errs      *rand.Rand
	chance    *rand.Rand
	now       grid.Tick
	computers []pool.Computer // as the rule sees them
	truth     []float64       // of the next run on each, or of the present one
	waiting   []pool.Job
	running   agenda
	next      int // of the jobs, to arrive
	out       Outcome
	power     float64 // of all computers
	worth     float64 // ticks of the reference in jobs that ended in time, until the last arrival
}

// Run simulates the world of a seed. It ends early if stop says so; ok is false then.
func (m Model) Run(rule Rule, seed uint64, stop func() bool) (out Outcome, ok bool) {
	r := &run{world: m.make(seed), model: &m, rule: rule, errs: rand.New(rand.NewPCG(seed, 17)), chance: rand.New(rand.NewPCG(seed, 18))}
	r.rule.Margin, r.rule.Endangered = m.Margin, m.Endangered
	r.computers, r.truth = make([]pool.Computer, len(r.h)), make([]float64, len(r.h))
	for _, h := range r.h {
		r.power += h
	}
	for i := range r.h {
		r.truth[i] = r.h[i] * r.factor()
		r.show(i)
	}
	if rule.moves {
		return r.moving(stop)
	}
	for r.next < len(r.jobs) || len(r.running) > 0 {
		if stop() {
			return r.out, false
		}
		r.advance()
		r.assign()
	}
	return r.finish(), true
}

// factor is by what a truth differs from what is foreseen.
func (r *run) factor() float64 {
	if r.model.Sigma == 0 {
		return 1
	}
	return max(0.01, 1+r.model.Sigma*r.errs.NormFloat64())
}

// show gives the rule what it may know of a computer.
func (r *run) show(i int) {
	h := r.h[i]
	switch r.model.Knows {
	case Full:
		h = r.truth[i]
	case None:
		h = r.power / float64(len(r.h))
	}
	r.computers[i].Forecast = pool.Constant(h)
}

// advance goes to the next instant at which something happens.
func (r *run) advance() {
	r.now = pool.Never
	if r.next < len(r.jobs) {
		r.now = r.jobs[r.next].Arrival
	}
	if len(r.running) > 0 {
		r.now = min(r.now, r.running[0].end)
	}
	for len(r.running) > 0 && r.running[0].end <= r.now {
		r.ended(heap.Pop(&r.running).(begun))
	}
	for i := range r.running { // the rule finds out that a job is longer than was foreseen: it will run until it is killed at the latest
		if b := &r.running[i]; r.computers[b.computer].Free <= r.now {
			r.computers[b.computer].Free = max(b.job.Deadline, r.now+1)
		}
	}
	for ; r.next < len(r.jobs) && r.jobs[r.next].Arrival <= r.now; r.next++ {
		r.arrive(r.jobs[r.next])
	}
	if r.rule.InTime || r.rule.kills {
		r.drop()
	}
}

func (r *run) ended(b begun) {
	r.computers[b.computer].Free = r.now
	r.worth += r.work(b)
	if r.model.Errors == PerRun {
		r.truth[b.computer] = r.h[b.computer] * r.factor()
		r.show(b.computer)
	}
}

// work is what a job that ended in time got until the last arrival.
func (r *run) work(b begun) float64 {
	if !b.inTime {
		return 0
	}
	return r.truth[b.computer] * float64(max(0, min(b.end, r.span)-min(b.from, r.span)))
}

func (r *run) arrive(j pool.Job) {
	if r.rule.InTime && len(r.hopeless([]pool.Job{j})) > 0 {
		r.out.Refused++
		return
	}
	r.waiting = append(r.waiting, j)
}

// drop takes those out that can be in time no more.
func (r *run) drop() {
	gone := make(map[int]bool)
	if r.rule.InTime {
		for _, i := range r.hopeless(r.waiting) {
			gone[i] = true
		}
	}
	for i := range r.waiting {
		if r.waiting[i].Deadline <= r.now {
			gone[i] = true
		}
	}
	r.out.Waited += len(gone)
	r.remove(gone)
}

// remove takes some out of those that wait.
func (r *run) remove(gone map[int]bool) {
	i := -1
	r.waiting = slices.DeleteFunc(r.waiting, func(pool.Job) bool { i++; return gone[i] })
}

// assign begins what the rule says.
func (r *run) assign() {
	if r.model.Parts > 1 {
		r.assignParts()
		return
	}
	gone := make(map[int]bool)
	for _, a := range r.rule.Assign(r.now, r.computers, r.waiting, r.chance) {
		j := r.waiting[a.Job]
		gone[a.Job] = true
		r.begin(j, []begun{r.truly(j, a, 0)})
	}
	r.remove(gone)
}

// truly is what will become of a job or a part of one, whose delivery takes a while.
func (r *run) truly(j pool.Job, a pool.Assignment, delivery grid.Tick) begun {
	span := delivery + grid.Tick(max(1, 1000*j.Work/r.truth[a.Computer]))
	r.computers[a.Computer].Free = max(a.End, r.now+1)
	return begun{job: j, computer: a.Computer, from: r.now + delivery, end: r.now + span}
}

// begin begins a job in its parts: it is in time if all are.
func (r *run) begin(j pool.Job, parts []begun) {
	late := slices.ContainsFunc(parts, func(b begun) bool { return b.end > j.Deadline })
	if late {
		r.out.Late++
	}
	for _, b := range parts {
		b.inTime = !late
		if late && (r.rule.InTime || r.rule.kills) {
			b.end = min(b.end, max(j.Deadline, r.now+1))
		}
		heap.Push(&r.running, b)
	}
}

func (r *run) finish() Outcome {
	r.out.Waited += len(r.waiting)
	r.out.Failures = r.out.Refused + r.out.Waited + r.out.Late
	r.out.Useful = r.worth / (r.power * float64(r.span))
	return r.out
}
