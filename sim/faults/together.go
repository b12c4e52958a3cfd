package faults

import (
	"slices"

	"gbroker/grid"
)

// Jobs over several sites, and what must hold of them:
//
//	S4  no part takes its start token before all parts of its round have arrived, all their reservations were
//	    confirmed, and GO was on disk at the home; nothing is confirmed before all batch systems hold their
//	    part of it, for one interval in truth; a part that runs without the others is ended in time; what was
//	    begun in vain starts again only if it is rerunnable
//
// The whole is told to its user as any job, and its parts are jobs: so S1, S2, S5 and S8 hold of them too. Nobody is
// told of a part, so what its home says of its end need only be true.

// round is the truth about one choice of sites for a job.
type round struct {
	of    *fact // the whole
	n     uint32
	parts []*piece // by rank
	goes  bool     // GO was on disk at its home
	// walltime is that of the job by its home's journal then: its parts are of that version.
	walltime grid.Tick
}

// piece is the truth about one part of a round.
type piece struct {
	of          *round
	id          grid.JobID
	reservation grid.ReservationID
	at          *site
	arrived     bool
	confirmed   bool
	held        bool
	from        grid.Tick // when its reservation begins, in truth
	began       grid.Tick
}

// roundSaved takes up what a home has saved of a job over several sites.
func (t *truth) roundSaved(s *site, a *grid.Allocation) {
	f := t.facts[a.Of]
	if f == nil {
		return
	}
	s.w.tell(s, "saves that %s is %v in round %d: %s", a.Of, a.State, a.Round, a.Reason)
	var parts []*piece
	for i := range a.Parts {
		if p := &a.Parts[i]; p.Round == a.Round {
			parts = append(parts, &piece{id: p.Job, reservation: p.Reservation, at: s.w.byPeer[p.Peer]})
		}
	}
	if len(parts) == 0 {
		return
	}
	same := func(r *round) bool {
		return r.n == a.Round && slices.EqualFunc(r.parts, parts, func(x, y *piece) bool { return x.id == y.id && x.at == y.at && x.reservation == y.reservation })
	}
	k := slices.IndexFunc(f.rounds, same)
	if k < 0 {
		r := &round{of: f, n: a.Round, parts: parts}
		for _, p := range parts {
			p.of = r
			t.pieces[p.reservation] = append(t.pieces[p.reservation], p)
		}
		f.rounds, k = append(f.rounds, r), len(f.rounds)
	}
	if r, whole := f.rounds[k], s.disk.records[a.Of]; a.Go > 0 && !r.goes {
		if r.goes = true; whole != nil {
			r.walltime = whole.Job.Walltime
		}
	}
}

// pieceOf is the part of a round that a site has a reservation of; the last one of that name.
func (t *truth) pieceOf(s *site, id grid.ReservationID) *piece {
	list := t.pieces[id]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].at == s {
			return list[i]
		}
	}
	return nil
}

// held: a batch system holds a reservation.
func (t *truth) held(s *site, id grid.ReservationID, at grid.Place) {
	if p := t.pieceOf(s.principal(), id); p != nil {
		p.held, p.from = true, at.Start-s.clock.wall(s.w.now)+s.w.now
	}
}

// reservationSaved: a site has saved what is reserved there.
func (t *truth) reservationSaved(s *site, r *grid.Reservation) {
	p := t.pieceOf(s, r.ID)
	if p == nil || p.confirmed || r.State != grid.Confirmed && r.State != grid.Bound {
		return
	}
	p.confirmed = true
	for _, o := range p.of.parts {
		switch far := max(o.from-p.from, p.from-o.from); {
		case !o.held:
			s.w.violate("S4", p.of.of.id, "%s confirms the reservation of %s, and %s has never held that of %s", s.name(), p.id, o.at.name(), o.id)
		case far > apart && s.w.rates[ClockStep] == 0:
			s.w.violate("S4", p.of.of.id, "%s confirms the reservation of %s, which begins %.1f s from that of %s", s.name(), p.id, far.Seconds(), o.id)
		}
	}
}

// apart is how far the reservations of a round may begin from one another in truth: each clock is known to 10 s,
// and instants are whole seconds.
const apart = 22 * grid.Second

// arrived: the wrapper of a part is at its barrier.
func (t *truth) arrived(s *site, l *local) {
	s.w.tell(s, "ARRIVES %s", l.sub.ID)
	if p := t.pieceOf(s, l.sub.Job.Reservation); p != nil {
		p.arrived = true
	}
}

// mayBegin checks S4 when the program of a part starts.
func (t *truth) mayBegin(s *site, l *local) {
	w, part := s.w, l.sub.Job.Part
	if part == nil {
		return
	}
	p := t.pieceOf(s, l.sub.Job.Reservation)
	if p == nil {
		w.violate("S4", part.Of, "%s starts at %s, and its home has never chosen that", l.sub.ID, s.name())
		return
	}
	p.began = w.now
	r, whole := p.of, p.of.of
	if r.walltime != 0 && r.walltime != l.sub.Job.Walltime && !whole.byAnother() {
		w.violate("S13", whole.id, "%s starts at %s with a walltime of %.0f s, and the job had been altered to %.0f s when it was told to go", l.sub.ID, s.name(), l.sub.Job.Walltime.Seconds(), r.walltime.Seconds())
	}
	if !r.goes {
		w.violate("S4", whole.id, "%s starts at %s, and its home has not saved that it goes", l.sub.ID, s.name())
	}
	for _, o := range r.parts {
		switch {
		case !o.arrived:
			w.violate("S4", whole.id, "%s starts at %s before %s has arrived", l.sub.ID, s.name(), o.id)
		case !o.confirmed:
			w.violate("S4", whole.id, "%s starts at %s, and the reservation of %s was never confirmed", l.sub.ID, s.name(), o.id)
		}
	}
	now := start{at: w.now, where: s, id: l.sub.ID, queued: l.queued}
	if t.facts[l.sub.ID.Job].untaken(now) {
		return
	}
	if whole.told != 0 && whole.told != grid.Lost && !whole.torn() && !t.facts[l.sub.ID.Job].endUnheardOf(now.id.Epoch, whole, whole.toldOf, whole.toldAt) {
		w.violate("S4", whole.id, "%s starts at %s after its user was told that %s is %s", l.sub.ID, s.name(), whole.id, whole.told)
	}
	t.onlyOnce(r, now)
	if !slices.ContainsFunc(r.parts, func(o *piece) bool { return o.began == 0 }) {
		w.result.Coverage["begun together"]++
	}
}

// onlyOnce: no other round has begun of what may not run twice, nor has one site begun all of it.
func (t *truth) onlyOnce(r *round, now start) {
	if r.of.rerun || r.of.torn() {
		return
	}
	part := t.facts[now.id.Job]
	unknown := func(f *fact, e start) bool {
		return f.unknownAt(e, part, now) || part.unknownAt(now, f, e) || f.overtaken(e, now)
	}
	for _, e := range r.of.starts {
		if !r.of.fencedOff(e, now) && !r.of.untraceable(e, now.decided(e)) && !unknown(r.of, e) {
			r.of.home.w.violate("S4", r.of.id, "%s, which is not rerunnable, starts at %s in round %d, and all of it has started at %s as %s", now.id, now.where.name(), r.n, e.where.name(), e.id)
			return
		}
	}
	for _, other := range r.of.rounds {
		for _, p := range other.parts {
			f := t.facts[p.id]
			if other == r || p.began == 0 || f == nil {
				continue
			}
			known := func(e start) bool {
				return e.where == p.at && !f.fencedOff(e, now) && !f.untraceable(e, now.decided(e)) && !unknown(f, e)
			}
			if slices.ContainsFunc(f.starts, known) {
				r.of.home.w.violate("S4", r.of.id, "%s, which is not rerunnable, starts at %s in round %d, and has started at %s in round %d", now.id, now.where.name(), r.n, p.at.name(), other.n)
			}
		}
	}
}

// runsOn: a program runs though the time is over in which it must have heard that all have begun.
func (t *truth) runsOn(s *site, l *local) {
	p := t.pieceOf(s, l.sub.Job.Reservation)
	if p == nil {
		return
	}
	for _, o := range p.of.parts {
		if o.began == 0 {
			s.w.violate("S4", p.of.of.id, "%s runs on at %s, and %s has never begun", l.sub.ID, s.name(), o.id)
		}
	}
}

// judgeWhole checks that the end of a job over several sites is true.
func (t *truth) judgeWhole(s *site, f *fact, r *grid.Record) {
	lost, began := false, false
	for _, of := range f.rounds {
		for _, p := range of.parts {
			part := t.facts[p.id]
			if part == nil {
				continue
			}
			lost, began = lost || part.told == grid.Lost, began || p.began > 0
			runs := func(e start) bool { return e.runs() && !part.torn() && !part.unseen(e, f, r.Epoch, s.w.now) }
			if part.told != grid.Lost && r.State != grid.Lost && slices.ContainsFunc(part.starts, runs) {
				s.w.violate("S4", f.id, "%s is told to be %s while %s runs", f.id, r.State, p.id)
			}
		}
	}
	switch {
	case r.State == grid.Completed && !slices.ContainsFunc(f.rounds, func(of *round) bool { return t.endedTogether(of, r.ExitCode) }):
		s.w.violate("S4", f.id, "%s is told to be %s with exit code %d, and its parts have not ended so", f.id, r.State, r.ExitCode)
	case r.State == grid.Killed && !f.wished:
		s.w.violate("S5", f.id, "%s is told to be KILLED, and nobody asked for that", f.id)
	case r.State == grid.Failed && !began && !lost && !f.unsupplied && !f.removed && !f.refused(r) && !f.noRoom(r):
		s.w.violate("S5", f.id, "%s is told to be FAILED (%s), and no part of it has begun", f.id, r.Reason)
	}
}

// endedByParts: what is told of its end is not that of a program of its own, which one site had begun before its home chose several.
func (f *fact) endedByParts(r *grid.Record) bool {
	return r.State == grid.Completed && !f.inOneSite() && !f.endedSo(r)
}

// endedTogether tells that all parts of a round have begun, and that one of them ended with that exit code; if it is 0
// all of them did.
func (t *truth) endedTogether(of *round, exit int) bool {
	so := 0
	for _, p := range of.parts {
		part := t.facts[p.id]
		if p.began == 0 || part == nil {
			return false
		}
		if slices.ContainsFunc(part.ends, func(e grid.Progress) bool { return e.Cause == grid.ByItself && e.ExitCode == exit }) {
			so++
		}
	}
	return so == len(of.parts) || so > 0 && exit != 0
}

// isPart tells that it is one part of a job over several sites.
func (f *fact) isPart() bool { return f.whole != nil }

// isWhole tells that it may have several sites.
func (f *fact) isWhole() bool { return f.sites > 0 }

// newPart is the truth about a part that its home has made.
func (t *truth) newPart(home *site, job *grid.Job) *fact {
	f := newFact(job.ID, home, job)
	f.whole = t.facts[job.Part.Of]
	t.add(f)
	return f
}

// roomy tells that the home of a job over several sites, with those that it may send to, has as many processors.
func (f *fact) roomy(w *world) bool {
	list := []int{f.home.facts.Processes}
	if !f.home.reserves() {
		list[0] = 0
	}
	most := f.home.facts.Processes
	for _, m := range f.home.members {
		o := w.byPeer[m.Peer]
		if !m.Send || o.gone {
			continue
		}
		if most = max(most, o.facts.Processes); o.reserves() {
			list = append(list, o.facts.Processes)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	all := 0
	for _, n := range list[:min(len(list), f.sites)] {
		all += n
	}
	return max(all, most) >= f.cores
}

// inOneSite: its home has found that one site ends it as soon, and searches that.
func (f *fact) inOneSite() bool {
	a, _ := f.home.disk.beside[besideKey{grid.KindAllocation, string(f.id)}].(*grid.Allocation)
	return a != nil && a.State == grid.OneSite
}
