package core

import (
	"maps"
	"slices"

	"gbroker/grid"
)

// unheard is a member that is not waited for while all are asked about a lost branch, and how far the journal was when that was said.
// What came here after that, in this life, the lost branch cannot have given to it.
type unheard struct {
	grid.Unheard
	at uint64
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
	return slices.ContainsFunc(list, func(u unheard) bool { return !u.Harmless })
}

// notAwaited: a site that is forgotten, or no member any more, is not waited for. It may
// have got any job of this home that is in doubt.
func (c *recovery) notAwaited(who grid.Unheard) {
	if c.rolled == nil || !c.rolled.waiting[who.Peer] {
		return
	}
	c.notHeard(unheard{who, c.cfg.Journal.Sequence})
	c.saveState() // after a start too it is not asked, and may have a job
	c.settle()
}

func (c *recovery) notHeard(u unheard) {
	delete(c.rolled.waiting, u.Peer)
	c.rolled.unheard = append(c.rolled.unheard, u)
}

// awaitMembersOnly waits no longer for those that are no members any more.
func (c *recovery) awaitMembersOnly() {
	if c.rolled == nil {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(c.rolled.waiting)) {
		if c.members[p] == nil {
			c.notAwaited(grid.Unheard{Peer: p, Removed: true})
		}
	}
}

// joined asks those that were no members before, where this journal was rolled back: they may have been
// removed in the part that is lost, and know of it.
func (c *recovery) joined(before map[grid.PeerID]*member) {
	if c.rolled == nil {
		return
	}
	for p := range c.members {
		if before[p] == nil {
			c.rolled.waiting[p] = true
			c.rolled.unheard = slices.DeleteFunc(c.rolled.unheard, func(u unheard) bool { return u.Peer == p })
		}
	}
	c.saveState()
	c.recount()
}
