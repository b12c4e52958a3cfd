package faults

import (
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// batch is the batch system of a site: a queue served strictly in order, and nodes. It
// goes on whatever the broker does. Ended jobs are forgotten at once; only a blind
// site, whose driver has nothing else to go by, keeps an account of them.
type batch struct {
	s      *site
	jobs   []*local // that wait or run, in order
	last   int      // number of the last job
	free   []int    // numbers that may be used again
	ended  map[grid.AttemptID]account
	blind  bool // nodes do not see the control directory: no start tokens
	passed bool // a pass is planned
	off    bool // nothing starts, and no command is answered
	// emptied counts how often its administrator has emptied it: what it had accepted is void.
	emptied int
	holds   map[grid.ReservationID]grid.Place // by the wall clock of the site
	since   grid.Tick                         // all has worked at the site, with reservations too
	spared  map[grid.ReservationID]grid.Tick  // until when its home could not have said that it is given up
	down    map[grid.NodeName]bool
}

// account is what a blind site remembers of a job that is gone.
type account struct {
	started  bool
	progress grid.Progress
}

// local is one job of the batch system.
type local struct {
	number   int
	sub      grid.Submission // of a foreign job only Job.Demand and Limit
	foreign  bool
	cores    int
	span     grid.Tick // how long it runs, in true time
	sent     grid.Tick // in true time, when the server was asked to take it
	queued   grid.Tick // in true time, when it had
	entered  grid.Tick // in true time, into its reservation: its wrapper waits at the barrier
	leaves   grid.Tick // in true time, when its wrapper waits no longer
	started  grid.Tick // in true time; 0: it waits
	clock    grid.Tick // the same by the site's wall clock
	shares   []plan.Share
	ours     bool // our hold
	theirs   bool // an operator's hold
	hidden   bool
	gone     bool
	ever     bool // its program was started, though it may wait again
	asked    bool // our kill is under way
	requeues bool // the batch system may start it again
}

func (l *local) waits() bool { return l.started == 0 && !l.gone }

// pace is how long a command takes, of which usual is the most if nothing is wrong.
func (b *batch) pace(usual grid.Tick) grid.Tick {
	w := b.s.w
	if w.strikes(CommandSlow, w.rnd.batch) {
		return between(w.rnd.batch, grid.Second, 30*grid.Second)
	}
	return between(w.rnd.batch, 1, usual)
}

// add puts a job at the end of the queue.
func (b *batch) add(l *local) {
	w := b.s.w
	if n := len(b.free); n > 0 && w.strikes(IDReused, w.rnd.batch) {
		l.number, b.free = b.free[n-1], b.free[:n-1]
	} else {
		b.last++
		l.number = b.last
	}
	l.queued, l.cores = w.now, l.sub.Job.Demand.Cores()
	b.jobs = append(b.jobs, l)
	b.pass()
}

// pass has the scheduler look at the queue soon.
func (b *batch) pass() {
	if !b.passed {
		b.passed = true
		b.s.w.after(between(b.s.w.rnd.batch, 1, 200), func() {
			b.passed = false
			b.schedule()
		})
	}
}

// schedule starts what fits, in order. A job that finds no room keeps back those behind it, but for what has a
// reservation: its nodes are nobody else's.
func (b *batch) schedule() {
	full := false
	for _, l := range slices.Clone(b.jobs) {
		if b.off {
			return
		}
		if !l.waits() || l.ours || l.theirs {
			continue
		}
		if l.inReservation() {
			if b.mayEnter(l) {
				b.enter(l)
			}
			continue
		}
		if full = full || !b.place(l); !full {
			b.start(l)
		}
	}
}

// place finds room on the nodes.
func (b *batch) place(l *local) bool {
	room := make([]int, len(b.s.nodes))
	for i, n := range b.s.nodes {
		if !b.down[n.Name] && !b.keptFree(n.Name, l.sub.Limit) {
			room[i] = n.Cores
		}
	}
	for _, o := range b.jobs {
		for _, sh := range o.shares {
			room[sh.Node] -= sh.Cores
		}
	}
	l.shares = nil
	need := l.cores
	for i := range room {
		if take := min(need, room[i]); take > 0 {
			l.shares = append(l.shares, plan.Share{Node: i, Processes: take, Cores: take})
			need -= take
		}
	}
	if need > 0 {
		l.shares = nil
	}
	return need == 0
}

// early has the scheduler start a job at this very moment, out of turn, if it fits.
func (b *batch) early(l *local) {
	w := b.s.w
	if l == nil || b.off || !l.waits() || !w.strikes(EarlyStart, w.rnd.batch) {
		return
	}
	switch {
	case l.waitsThere():
		b.atBarrier(l)
	case l.inReservation():
		b.pass()
	case b.place(l):
		b.start(l)
	}
}

// start runs the wrapper of a job on its nodes: it takes the start token first.
func (b *batch) start(l *local) {
	w := b.s.w
	if !l.foreign && !b.blind && !b.mayStart(l.sub.ID) {
		w.tell(b.s, "the wrapper of %s ends: its token is taken, or its control directory is not there", l.sub.ID)
		b.remove(l)
		return
	}
	l.started, l.clock, l.ever = w.now, b.s.clock.wall(w.now), true
	if l.entered > 0 {
		l.span = min(l.span, max(1, l.entered+l.sub.BatchLimit()-w.now))
	}
	if !l.foreign {
		w.truth.started(b.s, l)
		b.trouble(l)
		b.vigil(l)
		b.s.changedAttempt(l.sub.ID)
	}
	started := l.started
	w.after(l.span, func() {
		if !l.gone && l.started == started {
			cause := grid.ByItself
			if l.span >= l.sub.Limit {
				cause = grid.ByWalltime
			}
			b.end(l, cause)
		}
	})
}

// mayStart takes the start token for the program.
func (b *batch) mayStart(id grid.AttemptID) bool {
	f := b.s.disk.folders[id.Job]
	switch {
	case b.s.w.broken.shell[noStartToken]:
		return true
	case f == nil, b.s.disk.unreadable:
		return false
	case !f.known[b.tokenOf(id)]:
		// Of a job that was here before: its folder was discarded, with the tokens, and made
		// again. Only attempts that were submitted into this folder start from it.
		return false
	case f.tokens[b.tokenOf(id)] != nobody:
		return false
	}
	f.tokens[b.tokenOf(id)] = theProgram
	return true
}

// tokenOf names the start token of an attempt.
func (b *batch) tokenOf(id grid.AttemptID) token {
	if b.s.w.broken.shell[tagWithoutEpoch] {
		return token{attempt: id.Attempt}
	}
	return token{id.Epoch, id.Attempt}
}

// trouble is what may befall a job that runs.
func (b *batch) trouble(l *local) {
	w := b.s.w
	r := w.rnd.batch
	at := between(r, 0, l.span)
	lost, requeued, deleted := w.strikes(JobLost, r), w.strikes(Requeue, r), w.strikes(OperatorDelete, r)
	if !lost && !requeued && !deleted {
		return
	}
	started := l.started
	w.after(at, func() {
		switch {
		case l.gone || l.started != started:
		case deleted:
			b.end(l, grid.ByItself)
		case requeued && (l.requeues || !b.blind):
			b.requeue(l)
		default:
			b.vanish(l)
		}
	})
}

// requeue ends a job and puts it back into the queue.
func (b *batch) requeue(l *local) {
	w := b.s.w
	w.tell(b.s, "the batch system requeues %s", l.sub.ID)
	w.truth.lost(b.s, l)
	l.started, l.entered, l.shares = 0, 0, nil
	b.pass()
}

// vanish ends a job without a trace.
func (b *batch) vanish(l *local) {
	w := b.s.w
	w.tell(b.s, "the local job of %s vanishes", l.sub.ID)
	if l.started > 0 {
		w.truth.lost(b.s, l)
	}
	b.account(l, grid.Disappeared)
	b.remove(l)
}

// end is the end of a program, which its wrapper writes down.
func (b *batch) end(l *local, cause grid.Cause) {
	if !l.foreign {
		p := b.account(l, cause)
		if f := b.s.disk.folders[l.sub.ID.Job]; f != nil && !b.blind {
			f.ends[b.tokenOf(l.sub.ID)] = p
		}
		b.s.w.truth.ended(b.s, l, p)
		b.s.changedAttempt(l.sub.ID)
	}
	b.remove(l)
}

// account says how a job ended; a blind site keeps it.
func (b *batch) account(l *local, cause grid.Cause) grid.Progress {
	p := grid.Progress{ID: l.sub.ID, Phase: grid.Ended, Started: l.clock, Finished: b.s.clock.wall(b.s.w.now), Cause: cause}
	if cause == grid.ByItself {
		p.ExitCode = int(l.span % 3)
		if f := b.s.w.truth.facts[l.sub.ID.Job]; f != nil && f.task != nil {
			p.ExitCode = int(l.span % 8 / 7)
		}
	}
	if b.blind && !l.foreign {
		if b.ended == nil {
			b.ended = map[grid.AttemptID]account{}
		}
		b.ended[b.tagOf(l.sub.ID)] = account{l.ever, p}
	}
	return p
}

// remove takes a job out of the system.
func (b *batch) remove(l *local) {
	l.gone, l.shares = true, nil
	b.jobs = slices.DeleteFunc(b.jobs, func(o *local) bool { return o == l })
	b.free = append(b.free, l.number)
	b.pass()
}

// find looks for the job of an attempt by its tag, in a good listing.
func (b *batch) find(id grid.AttemptID) *local {
	for _, l := range b.jobs {
		if !l.foreign && !l.hidden && b.sameTag(l.sub.ID, id) {
			return l
		}
	}
	return nil
}

// sameTag tells that the local jobs of two attempts have the same name.
func (b *batch) sameTag(a, o grid.AttemptID) bool { return b.tagOf(a) == b.tagOf(o) }

// tagOf stands for the name of an attempt's local job.
func (b *batch) tagOf(id grid.AttemptID) grid.AttemptID {
	if b.s.w.broken.shell[tagWithoutEpoch] {
		id.Epoch = grid.Epoch{}
	}
	return id
}
