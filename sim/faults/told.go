package faults

import (
	"slices"

	"gbroker/grid"
)

// shown: readers at s, which is no duplicate, see the record from now on.
func (t *truth) shown(s *site, id grid.JobID, r *grid.Record) {
	f := t.facts[id]
	if f == nil || s != f.home || r == nil {
		return
	}
	w := s.w
	f.stale = false
	if r.Removed {
		f.gone(w.now)
		return
	}
	if f.isPart() { // of which nobody is told
		if r.State.Terminal() && f.told != r.State {
			f.told, f.toldAt = r.State, w.now
			t.judge(s, f, r)
		}
		return
	}
	if f.told != 0 && f.told != grid.Lost && (r.State != f.told || r.ExitCode != f.exit) && !f.torn() {
		w.violate("S5", id, "%s was told to be %s (exit code %d) and is told to be %s (%d) now", id, f.told, f.exit, r.State, r.ExitCode)
	}
	if !r.State.Terminal() || f.told == r.State {
		return
	}
	if f.once != 0 && r.State != f.once && (f.askedKnow(f.once) && !f.toldUnheard(w.now) && !f.endedUnheard(r) || s.disk.witness.has(id, f.once)) && r.State != grid.Lost && !f.torn() {
		w.violate("S5", id, "%s was told to be %s, which others know, or stands beside its journal, and is told to be %s now", id, f.once, r.State)
	}
	if s.duplicate != nil {
		f.acted(true)
	}
	f.told, f.exit, f.toldAt, f.toldOf = r.State, r.ExitCode, w.now, r.Epoch
	f.lost = f.lost || r.State == grid.Lost
	t.stirs(id)
	w.tell(s, "TELLS that %s is %s: %s", id, r.State, r.Reason)
	t.judge(s, f, r)
}

// gone: its user knows that it was removed.
func (f *fact) gone(now grid.Tick) {
	if !f.removed {
		f.removed, f.removedAt = true, now
	}
}

// judge checks that a final state is true.
func (t *truth) judge(s *site, f *fact, r *grid.Record) {
	w := s.w
	if f.torn() {
		return
	}
	// What still runs of an older term, at a site that was forgotten, is not this job any more.
	runs := func(e start) bool {
		of := e.id.Epoch.Term == r.Epoch.Term || r.Adopted != (grid.Epoch{}) && e.id.Epoch.Term == r.Adopted.Term
		return of && e.runs() && !f.unseen(e, f, r.Epoch, w.now)
	}
	if r.State != grid.Lost && slices.ContainsFunc(f.starts, runs) {
		w.violate("S5", f.id, "%s is told to be %s while its program runs", f.id, r.State)
		return
	}
	if f.isWhole() && len(f.rounds) > 0 && (len(f.starts) == 0 || f.endedByParts(r)) {
		t.judgeWhole(s, f, r)
		return
	}
	switch r.State {
	case grid.Lost:
		if !f.mayBeLost(r.Epoch, w.now) {
			w.violate("S1", f.id, "%s is LOST (%s), and what is known of it was not lost in truth", f.id, r.Reason)
		}
	case grid.Killed:
		if !f.wished && !f.isPart() {
			w.violate("S5", f.id, "%s is told to be KILLED, and nobody asked for that", f.id)
		}
	case grid.Completed, grid.CancelledWalltime:
		if !f.endedSo(r) {
			w.violate("S5", f.id, "%s is told to be %s with exit code %d, and no program of it ended so", f.id, r.State, r.ExitCode)
		}
		t.hasOutput(s, f, r)
	case grid.CancelledDeadline:
		if f.asked.terms.Deadline == 0 {
			w.violate("S14", f.id, "%s is told to be %s, and has no deadline", f.id, r.State)
		}
		if r.Started > 0 && !f.asked.overdue { // one that has not started, or whose start was lost, may have had no site in time
			w.violate("S14", f.id, "%s is told to be %s, has started, and its deadline has come by no clock", f.id, r.State)
		}
	case grid.Failed:
		switch {
		case f.isPart() || f.sweptAway():
		case f.endedWell(r):
			w.violate("S5", f.id, "%s is told to be FAILED (%s), and its program has ended by itself", f.id, r.Reason)
		case len(f.starts) == 0 && !f.inVain() && !f.refused(r) && !f.noRoom(r) && !f.unsupplied && !f.removed:
			w.violate("S5", f.id, "%s is told to be FAILED (%s), and nothing of that kind happened", f.id, r.Reason)
		}
	}
}

// refused: a batch system has refused to take it, last at the epoch of the record; or before its home, which knows that by a report, began a
// term with the same version of it.
func (f *fact) refused(r *grid.Record) bool {
	at, began := f.refusal.epoch, r.Epoch.Hop == 0
	return at != (grid.Epoch{}) && (at == r.Epoch || began && at.Before(r.Epoch) && r.Job.Walltime == f.refusal.walltime)
}

// refusal is at which epoch, and with which walltime, a batch system refused a job last.
type refusal struct {
	epoch    grid.Epoch
	walltime grid.Tick
}

// membersOf marks the jobs of s that have not ended and that none of its sites can run: their home may say so, and end them, until
// a site is added that can.
func (t *truth) membersOf(s *site) {
	for _, f := range t.facts {
		switch {
		case f.home != s || f.told != 0:
		case f.homeless():
			f.stranded, f.regained = true, 0
		case f.stranded && f.regained == 0:
			f.regained = s.w.now
		}
	}
}

// searched notes what the last of these searches for a place has found.
func (f *fact) searched(list []grid.Decision) {
	if len(list) == 0 {
		return
	}
	d := list[len(list)-1]
	f.nobody = grid.Epoch{}
	if d.Chosen == "" && !slices.ContainsFunc(d.Candidates, func(c grid.Candidate) bool { return c.Refusal == nil || c.Refusal.MayPass() }) {
		f.nobody = d.Epoch
	}
}

// noRoom: the last search for a place, at the epoch of the record, found that no site can run it, and none could, or one came back so shortly
// before that the search had begun without it. What was told so once may be told again.
func (f *fact) noRoom(r *grid.Record) bool {
	if !f.stranded || !f.isWhole() && f.nobody != r.Epoch || f.regained > 0 && f.home.w.now > f.regained+searching {
		return false
	}
	f.regained = 0
	return true
}

// searching is how long a search may take whose broker or disk is slow.
const searching = 10 * grid.Minute

// homeless: no site of its home's file has enough processors for it, or for a job over several sites no such sites together.
func (f *fact) homeless() bool {
	if f.isWhole() {
		return !f.roomy(f.home.w)
	}
	return !f.home.capable(f.cores)
}

// capable tells that s, or a site that it may send jobs to, has as many processors; one
// that is gone does not say that it has too few.
func (s *site) capable(cores int) bool {
	return cores <= s.facts.Processes || slices.ContainsFunc(s.members, func(m grid.Member) bool {
		return m.Send && cores <= s.w.byPeer[m.Peer].facts.Processes
	})
}

// endedWell: the program of which the record tells has ended by itself, and none of that epoch was lost. What its wrapper wrote of that may be
// gone with the machine.
func (f *fact) endedWell(r *grid.Record) bool {
	of := func(e grid.Epoch) bool { return e == r.Epoch || e == r.Adopted }
	return slices.ContainsFunc(f.ends, func(p grid.Progress) bool { return of(p.ID.Epoch) && p.Cause == grid.ByItself }) &&
		!slices.ContainsFunc(f.starts, func(e start) bool {
			gone := slices.ContainsFunc(e.where.lapses, func(l lapse) bool { return l.files && l.covers(e.ended) })
			return of(e.id.Epoch) && (e.lost || gone || f.lostAt(e.where))
		})
}

// endedSo tells that the program of which the record tells ended as it says.
func (f *fact) endedSo(r *grid.Record) bool {
	for _, p := range f.ends {
		if p.ID.Epoch != r.Epoch && p.ID.Epoch != r.Adopted {
			continue
		}
		if p.Cause == grid.ByItself && r.State == grid.Completed && p.ExitCode == r.ExitCode ||
			p.Cause == grid.ByWalltime && r.State == grid.CancelledWalltime {
			return true
		}
	}
	return false
}

// stillCancelled checks S5 at a save of the home: a wish that was told to be recorded stays.
func (t *truth) stillCancelled(s *site, f *fact, r *grid.Record) {
	f.unwished = f.unwished && !r.CancelRequested
	if f.cancel > 0 && !f.unwished && !r.CancelRequested && !r.State.Terminal() && !f.torn() {
		s.w.violate("S5", f.id, "%s was told to be cancelled, and %s saves that it is not", f.id, s.name())
	}
}

// forgotten checks S5: a home forgets no job that its user was told is accepted.
func (t *truth) forgotten(s *site, f *fact) {
	if s == f.home && f.accepted && !f.removed {
		s.w.violate("S5", f.id, "%s forgets %s, which was accepted and never removed", s.name(), f.id)
	}
}

// loaded checks S5 when a broker has started: what users were told is in the journal. Users
// know the first one of two brokers under one name.
func (t *truth) loaded(s *site) {
	if s.of != nil {
		return
	}
	s.asks = 0
	s.noticed(s.disk.state.RolledBack != 0)
	for _, f := range t.sorted() {
		r := s.disk.recordOf(f.id)
		if r != nil && !r.State.Terminal() {
			f.read[s] = true
		} else {
			delete(f.read, s)
		}
		if f.home != s || f.removed || r == nil && (!f.accepted || f.unknown) {
			continue
		}
		if f.stale && (r == nil || !r.State.Terminal() || r.State == grid.Lost || s.disk.witness.toldOther(f.id, r)) {
			continue // what its user was told is beside the journal, and is read now
		}
		if r == nil {
			s.w.violate("S5", f.id, "after a start %s does not know %s, which was accepted", s.name(), f.id)
			return
		}
		if t.stillCancelled(s, f, r); s.w.result.Violation != nil {
			return
		}
		t.shown(s, f.id, r)
	}
}
