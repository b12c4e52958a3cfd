package pool

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// A computer has the jobs of one user at a time. So that who keeps one full does not keep others from it, each user has a turn: for the
// oldest job of a user that waits only since others' jobs are on every computer that it may have, one of these is kept, the one
// that comes free first. It takes no younger jobs of who is there, and none of others when it is empty: the pass that finds it so offers it to the job.

// turns are the jobs for which computers are kept; s.mu is held.
func (s *System) turns(computers []*computer) map[*computer]*entry {
	kept, had := map[*computer]*entry{}, map[string]bool{}
	for _, e := range s.queue {
		user := e.Assignment.Owner
		if e.Held || e.killed || had[user] {
			continue
		}
		had[user] = true
		may := slices.DeleteFunc(slices.Clone(computers), func(c *computer) bool { return !s.suits(e, c) })
		if c := s.turnOf(e); c != nil && kept[c] == nil && (len(may) == 0 || slices.Contains(may, c)) {
			kept[c] = e // as before
			continue
		}
		if len(may) == 0 || slices.ContainsFunc(may, func(c *computer) bool { return c.alone(e) && kept[c] == nil }) {
			continue // there is none for it, or it waits for its own
		}
		may = slices.DeleteFunc(may, func(c *computer) bool { return kept[c] != nil })
		if len(may) > 0 {
			kept[slices.MinFunc(may, func(a, b *computer) int { return cmp.Compare(a.until(), b.until()) })] = e
		}
	}
	s.kept = kept
	return kept
}

// turnOf is the computer that was kept for a job when turns were looked at last; nil is none. s.mu is held.
func (s *System) turnOf(e *entry) *computer {
	for c, k := range s.kept {
		if k == e {
			return c
		}
	}
	return nil
}

// lapse ends the turns that were offered and not taken: the job may not start yet, or is to run elsewhere. s.mu is held.
func (s *System) lapse() {
	for c, e := range s.kept {
		if e.waiting() && len(c.jobs) == 0 && s.ready(c) {
			delete(s.kept, c)
			s.kick()
		}
	}
}

// until is when all that a computer has will have ended at the latest; s.mu is held.
func (c *computer) until() (end grid.Tick) {
	for _, e := range c.jobs {
		end = max(end, e.started+e.limitOn(c))
	}
	return end
}

// suits tells whether a computer that takes jobs now can ever run a job; s.mu is held.
func (s *System) suits(e *entry, c *computer) bool {
	if !s.ready(c) || !c.admits(e) {
		return false
	}
	j, d := s.asked(e, offersOf([]*computer{c})), c.desk()
	return d.Lacks(&j) == ""
}

// open tells that a computer may have a job now: nobody else's is there, and it is kept for nobody who is older.
func (c *computer) open(e *entry, kept map[*computer]*entry) bool {
	k := kept[c]
	return c.alone(e) && (k == nil || turn{c, k}.lets(e))
}
