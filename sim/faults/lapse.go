package faults

import (
	"math"
	"slices"

	"gbroker/grid"
)

// lapse is knowledge that a site has lost: what it wrote after since and until at.
type lapse struct {
	since, at grid.Tick
	files     bool // control directories and sandboxes too
	words     bool // what is written beside the journal, of what users were told, too
	second    bool // it is what a second broker under this name had done until it was stopped, and could be noticed since it was made
	unnoticed bool // with all that could tell: in a power cut what its disk had confirmed, or the whole machine
	// When it first heard, since, a member that had seen the lost part.
	heard grid.Tick
}

func (l lapse) covers(t grid.Tick) bool { return l.since < t && t <= l.at }

// from is since when the broker may have asked all about it.
func (l lapse) from() grid.Tick {
	if l.second {
		return l.since
	}
	return l.at
}

// hearsOf: s hears a member again, which may have seen what s has lost.
func (s *site) hearsOf(o *site) {
	lost := func(p grid.JournalID) bool {
		return !s.disk.reaches(p) && !slices.ContainsFunc(s.disk.state.Lost, func(l grid.JournalID) bool { return p.SameLife(l) && p.Sequence <= l.Sequence })
	}
	for i := range s.lapses {
		if l := &s.lapses[i]; l.words && l.heard == 0 && slices.ContainsFunc(o.disk.peers[s.peer], lost) {
			l.heard = s.w.now
		}
	}
}

// reaches tells that a position is in the journal.
func (d *disk) reaches(at grid.JournalID) bool {
	k := slices.IndexFunc(d.lives, func(l grid.Life) bool { return l.Number == at.Life })
	switch {
	case at.Incarnation != d.incarnation || k < 0:
		return false
	case k+1 < len(d.lives):
		return at.Sequence <= d.lives[k+1].First
	}
	return at.Sequence <= d.sequence
}

// noticed: the broker of s knows, or does not any more, that its journal was put back, and that not all were asked.
func (s *site) noticed(is bool) {
	if !is {
		s.asks = 0
	} else if s.asks == 0 {
		s.asks = s.w.now
	}
}

// branches are the losses of a site, and what a second broker under its name, while there is one, has done since it was made: to each of
// the two the other is a branch of its journal that it lacks.
func (s *site) branches() []lapse {
	if s.of == nil && s.duplicate == nil {
		return s.lapses
	}
	made := s.principal().copied
	return append(slices.Clip(s.lapses), lapse{since: made, at: made})
}

// setBack: what s wrote in its journal since then is lost. For each job it is noted
// what nobody can know any more because of that.
func (t *truth) setBack(s *site, l lapse) {
	l.at = s.w.now
	s.lapses = append(s.lapses, l)
	s.w.after(grid.Minute, func() { s.drain(s.drained) }) // its administrator sees that it has forgotten that
	for _, f := range t.facts {
		r := s.disk.recordOf(f.id)
		f.last[s] = turnOf(r)
		if e, owns := f.owning[s]; owns && (r == nil || r.Role != grid.Owning || r.Epoch != e) {
			delete(f.owning, s)
		}
		if f.once != 0 && !f.elsewhere(tombstoneOf(f.once)) && !f.home.disk.witness.has(f.id, f.once) {
			f.once = 0 // the last one who knew it has lost it
		}
		if f.home == s && f.isPart() && (r == nil || !r.State.Terminal()) {
			f.told = 0 // nobody was told of it
		}
		if f.home == s {
			f.unknown = r == nil
			f.asked.setBack(r, l)
		}
		if f.home != s { // readers see its jobs, also one of which nobody was told that it is accepted
			continue
		}
		files := s.disk.folders[f.id]
		gone := slices.ContainsFunc(s.lapses, func(l lapse) bool { return l.files }) && (files == nil || !files.inputs)
		// Whose user was told the end brings no files any more.
		f.unsupplied = f.unsupplied || f.files && (f.uploaded || f.told != 0) && (r == nil || gone || r.State == grid.Submitted || r.State == grid.StageIn)
		if f.stale = r != nil && !l.words; f.stale {
			continue // what its user was told stands beside the journal, and is read at the next start
		}
		if f.cancel > 0 && (r == nil || !r.CancelRequested) {
			f.unwished = true // until others have said it
			if !f.elsewhere((*grid.Record).Wished) {
				f.cancel = 0 // its user has to say it again
			}
		}
		if f.told != 0 && (r == nil || r.State != f.told) {
			f.killLost(s)
			if f.elsewhere(tombstoneOf(f.told)) || s.disk.witness.has(f.id, f.told) {
				f.once = f.told
			}
			f.told = 0 // until others have said it again
		}
	}
}

// killLost: its home has lost that it told KILLED. Somebody knows that: another who had the job then, or the file beside its journal.
func (f *fact) killLost(home *site) {
	o := f.owners[f.latest()]
	if o == home {
		o = nil
	}
	if f.told == grid.Killed && (o != nil || home.disk.witness.has(f.id, grid.Killed)) {
		f.killed, f.killedAt, f.killer = true, f.toldAt, o
	}
}

// loses tells that a lapse of a site has taken something that was written there of the job.
func (f *fact) loses(s *site, l lapse) bool { return slices.ContainsFunc(f.wrote[s], l.covers) }

// forgets: a site has lost who had the job, as it had written there since then, or its end.
func (f *fact) forgets(s *site, since grid.Tick) bool {
	return slices.ContainsFunc(s.lapses, func(l lapse) bool {
		return slices.ContainsFunc(f.turned[s], func(t grid.Tick) bool { return t >= since && l.covers(t) })
	})
}

// lostAt: a site has lost something that was written there of the job.
func (f *fact) lostAt(s *site) bool {
	return slices.ContainsFunc(s.lapses, func(l lapse) bool { return f.loses(s, l) })
}

// forEver is when a journal began that has lost all.
const forEver = grid.Tick(math.MinInt64)

// elsewhere tells that a record of another site, which is not gone, says so.
func (f *fact) elsewhere(says func(*grid.Record) bool) bool {
	for _, o := range f.home.w.sites {
		if r := o.disk.records[f.id]; o != f.home && !o.gone && r != nil && says(r) {
			return true
		}
	}
	return false
}

// tombstoneOf tells tombstones that have such an end.
func tombstoneOf(end grid.State) func(*grid.Record) bool {
	return func(r *grid.Record) bool { return r.Role == grid.Tombstone && r.Closed && r.End == end }
}

// latest is the last epoch at which it was owned.
func (f *fact) latest() (last grid.Epoch) {
	for e := range f.owners {
		if last.Before(e) {
			last = e
		}
	}
	return last
}
