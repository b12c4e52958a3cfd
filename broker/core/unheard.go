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
func (c *recovery) forgets(who grid.Forgotten) { c.notAwaited(unheard{Forgotten: who}) }

// awaitMembersOnly waits no longer for those that are no members any more.
func (c *recovery) awaitMembersOnly() {
	if c.rolled == nil {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(c.rolled.waiting)) {
		if c.members[p] == nil {
			c.notAwaited(unheard{Forgotten: grid.Forgotten{Peer: p}, removed: true})
		}
	}
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

// joined asks those that were no members before, where this journal was rolled back: they may have been
// removed in the part that is lost, and know of it.
func (c *recovery) joined(before map[grid.PeerID]*member) {
	if c.rolled == nil {
		return
	}
	for p := range c.members {
		if before[p] == nil {
			c.await(p)
			c.rolled.unheard = slices.DeleteFunc(c.rolled.unheard, func(u unheard) bool { return u.Peer == p })
		}
	}
	c.saveState()
	c.recount()
}
