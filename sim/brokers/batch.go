package brokers

import (
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/sim/replay/counted"
	"gbroker/sim/workload"
)

// batch is the batch system of a site: the scheduler of package counted, which starts every job when package plan does
// on one node. It is told of ends and arrivals, and looks at its queue once at the end of each instant at which there were any.
type batch struct {
	r         *run
	site      int32
	cores     int32
	free      int32
	speed     float64
	scheduler *counted.Scheduler
	held      map[int32]*local // by number of the job
	waiting   []*local         // in the order of arrival
	running   []*local         // in the order of start
	due       bool             // a pass is
	wake      grid.Tick        // when the scheduler wants one though nothing happens; 0 is none
	shot      plan.Snapshot
	shown     bool           // shot is what there is
	tell      func(l *local) // of a start or an end; may be nil
	passed    func()         // the scheduler has looked; may be nil
}

// local is a job that waits or runs in a batch system.
type local struct {
	n        int32 // of World.Jobs
	attempt  grid.AttemptID
	cores    int32
	demand   grid.Demand // of which nothing is written to, so that snapshots share it
	shares   []plan.Share
	limit    grid.Tick
	expected grid.Tick // start, when it came; 0 is not known
	started  grid.Tick // 0: it waits
	ended    grid.Tick
	killed   bool
	promise  counted.Running
}

func newBatch(r *run, i int) *batch {
	s := &r.w.Sites[i]
	return &batch{
		r: r, site: int32(i), cores: int32(s.Cores), free: int32(s.Cores), speed: s.speed(),
		scheduler: counted.New(int32(s.Cores), s.Policy), held: map[int32]*local{},
	}
}

func (s *Site) speed() float64 {
	if s.Speed == 0 {
		return 1
	}
	return s.Speed
}

// span is how long a job runs at a site of that speed, at least a millisecond.
func span(run grid.Tick, speed float64) grid.Tick {
	return max(1, grid.FromSeconds(run.Seconds()/speed))
}

// limit is after how long the site kills it: never sooner than its user asked.
func limit(j *workload.Job, speed float64) grid.Tick { return max(j.Limit, span(j.Limit, speed)) }

// arrive puts a job into the queue.
func (b *batch) arrive(l *local) {
	j := &b.r.w.Jobs[l.n]
	l.cores, l.demand = int32(j.Cores), demand(int32(j.Cores))
	l.shares = []plan.Share{{Processes: j.Cores, Cores: j.Cores}}
	if b.held[l.n] != nil || !b.scheduler.Arrive(counted.Job{Ref: l.n, Cores: l.cores, Limit: l.limit}) {
		b.r.fail(fmt.Errorf("job %d is handed to %s, which has it already or can never run it", l.n, b.r.w.Sites[b.site].Name))
		return
	}
	b.held[l.n] = l
	b.waiting = append(b.waiting, l)
	if e := &b.r.result.Jobs[l.n]; e.Told == 0 {
		e.Told = max(0, l.expected-epoch)
	}
	b.changed()
}

// withdraw takes a job out of the queue; false if it has started.
func (b *batch) withdraw(n int32) bool {
	l := b.held[n]
	if l == nil {
		return true
	}
	if l.started > 0 || !b.scheduler.Withdraw(b.r.now, n) {
		return false
	}
	delete(b.held, n)
	b.waiting = slices.DeleteFunc(b.waiting, func(o *local) bool { return o == l })
	b.changed()
	return true
}

// changed has the scheduler look at its queue when all has happened that happens at this instant.
func (b *batch) changed() {
	b.shown = false
	if !b.due {
		b.due = true
		b.r.due = append(b.r.due, b)
	}
}

// pass has the scheduler start whom it starts now.
func (b *batch) pass() {
	b.due = false
	for _, h := range b.scheduler.Pass(b.r.now) {
		b.start(h)
	}
	if b.passed != nil {
		b.passed()
	}
	if at, ok := b.scheduler.Wake(); ok && at != b.wake && at > b.r.now {
		b.wake = at
		b.r.at(at, func() {
			if b.wake == at {
				b.wake = 0
				b.changed()
			}
		})
	}
}

func (b *batch) start(h counted.Running) {
	l := b.held[h.Ref]
	l.started, l.promise = b.r.now, h
	b.shown = false
	b.free -= l.cores
	b.waiting = slices.DeleteFunc(b.waiting, func(o *local) bool { return o == l })
	b.running = append(b.running, l)
	b.r.started(b, l)
	b.r.at(b.r.now+span(b.r.w.Jobs[l.n].Run, b.speed), func() { b.end(l) })
	if b.tell != nil {
		b.tell(l)
	}
}

// kill ends a job that runs, or takes it out of the queue; false if it is not here.
func (b *batch) kill(n int32) bool {
	l := b.held[n]
	switch {
	case l == nil:
		return false
	case l.started == 0:
		return b.withdraw(n)
	}
	l.killed = true
	b.end(l)
	return true
}

func (b *batch) end(l *local) {
	if l.ended > 0 {
		return // it was killed
	}
	l.ended = b.r.now
	b.scheduler.End(b.r.now, l.promise)
	b.free += l.cores
	delete(b.held, l.n)
	b.running = slices.DeleteFunc(b.running, func(o *local) bool { return o == l })
	b.changed()
	b.r.ended(b, l)
	if b.tell != nil {
		b.tell(l)
	}
}

// snapshot is what the batch system shows now. Its lists are not written to any more.
func (b *batch) snapshot() plan.Snapshot {
	if !b.shown {
		b.shown = true
		s := &b.r.w.Sites[b.site]
		b.shot = plan.Snapshot{
			Site: b.r.facts(int(b.site)), Policy: s.Policy, Nodes: b.r.nodes[b.site],
			Running: make([]plan.Running, len(b.running)), Waiting: make([]plan.Waiting, len(b.waiting)),
		}
		for i, l := range b.running {
			b.shot.Running[i] = plan.Running{
				Job: l.attempt.Job, Start: l.started, End: l.started + l.limit,
				Shares: l.shares,
			}
		}
		for i, l := range b.waiting {
			b.shot.Waiting[i] = plan.Waiting{Job: l.attempt.Job, Demand: l.demand, Limit: l.limit}
		}
	}
	b.shot.At = b.r.now
	return b.shot
}

// demand is that of a job of so many cores: one node of a site has all.
func demand(cores int32) grid.Demand {
	return grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: int(cores), Cores: int(cores)}}}
}
