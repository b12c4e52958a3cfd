package faults

import (
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
)

// The barrier of parts of co-allocated jobs, as pbs/wrapper and pbs/embedded have it. The wrapper of a part
// is started in its reservation, and in no other place. It says that it has arrived, waits until it is told to
// go, and only then takes the start token. Its program ends by itself unless it is told in time that all
// have begun. What it is told lies in the control directory, where only the broker of its site writes.

// patience is how long a part waits after its grace for somebody who withdraws it.
const patience = grid.Minute

// words of the barrier that are in a control directory, by the token's name.
type barrier struct {
	arrived, told, begun bool
}

// inReservation tells of a job that starts in a reservation alone.
func (l *local) inReservation() bool { return l.sub.Reservation != "" }

// mayEnter tells that the reservation of a job has begun, and its nodes are free.
func (b *batch) mayEnter(l *local) bool {
	at, held := b.holds[grid.ReservationID(l.sub.Reservation)]
	now := b.s.clock.wall(b.s.w.now)
	down := slices.ContainsFunc(at.Nodes, func(n grid.NodeName) bool { return b.down[n] })
	return held && !down && l.entered == 0 && at.Start <= now && now < at.End && b.occupied(at.Nodes, nil) == nil
}

// occupied is a job on one of these nodes, of those that count.
func (b *batch) occupied(nodes []grid.NodeName, counts func(*local) bool) *local {
	for _, l := range b.jobs {
		for _, sh := range l.shares {
			if slices.Contains(nodes, b.s.nodes[sh.Node].Name) && (counts == nil || counts(l)) {
				return l
			}
		}
	}
	return nil
}

// enter starts the wrapper of a part.
func (b *batch) enter(l *local) {
	w := b.s.w
	l.entered, l.shares = w.now, nil
	need := l.cores
	for i, n := range b.s.nodes {
		if at := b.holds[grid.ReservationID(l.sub.Reservation)]; slices.Contains(at.Nodes, n.Name) {
			take := min(need, n.Cores)
			l.shares = append(l.shares, plan.Share{Node: i, Processes: take, Cores: n.Cores})
			need -= take
		}
	}
	if l.sub.Job.Part == nil {
		b.start(l)
		return
	}
	part := l.sub.Job.Part
	late := min(0, part.Start-b.s.clock.wall(w.now))
	l.leaves = w.now + b.s.clock.truly(min(l.sub.BatchLimit(), max(0, late+part.Grace+patience)))
	w.tell(b.s, "the wrapper of %s is in its reservation", l.sub.ID)
	b.troubleThere(l)
	b.atBarrier(l)
}

// troubleThere is what may befall a part at its barrier.
func (b *batch) troubleThere(l *local) {
	w, entered := b.s.w, l.entered
	r := w.rnd.part
	at := between(r, 0, 20*grid.Second)
	again := w.strikes(Requeue, r)
	if !again && !w.strikes(JobLost, r) && !w.strikes(OperatorDelete, r) {
		return
	}
	w.after(at, func() {
		switch {
		case l.entered != entered || !l.waitsThere():
		case again:
			w.tell(b.s, "the batch system requeues %s, which waits at its barrier", l.sub.ID)
			l.entered, l.shares = 0, nil
			b.pass()
		default:
			b.vanish(l)
		}
	})
}

// waitsThere tells that a part is at its barrier.
func (l *local) waitsThere() bool { return l.entered > 0 && l.waits() }

// atBarrier is one look of the wrapper of a part.
func (b *batch) atBarrier(l *local) {
	w := b.s.w
	if !l.waitsThere() {
		return
	}
	f, of := b.s.disk.folders[l.sub.ID.Job], b.tokenOf(l.sub.ID)
	switch {
	case b.s.disk.unreadable && w.now < l.leaves:
		l.look(w.rnd.part.IntN(1000), b)
		return
	case f == nil, b.s.disk.unreadable, !f.known[of], f.tokens[of] != nobody, w.now >= l.leaves:
		w.tell(b.s, "the wrapper of %s leaves the barrier", l.sub.ID)
		b.remove(l)
		return
	}
	words := f.words[of]
	if !words.arrived {
		words.arrived = true
		f.words[of] = words
		w.truth.arrived(b.s, l)
		b.s.changedAttempt(l.sub.ID)
	}
	if words.told {
		b.start(l)
		return
	}
	l.look(-1, b)
}

// look has the wrapper look again, when something is told or its patience is over.
func (l *local) look(in int, b *batch) {
	w := b.s.w
	at := l.leaves - w.now
	if in >= 0 {
		at = grid.Tick(in)
	}
	entered := l.entered
	w.after(at, func() {
		if l.entered == entered {
			b.atBarrier(l)
		}
	})
}

// gather writes into the control directory what a part waits for.
func (h *host) gather(key core.WorkKey, e core.Gather) {
	s, w := h.s, h.s.w
	h.do(key, &work{
		begin: func() grid.Tick { return between(w.rnd.part, 1, 50) },
		end: func(bool) {
			f := s.disk.folders[e.ID.Job]
			if f == nil || s.disk.unreadable || w.strikes(CollectFails, w.rnd.part) {
				return
			}
			of := s.batch.tokenOf(e.ID)
			words := f.words[of]
			words.told, words.begun = words.told || !e.Begun, words.begun || e.Begun
			f.words[of] = words
			w.tell(s, "tells %s: go %v, all have begun %v", e.ID, words.told, words.begun)
			if l := s.batch.find(e.ID); l != nil && l.waitsThere() {
				l.look(w.rnd.part.IntN(200), s.batch)
			}
		},
	})
}

// vigil ends a program of which nobody has said in time that the others have begun too.
func (b *batch) vigil(l *local) {
	w := b.s.w
	part, started := l.sub.Job.Part, l.started
	if part == nil {
		return
	}
	w.after(b.s.clock.truly(part.Within), func() {
		if l.gone || l.started != started {
			return
		}
		f := b.s.disk.folders[l.sub.ID.Job]
		if f == nil || b.s.disk.unreadable || !f.words[b.tokenOf(l.sub.ID)].begun {
			b.end(l, grid.Alone)
		}
	})
	w.after(b.s.clock.truly(part.Within)+grid.Second, func() {
		if !l.gone && l.started == started {
			w.truth.runsOn(b.s, l)
		}
	})
}
