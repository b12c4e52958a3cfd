package core

import (
	"maps"
	"slices"

	"gbroker/grid"
)

// Whoever is not waited for while all are asked about a lost branch may have got any job of it that is in doubt. That is written down until all
// were asked: who was asked, so that one that is no member any more by the next start is missed, and who was forgotten.

// unheard is such a member, and how far the journal was when that was said. What came here after that, in this life, the lost branch
// cannot have given to it.
type unheard struct {
	grid.Forgotten
	removed bool // it is no member any more, and asked once it is one again
	at      uint64
}

const unheardWord = ", which may have got the job, was not heard"

// mayHave are those of the unheard that a lost branch may have given a job to.
func (r *rollback) mayHave(j *job) (list []unheard) {
	for _, u := range r.unheard {
		if j.came.epoch != j.rec.Epoch || j.came.at <= u.at {
			list = append(list, u)
		}
	}
	return list
}

// mayHaveGot: another branch was found, by an instant at which this journal was that far. Who was forgotten may be there all the same, and have got from that
// branch what has come here since. Who was removed is no neighbour of it: its own neighbours are those of the journal that it came from.
func (r *rollback) mayHaveGot(until uint64) {
	for k := range r.unheard {
		if u := &r.unheard[k]; !u.removed {
			u.at = until
		}
	}
}

// harmful: one of them may still run something.
func harmful(list []unheard) bool {
	return slices.ContainsFunc(list, func(u unheard) bool { return !u.Fenced })
}

// forgotten are those for which an administrator has spoken.
func (r *rollback) forgotten() (list []grid.Forgotten) {
	for _, u := range r.unheard {
		if !u.removed {
			list = append(list, u.Forgotten)
		}
	}
	return list
}

// recoverUnheard takes the words of the last life, and misses those that are no members any more.
func (c *recovery) recoverUnheard() {
	for _, f := range c.state.Forgotten {
		c.notHeard(unheard{Forgotten: f})
	}
	for _, p := range c.state.Asked {
		c.rolled.asked[p] = true
		if c.members[p] == nil && !slices.ContainsFunc(c.state.Forgotten, func(f grid.Forgotten) bool { return f.Peer == p }) {
			c.notHeard(unheard{Forgotten: grid.Forgotten{Peer: p}, removed: true})
		}
	}
}

// forgets: an administrator has spoken for a site.
func (c *recovery) forgets(who grid.Forgotten) {
	if c.rolled != nil && who.Fenced && c.rolled.fencedOff(who.Peer) {
		c.saveState()
		c.settle()
		return
	}
	c.notAwaited(unheard{Forgotten: who})
}

// fencedOff: an administrator says now of one that is not waited for that nothing can run there.
func (r *rollback) fencedOff(p grid.PeerID) bool {
	k := slices.IndexFunc(r.unheard, func(u unheard) bool { return u.Peer == p && !u.Fenced })
	if k >= 0 {
		r.unheard[k].Fenced, r.unheard[k].removed = true, false
	}
	return k >= 0
}

// notAwaited goes on without the word of one that is waited for.
func (c *recovery) notAwaited(u unheard) {
	if c.rolled == nil || !c.rolled.waiting[u.Peer] {
		return
	}
	u.at = c.cfg.Journal.Sequence
	c.notHeard(u)
	c.saveState()
	c.settle()
}

func (c *recovery) notHeard(u unheard) {
	delete(c.rolled.waiting, u.Peer)
	c.rolled.unheard = append(c.rolled.unheard, u)
}

// membersChanged asks those that were no members before, where this journal was rolled back: they may have been
// removed in the part that is lost, and know of it. Then it waits no longer for those that are no members any more: who comes as the last
// of them goes is asked.
func (c *recovery) membersChanged(before map[grid.PeerID]*member) {
	if c.rolled == nil {
		return
	}
	for p := range c.members {
		if before[p] == nil {
			c.awaitAnew(p)
		}
	}
	c.awaitMembersOnly()
	if c.rolled != nil {
		c.saveState()
		c.recount()
	}
}

// awaitAnew waits for the word of a member, whatever was said of it before.
func (c *recovery) awaitAnew(p grid.PeerID) {
	c.await(p)
	c.rolled.unheard = slices.DeleteFunc(c.rolled.unheard, func(u unheard) bool { return u.Peer == p })
}

// awaitMembersOnly waits no longer for those that are no members any more.
func (c *recovery) awaitMembersOnly() {
	for _, p := range slices.Sorted(maps.Keys(c.rolled.waiting)) {
		if c.members[p] == nil {
			c.notAwaited(unheard{Forgotten: grid.Forgotten{Peer: p}, removed: true})
		}
	}
}

// heard are, when all were asked, those that have answered.
func (r *rollback) heard() []grid.PeerID {
	all := slices.Sorted(maps.Keys(r.asked))
	return slices.DeleteFunc(all, func(p grid.PeerID) bool {
		return slices.ContainsFunc(r.unheard, func(u unheard) bool { return u.Peer == p })
	})
}

// missed: a site may have got the job that it claims at an epoch from a lost branch, and was not heard when all others were. What the branch gave it
// this journal need not know.
func (c *recovery) missed(p grid.PeerID, at grid.Epoch) bool {
	s := c.state.Settled
	return s.Stamp > 0 && at.Hop <= s.Stamp && !slices.Contains(s.Heard, p)
}
