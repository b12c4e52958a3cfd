package core

import "gbroker/grid"

// A whole that one site has goes the ordinary way: it is searched a place for, or has one, as any job.

// choosing tells of a whole that is not searched a place for: its sites are chosen here.
func (s *coallocation) choosing(j *grid.Job) bool {
	a := s.all[j.ID]
	return j.Coallocation != nil && (a == nil || a.rec.State != grid.OneSite)
}

// has tells of a whole that is not one site's alone.
func (s *coallocation) has(r *grid.Record) bool {
	a := s.all[r.Job.ID]
	return a != nil && a.rec.State != grid.OneSite && !a.apart(r)
}

// apart tells of a whole that has an attempt of its own, or that another site has: a branch of the journal which is lost, or a duplicate, has
// sent it the ordinary way. Where all its parts have begun it runs without either.
func (a *allocation) apart(r *grid.Record) bool {
	switch {
	case a.rec.State == grid.Together || a.rec.State == grid.Over || r.State.Terminal():
		return false
	case r.Role != grid.Owning || r.State == grid.Assigned || r.State == grid.Moving:
		return true
	}
	return r.Attempt > 0 && r.State > grid.Ready
}

// severalAgain has several sites chosen for a whole that had been found one: that is gone, and no other is large enough.
func (s *coallocation) severalAgain(id grid.JobID) bool {
	a := s.all[id]
	if a == nil || a.rec.State != grid.OneSite {
		return false
	}
	const why = "no single site is large enough for it any more"
	s.become(a, grid.Planned, why)
	s.vain(a, why)
	s.stale[id] = true
	return true
}
