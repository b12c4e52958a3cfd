package core

import (
	"fmt"
	"gbroker/grid"
	"maps"
	"slices"
)

// The end of a group: its jobs end one by one, or are cancelled; then it is removed, or kept for a time.

// jobEnded: the job has ended, or is gone. Told again it changes nothing.
func (s *groups) jobEnded(id grid.JobID, as grid.Result) {
	s.hungry = true // whoever it is of: its user may have more jobs now
	name, n := id.Group()
	g := s.all[name]
	if g == nil || n > g.rec.Jobs || g.rec.Removed {
		return
	}
	before := g.of(n)
	if before == as || before.State != 0 && before.State != grid.Lost {
		return // a lost one may gain a result
	}
	g.rec.Set(g.page(n), n, as)
	s.saveResults(g, n)
	if before.State == 0 && n <= g.rec.Entered {
		g.under--
	}
	if g.rec.Ends.Sum() == g.rec.Jobs && g.open() {
		s.allEnded(g)
		return
	}
	s.save(g, "")
	s.arrived(id) // nobody waits for its files any more
}

// allEnded is the end of the group.
func (s *groups) allEnded(g *group) {
	g.rec.Coming, g.template, g.expansion, g.next = nil, nil, nil, nil
	g.rec.Ended = s.jobs.instant()
	s.save(g, fmt.Sprintf("all %d jobs have ended", g.rec.Jobs))
	if g.rec.Made() {
		s.jobs.discard(g.rec.ID.Template())
	}
}

// recover takes up again what was under way, and finds what ended while nobody looked. The last life may not
// have written beside the journal what its users were told since then.
func (s *groups) recover(unwritten map[grid.JobID]bool) {
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		g := s.all[id]
		if g.rec.CancelRequested && (g.open() || unwritten[id.Template()]) {
			s.tellWish(g)
		}
		for n := 1; n <= g.rec.Entered && !g.rec.Removed && (g.open() || g.rec.Ends.Sum() < g.rec.Jobs); n++ {
			if of := s.jobs.became(id.Job(n)); of.State != 0 && g.of(n).State == 0 && (g.open() || s.jobs.has(id.Job(n))) {
				s.jobEnded(id.Job(n), of)
			}
		}
		if !g.open() && g.rec.Removed && g.rec.Entered > 0 {
			s.jobs.again(1)
		}
		if !g.open() {
			if g.rec.Made() && !g.rec.Removed {
				s.jobs.discard(id.Template())
			}
			continue
		}
		if g.rec.CancelRequested {
			s.reach(g, "its group")
		}
	}
	s.awaitAnew()
	s.hungry = true
}

// cancel asks for the end of all jobs, once and for ever.
func (s *groups) cancel(g *group, by string) {
	if !g.open() || g.rec.CancelRequested {
		return
	}
	g.rec.CancelRequested = true
	s.save(g, "cancel requested by "+by)
	s.tellWish(g)
	s.reach(g, by)
}

// reach cancels the jobs that have entered or were learnt again, and ends the others, once all are known that a lost branch
// of this journal had made.
func (s *groups) reach(g *group, by string) {
	switch {
	case s.jobs.beforeEndingRest(g.recovered) != open:
		s.jobs.again(grid.Second)
	case g.rec.Entered >= g.seen:
		s.endRest(g, grid.Killed, "")
	}
	for n := 1; n <= max(g.rec.Entered, g.seen) && g.open(); n++ {
		if g.of(n).State == 0 {
			s.jobs.cancelJob(g.rec.ID.Job(n), by)
		}
	}
}

// remove drops the jobs of an ended group, and leaves of it what its key needs.
func (s *groups) remove(g *group) {
	g.rec.Removed = true
	for k := range g.results {
		s.jobs.drop(grid.KindResults, grid.ResultsKey(g.rec.ID, k))
	}
	g.results = nil
	if g.rec.Made() {
		s.jobs.drop(grid.KindTemplate, string(g.rec.ID))
	}
	s.save(g, "removed")
	s.removeMore(g)
}

// maxRemoved bounds the jobs that are removed in one step: each is read from the journal.
const maxRemoved = 256

// removeMore removes jobs of a group that is removed, the last first.
func (s *groups) removeMore(g *group) {
	for n := 0; n < maxRemoved && g.rec.Entered > 0; n++ {
		s.jobs.removeJob(g.rec.ID.Job(g.rec.Entered))
		g.rec.Entered--
	}
	s.save(g, "")
	if g.rec.Entered > 0 {
		s.jobs.again(1)
	}
}

// retain drops the groups that were kept long enough, as outlived says. Of one whose key counts yet, what that needs stays.
func (s *groups) retain(outlived, keyed func(*grid.Group) bool) {
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		g := s.all[id]
		if g.open() || !outlived(&g.rec) || g.rec.Removed && g.rec.Entered > 0 {
			continue
		}
		if keyed(&g.rec) && !g.rec.Removed {
			s.remove(g)
			continue
		}
		delete(s.all, id)
		delete(s.keys, keyOf(g.rec.User, g.rec.Key))
		for k := range g.results {
			s.jobs.drop(grid.KindResults, grid.ResultsKey(id, k))
		}
		if g.rec.Made() && !g.rec.Removed {
			s.jobs.drop(grid.KindTemplate, string(id))
		}
		s.jobs.drop(grid.KindGroup, string(id))
	}
}
