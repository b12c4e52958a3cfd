package core

import (
	"slices"

	"gbroker/grid"
)

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

// inRound tells of a whole for which a round has chosen sites, as it was then.
func (s *coallocation) inRound(id grid.JobID) bool {
	a := s.all[id]
	return a != nil && a.rec.State > grid.Planned && a.rec.State < grid.OneSite
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

// outgrown is why a whole that had been found one site is planned over several again.
const outgrown = "no single site is large enough for it any more"

// mostVain bounds the choices in vain for such a whole: they take about an hour.
const mostVain = 12

// severalAgain has several sites chosen for a whole that had been found one: that is gone, and no other is large enough.
func (s *coallocation) severalAgain(id grid.JobID) bool {
	a := s.all[id]
	if a == nil || a.rec.State != grid.OneSite {
		return false
	}
	a.rec.Fails = 0
	s.become(a, grid.Planned, outgrown)
	a.rec.Outgrown = true
	s.vain(a, outgrown)
	s.stale[id] = true
	return true
}

// fitsNowhere: several sites have no room together either for what one had found, and none says that it may have later.
func (a *allocation) fitsNowhere(r *grid.Record, choice *grid.SlotChoice) bool {
	later := slices.ContainsFunc(choice.Sites, func(row grid.SiteSlots) bool { return row.Refusal != nil && row.Refusal.MayPass() })
	return a.rec.Outgrown && a.rec.Fails >= mostVain && !later && !r.Anyway
}
