package core

import (
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
)

// Parts that this journal does not know, as it was put back. Their sites tell of them as of any job
// (recount.go, learn.go); of those that this site had itself, and of what it said of their ends, its control directories and
// the file beside the journal do (traces.go, told.go). Each is a part of an earlier round then: it is ended, and what may
// not run twice is over once one of them has begun.
//
// A round that this journal has before GO the lost branch may have told to go. So it counts as told: what is LOST of it
// counts as begun, and what may not run twice waits until its parts have come to their ends ([coallocation.awaits]).
//
// Invariant: no number of a part is used again for which there may be a start token.

// branchLost: there was a later branch of this journal, which may have said GO.
func (s *coallocation) branchLost() {
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		a := s.all[id]
		if a.rec.Go == 0 && len(a.rec.Parts) > 0 && a.rec.State != grid.Over && a.rec.State != grid.OneSite {
			s.mayHaveGone(a)
			s.save(a, "")
			s.stale[id] = true
		}
	}
}

func (s *coallocation) mayHaveGone(a *allocation) {
	if a.rec.Go == 0 {
		a.rec.Go = s.wholes.instant()
	}
}

// begun tells that a part has begun, or may have.
func (a *allocation) begun() bool {
	return slices.ContainsFunc(a.rec.Parts, func(p grid.AllocatedPart) bool { return p.Begun })
}

// awaits tells that parts which may have begun have not come to their ends, which what may not run twice waits for.
func (a *allocation) awaits(whole *grid.Record) bool {
	return !whole.Job.Rerunnable && (a.rec.Go > 0 || a.begun()) &&
		slices.ContainsFunc(a.rec.Parts, func(p grid.AllocatedPart) bool { return p.Made && p.Fate == 0 })
}

// learn takes up parts that have records and are not known here: they are of an earlier round, or of this one, which the
// journal has not come to make.
func (s *coallocation) learn(a *allocation) {
	for i := range a.rec.Parts {
		if p := &a.rec.Parts[i]; !p.Made && s.wholes.part(p.Job) != nil {
			s.learnMade(a, p)
		}
	}
	for _, r := range s.wholes.parts(a.rec.Of, a.rec.Last) {
		if !slices.ContainsFunc(a.rec.Parts, func(p grid.AllocatedPart) bool { return p.Job == r.Job.ID }) {
			s.learnPart(a, r)
		}
	}
}

func (s *coallocation) learnPart(a *allocation, r *grid.Record) {
	part := r.Job.Part
	a.rec.Last = max(a.rec.Last, r.Job.ID.PartNumber())
	p := grid.AllocatedPart{
		Round: part.Round, Rank: part.Rank, Site: part.Site(), Peer: r.Owner, Processes: part.Sites[part.Rank].Processes,
		Demand: r.Job.Demand, Start: part.Start, End: part.Start + part.Grace + part.Limit, Limit: part.Limit,
		Job: r.Job.ID, Made: true, Reservation: r.Job.Reservation, Asked: r.Job.Reservation != "",
	}
	whole, _ := s.wholes.whole(a.rec.Of)
	later := p.Round >= a.rec.Round
	if later && a.rec.State == grid.Together { // that round stays the last, and ends with its own parts
		p.Round, later = a.rec.Round-1, false
	}
	beside := a.rec.State < grid.Going && whole != nil && !whole.Job.Rerunnable // what may not run twice
	if (later || beside) && a.rec.State.CanBecome(grid.GivingUp) {
		s.abandon(a, "a part of a round is known that this journal does not have")
	}
	if later {
		a.rec.Round = p.Round + 1
	}
	s.mayHaveGone(a)
	if p.Asked {
		s.reserved[p.Reservation] = a.rec.Of
	}
	a.rec.Parts = append(a.rec.Parts, p)
	s.save(a, fmt.Sprintf("part %s is known again", p.Job))
}

// mostLost is how many parts and rounds a lost branch is believed to have had, where nothing proves it.
const mostLost = 1000

// mayBe tells whether that part may be one of a lost branch, by its number and its round. What was only told does not count: else one
// trace would make room for the next, until there are no numbers left.
func (s *coallocation) mayBe(id grid.JobID, p *grid.Part) bool {
	var own numbers
	if a := s.all[id.Whole()]; a != nil {
		own = a.own
	}
	return id.PartNumber() <= own.part+mostLost && (p == nil || p.Of == id.Whole() && p.Round <= own.round+mostLost)
}

// learnMade: the part was made by the branch of the journal that is lost.
func (s *coallocation) learnMade(a *allocation, p *grid.AllocatedPart) {
	p.Made = true
	s.mayHaveGone(a)
	if p.Round == a.rec.Round && a.rec.State < grid.Staging && a.rec.State.CanBecome(grid.GivingUp) {
		s.abandon(a, fmt.Sprintf("part %s is known again: this round has come further than this journal", p.Job))
		return
	}
	s.save(a, fmt.Sprintf("part %s is known again", p.Job))
}

// remade is the job of a part that was at a site, and has no record here: as it was decided on, or as much of it as its
// whole tells.
func (s *coallocation) remade(id grid.JobID, site grid.SiteName) (part grid.Job, is bool) {
	a, n := s.all[id.Whole()], id.PartNumber()
	if a == nil || a.rec.PartID(n) != id || a.rec.State == grid.OneSite || s.wholes.part(id) != nil {
		return grid.Job{}, false
	}
	whole, _ := s.wholes.whole(a.rec.Of)
	if whole == nil || whole.State.Terminal() {
		return grid.Job{}, false
	}
	for _, p := range a.current() {
		if p.Job == id && !p.Made {
			return s.partOf(a, p, whole, a.sites()), true
		}
	}
	p := grid.AllocatedPart{Job: id, Demand: whole.Job.Demand, Start: s.wholes.instant(), Limit: whole.Job.Walltime}
	return s.partOf(a, &p, whole, []grid.PartSite{{Name: site, Processes: whole.Job.Demand.Processes()}}), n > a.rec.Last
}

// lastNumber is the highest number of a part that any branch of the journal has used: the parts of a round have numbers that
// follow each other, by rank, and one of them tells those of all.
func (s *coallocation) lastNumber(a *allocation) int {
	last := a.rec.Last
	for i := range a.rec.Parts {
		if r := s.wholes.part(a.rec.Parts[i].Job); r != nil && r.Job.Part != nil {
			last = max(last, r.Job.ID.PartNumber()+len(r.Job.Part.Sites)-1-r.Job.Part.Rank)
		}
	}
	return last
}

// fromNow: the wall clock of an earlier life may have been ahead, and what is counted from then is from now. Nothing is put
// off for longer than it ever is.
func (s *coallocation) fromNow(a *allocation) {
	now := s.wholes.instant()
	a.rec.Next, a.rec.Go, a.rec.Begun = min(a.rec.Next, now+s.cfg.Rest), min(a.rec.Go, now), min(a.rec.Begun, now)
	a.rec.Refused = slices.DeleteFunc(slices.Clone(a.rec.Refused), func(r grid.RefusedSlot) bool { return r.At > now })
}
